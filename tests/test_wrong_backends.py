"""A backend that is wrong gets the verdict that says how, and takes no other case with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from small_corpus import CASES, NAMES, VALID, assessed, written
from tconv.backends import BackendError, Produced, Refused, ShapeOnly, create
from tconv.errors import BackendMissing
from tconv.execution.call import checked
from tconv.verdict import kinds as ver
from wrong_backends import LOG

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from small_corpus import Command
    from tconv.gate.assessment import Assessment

VERDICTS = {
    "Right": {},
    "PadsSwapped": {"padded": "differed"},
    "BiasDoubled": dict.fromkeys(VALID, "differed"),
    "WrongDtype": dict.fromkeys(VALID, "wrong-dtype"),
    "WrongShape": dict.fromkeys(VALID, "wrong-shape"),
    "Scalar": dict.fromkeys(VALID, "wrong-shape"),
    "NanReplaced": {"not-a-number": "differed"},
    "AcceptsEverything": dict.fromkeys(VALID, "wrong-shape") | {"invalid": "accepted-invalid"},
    "RefusesEverything": dict.fromkeys(VALID, "refused-valid"),
    "UnsupportedEverywhere": dict.fromkeys(NAMES, "unsupported"),
    "Aborts": {"trouble": "crashed"},
    "Exits": {"trouble": "crashed"},
    "ExitsWell": {"trouble": "crashed"},
    "ExitsPolitely": {"trouble": "crashed"},
    "IsKilled": {"trouble": "crashed"},
    "LeavesChild": {"trouble": "crashed"},
    "Hangs": {"trouble": "timed-out"},
    "Prints": {},
    "Raises": dict.fromkeys(NAMES, "backend-error"),
    "NoOutcome": dict.fromkeys(VALID, "backend-error"),
    "UnreadableTexts": {},
    "RefusesUnreadably": dict.fromkeys(VALID, "refused-valid"),
    "NotesMuch": {},
    "ChangesItsCall": dict.fromkeys(VALID, "wrong-shape"),
    "WritesIntoOperands": {},
    "ChildReturns": {},
}
"""For each backend the verdicts other than agreed."""
DEATHS = {
    "Aborts": ("SIGABRT", "assertion failed: stride < 7"),
    "Exits": ("exit code 3", ""),
    "ExitsWell": ("exit code 0", ""),
    "ExitsPolitely": ("exit code 5", ""),
    "IsKilled": ("SIGKILL", ""),
    "LeavesChild": ("SIGABRT", ""),
}
"""What the verdict must say of a death: the signal or the exit code, and the end of what was printed."""


def verdicts(assessment: Assessment) -> dict[str, ver.Verdict]:
    return {judged.record.case.removeprefix("small/"): judged.record.verdict for judged in assessment.statuses}


@pytest.mark.parametrize("backend", VERDICTS)
def test_every_case_gets_one_record_with_the_verdict_that_says_what_is_wrong(backend: str, tmp_path: Path) -> None:
    assessment = assessed(backend, tmp_path)
    cases = [judged.record.case for judged in assessment.statuses]
    assert sorted(cases) == sorted(f"small/{name}" for name in NAMES)
    kinds = {name: verdict.kind for name, verdict in verdicts(assessment).items()}
    assert kinds == dict.fromkeys(NAMES, "agreed") | VERDICTS[backend]
    assert bool(assessment.red) == bool(VERDICTS[backend])
    if backend in DEATHS:
        died = verdicts(assessment)["trouble"]
        assert isinstance(died, ver.Crashed)
        assert (died.cause, died.stderr) == DEATHS[backend]


def test_texts_of_backends_are_plain_and_short(tmp_path: Path) -> None:
    """A text keeps its ends, whatever class it has; no line of a record is as long as a backend likes."""
    refused = verdicts(assessed("RefusesUnreadably", tmp_path))["plain"]
    assert isinstance(refused, ver.RefusedValid)
    assert len(refused.message) <= 4000
    assert refused.message.startswith("first ")
    assert refused.message.endswith(" last 3")
    agreed = verdicts(assessed("NotesMuch", tmp_path))["plain"]
    assert isinstance(agreed, ver.Agreed)
    assert any(note.startswith("first x") for note in agreed.notes)
    assert all(len(note) <= 200 for note in agreed.notes)
    unreadable = assessed("UnreadableTexts", tmp_path)
    assert any("computed" in getattr(verdict, "notes", ()) for verdict in verdicts(unreadable).values())


def test_a_call_that_a_backend_changes_is_recorded_as_it_was_asked(tmp_path: Path) -> None:
    """Each run of a call has one of its own: the record has what the case says, and what is judged is that."""
    asked = {judged.record.case: judged.record.call for judged in assessed("Scalar", tmp_path).statuses}
    changed = assessed("ChangesItsCall", tmp_path)
    compared = [judged.record for judged in changed.statuses if judged.record.verdict.kind == "wrong-shape"]
    assert compared
    for record in compared:
        assert record.call is not None
        assert record.call == asked[record.case]


def test_a_message_of_any_characters_is_kept(tmp_path: Path) -> None:
    verdict = verdicts(assessed("Raises", tmp_path))["plain"]
    assert isinstance(verdict, ver.BackendError)
    assert verdict.message.startswith("RuntimeError: no kernel \\udcff for onnx/ConvTranspose-22\n\\x1b[31m")


KINDS = "must return Produced(array), ShapeOnly, Refused, Unsupported or BackendError (got "
FIELDS = "must give the fields of an outcome values of their types (got "


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (None, KINDS),
        (np.ones(3), KINDS),
        ((1, 2), KINDS),
        (Refused(7), FIELDS),  # type: ignore[arg-type] # that is what is wrong, here and below
        (BackendError("no", kind="agreed"), FIELDS),  # type: ignore[arg-type]
        (ShapeOnly(("a", "b"), "f32"), FIELDS),  # type: ignore[arg-type]
        (Produced([1]), "must "),  # type: ignore[arg-type]
        (Produced(np.ones(1), (1,)), "must "),  # type: ignore[arg-type]
        (Produced(np.ma.masked_array([1, 2], mask=[True, False])), "must "),
    ],
    ids=repr,
)
def test_what_is_no_outcome_is_a_backend_error(outcome: object, message: str) -> None:
    found = checked(outcome)
    assert isinstance(found, BackendError)
    assert found.message.startswith(message)


def test_what_dies_of_a_type_is_asked_about_the_others(tmp_path: Path) -> None:
    text = CASES + "  - {name: half, with: {dtype: f16}}\n"
    assessment = assessed("DiesOnHalf", tmp_path, text)
    kinds = {name: verdict.kind for name, verdict in verdicts(assessment).items()}
    assert kinds == dict.fromkeys(NAMES, "agreed") | {"half": "crashed"}


def test_a_module_of_the_current_folder_has_backends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for the installed command, in whose place Python imports from the folder of the script."""
    (tmp_path / "of_this_folder.py").write_text("from wrong_backends import PadsSwapped\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    assert create("of_this_folder:PadsSwapped").info().name == "PadsSwapped"


@pytest.fixture
def everyone(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes some miniature backends those that are installed."""

    def installed(*names: str) -> None:
        monkeypatch.setattr("tconv.cli.run_command.names", lambda: [f"wrong_backends:{name}" for name in names])

    return installed


def test_all_are_those_that_are_there(everyone: Callable[..., None], command: Command, tmp_path: Path) -> None:
    everyone("FailsToStart", "Right", "SpeaksNothing")
    arguments = ("run", "--cases", str(written(tmp_path)), "--backend", "all")
    done = command(*arguments)
    assert done.returncode == 0
    assert done.stdout.count("green: every deviation is known") == 1
    assert "tconv: wrong_backends:FailsToStart is left out: " in done.stderr
    assert "tconv: wrong_backends:SpeaksNothing is left out: " in done.stderr
    done = command(*arguments, "--dialect", "onnx/ConvTranspose-1")
    assert done.returncode == BackendMissing.exit_code
    assert "wrong_backends:Right is left out: dialect must be one that Right speaks" in done.stderr


def test_none_that_is_there_is_exit_3(everyone: Callable[..., None], command: Command, tmp_path: Path) -> None:
    everyone("FailsToStart")
    done = command("run", "--cases", str(written(tmp_path)), "--backend", "all")
    assert done.returncode == 3
    assert "a backend must be there (got none)" in done.stderr


def test_one_that_is_lost_is_no_stranger(
    everyone: Callable[..., None], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backend that dies and does not start again ends the command: its run is not complete."""
    everyone("DiesForGood", "Right")
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    done = command("run", "--cases", str(written(tmp_path)), "--backend", "all", "-j", "1")
    assert done.returncode == 3
    assert "green" not in done.stdout
    assert "licence server is down" in done.stderr

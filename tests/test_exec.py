"""A child process behind `exec:` is judged like any other backend, and what it does wrong costs one case."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from small_corpus import NAMES, TIMEOUT, written
from tconv.backends import create
from tconv.corpus import Corpus
from tconv.errors import BackendMissing
from tconv.execution.run import Selection, Settings, run
from tconv.records.record_file import read
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.records.record_file import Run

RUNNER = Path(__file__).with_name("runner.py")

BROKEN = {
    "other-id": "must answer for",
    "no-file": "ok must come with an output file",
    "no-json": "a line must be a JSON object",
    "no-object": "a line must be a JSON object",
    "no-answer": "must answer ok, refused or unsupported",
    "floods": "a line must have at most",
    "half-a-line": "a line must end with a newline",
}
"""What is said of each answer that the protocol does not have."""


def command(how: str) -> str:
    """Return the backend's name for a runner that misbehaves so."""
    return f"exec:{shlex.join([sys.executable, str(RUNNER), how])}"


def judged(how: str, folder: Path) -> Run:
    """Run the small corpus on a runner and return its records."""
    selection = Selection(Corpus.load(written(folder)))
    return read(run(selection, Settings(command(how), None, 1, TIMEOUT, folder / "out"), lambda *_: None))


def verdicts(found: Run) -> dict[str, ver.Verdict]:
    """Return the verdicts by the case's name."""
    return {record.case.rpartition("/")[2]: record.verdict for record in found.records}


def test_a_runner_that_keeps_the_protocol_is_judged_by_its_answers(tmp_path: Path) -> None:
    """Values agree, an invalid model is refused, and the header says what the hello said."""
    found = judged("right", tmp_path)
    assert {name: one.kind for name, one in verdicts(found).items()} == dict.fromkeys(NAMES, "agreed")
    assert (found.header.backend.name, found.header.backend.version) == ("runner", "1")
    assert found.header.dialect == "onnx/ConvTranspose-22"


@pytest.mark.parametrize("how", BROKEN)
def test_an_answer_that_the_protocol_does_not_have_is_broke(how: str, tmp_path: Path) -> None:
    """The verdict says what was awaited; the runner is started anew and every other case is judged."""
    found = verdicts(judged(how, tmp_path))
    trouble = found.pop("trouble")
    assert isinstance(trouble, ver.Broke)
    assert BROKEN[how] in trouble.message
    assert {one.kind for one in found.values()} == {"agreed"}
    assert set(found) == set(NAMES) - {"trouble"}


def test_a_second_answer_is_not_taken_for_the_next_case(tmp_path: Path) -> None:
    """An answer too many breaks the case that would have read it, and is never its verdict."""
    found = {name: one.kind for name, one in verdicts(judged("twice", tmp_path)).items()}
    assert found.pop("trouble") == "refused-valid"
    assert sorted(found.values()) in (["agreed"] * 5, ["agreed"] * 4 + ["broke"])


def test_a_runner_that_ends_is_a_death_with_its_last_words(tmp_path: Path) -> None:
    """The exit code and the end of its standard error are told, and the next case has a new runner."""
    found = verdicts(judged("exits", tmp_path))
    assert found.pop("trouble") == ver.Died("exit code 3", "the runner gives up")
    assert {one.kind for one in found.values()} == {"agreed"}


def test_a_runner_that_aborts_is_a_death_by_its_signal(tmp_path: Path) -> None:
    """The signal is the cause."""
    trouble = verdicts(judged("aborts", tmp_path))["trouble"]
    assert isinstance(trouble, ver.Died)
    assert trouble.cause == "SIGABRT"


def test_a_runner_that_stalls_is_timed_out(tmp_path: Path) -> None:
    """The pool ends worker and runner, and the other cases run."""
    found = verdicts(judged("stalls", tmp_path))
    assert found.pop("trouble") == ver.TimedOut(TIMEOUT)
    assert {one.kind for one in found.values()} == {"agreed"}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("exec:", "must name a command"),
        ("exec:/nowhere/at/all", "must start"),
        ("exec:'half", "quotation"),
        (command("mute"), "must say hello"),
        (command("rude"), "a hello must have name, version and dialect"),
    ],
)
def test_a_runner_that_cannot_be_had_is_missing(spec: str, said: str) -> None:
    """A command that does not start, or that does not introduce itself, is a backend that could not be had."""
    with pytest.raises(BackendMissing, match=said):
        create(spec)

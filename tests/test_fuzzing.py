"""What drawn cases find is told once and small."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
import yaml

from made_records import waiver
from tconv.cli import fuzz_command
from tconv.corpus import Corpus
from tconv.corpus.lint import lint
from tconv.corpus.writing import settings
from tconv.dialects import find_dialect
from tconv.errors import BackendLost
from tconv.investigation import fuzzing

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command
    from tconv.cases.case import Case

ROW = find_dialect("onnx/ConvTranspose-22")


@pytest.fixture
def fuzz(command: Command) -> Command:
    return lambda backend, *arguments: command(
        "fuzz", "--backend", f"wrong_backends:{backend}", "--output", "out", *arguments
    )


def findings(folder: Path) -> list[Case]:
    return list(Corpus.load(folder / "out" / "findings.yaml").cases())


def test_what_is_wrong_is_found(fuzz: Command, command: Command, tmp_path: Path) -> None:
    """Within 200 cases, told once and small, in a file that says where it comes from and that fails again."""
    done = fuzz("PadsSwapped", "--examples", "200")
    assert done.returncode == 1
    assert done.stdout.count("differed as if pads-exchanged") == 1
    (found,) = findings(tmp_path)
    assert found.id == "findings/differed-1"
    assert settings(found) in (
        {"spatial": [1], "kernel": [2], "pads_end": 1},
        {"spatial": [2], "kernel": [1], "pads_end": 1},
        {"spatial": [1], "kernel": [2], "pads_begin": 1},
        {"spatial": [2], "kernel": [1], "pads_begin": 1},
    )
    assert list(lint(Corpus.load(tmp_path / "out" / "findings.yaml"))) == []
    again = done.stdout.splitlines()[-1].split()
    assert again[:4] == ["tconv", "run", "--cases", "out/findings.yaml"]
    assert command(*again[1:]).returncode == 1


def test_the_same_seed_finds_the_same(fuzz: Command, tmp_path: Path) -> None:
    """To the byte, however many workers there are."""
    texts, file = [], tmp_path / "out" / "findings.yaml"
    for jobs in ("1", "2"):
        assert fuzz("BiasDoubled", "--examples", "130", "--seed", "7", "--jobs", jobs).returncode == 1
        texts.append(file.read_text(encoding="utf-8"))
        file.unlink()
    assert texts[0] == texts[1]


def test_nothing_is_found_where_nothing_is_wrong(fuzz: Command, tmp_path: Path) -> None:
    """And no file is written; the folder was made before anything was run."""
    done = fuzz("Right", "--examples", "300")
    assert done.returncode == 0
    assert "300 cases\nnothing found" in done.stdout
    assert list((tmp_path / "out").iterdir()) == []


def test_time_ends_it(fuzz: Command) -> None:
    assert fuzz("Right", "--seconds", "0.5").returncode == 0


@pytest.mark.parametrize(("kind", "code"), [("differed", 0), ("crashed", 1)])
def test_what_is_waived_is_no_finding(kind: str, code: int, fuzz: Command, tmp_path: Path) -> None:
    """Where the waiver is of that deviation, and in force."""
    known = waiver(cases="**", where={"rank": [1, 2, 3, 4]}, verdict={"kind": kind})
    file = {"format": 1, "backend": "PadsSwapped", "waivers": [known]}
    (tmp_path / "waivers.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")
    assert fuzz("PadsSwapped", "--examples", "100", "--waivers", "waivers.yaml").returncode == code


def test_each_failure_is_told_once(fuzz: Command, tmp_path: Path) -> None:
    """A backend that has two faults has two findings, though its messages hold numbers."""
    assert fuzz("RefusesEverything", "--examples", "100").returncode == 1
    found = sorted(map(settings, findings(tmp_path)), key=len)
    assert found == [{"spatial": [1], "kernel": [1]}, {"spatial": [1], "kernel": [1], "bias": True}]


def test_of_many_findings_the_rest_is_told_as_it_was_drawn(
    fuzz: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fuzzing, "MOST_SHRUNK", 1)
    done = fuzz("RefusesEverything", "--examples", "100")
    assert done.returncode == 1
    assert done.stdout.count("not shrunk: ") == 1
    assert len(findings(tmp_path)) == 2


def test_what_was_found_until_an_interrupt_is_kept(
    fuzz: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While a second finding is shrunk: both are in the file, the second as it was drawn; the code is the signal's."""

    def shrinking(number: int, _count: int) -> None:
        if number == 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(fuzz_command, "_shrinking", shrinking)
    done = fuzz("RefusesEverything", "--examples", "100")
    assert (done.returncode, done.stdout) == (130, "")
    saved = "54 deviations found until then (2 findings, 1 of them shrunk) written to out/findings.yaml"
    assert done.stderr.splitlines()[-1] == f"tconv: interrupted; {saved}"
    sizes = [len(settings(case)) for case in findings(tmp_path)]
    assert min(sizes) <= 3 < max(sizes)
    assert ", interrupted" in (tmp_path / "out" / "findings.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("backend", "found"), [("RefusesEverything", "33 deviations"), ("Right", "nothing was")])
def test_what_was_drawn_until_an_interrupt_is_kept(
    backend: str, found: str, fuzz: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is shrunk; where nothing was found, no file is written."""

    def clock(_self: object, ran: int, _failed: int) -> bool:
        if ran:
            signal.raise_signal(signal.SIGINT)
        return True

    monkeypatch.setattr(fuzz_command._Clock, "__call__", clock)
    done = fuzz(backend, "--examples", "100")
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1].startswith(f"tconv: interrupted; {found} found until then")
    assert (tmp_path / "out" / "findings.yaml").exists() == (backend != "Right")


def test_what_was_found_until_a_backend_was_lost_is_kept(
    fuzz: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Hours of drawing may lie before it; the message has both why it ended and what there is."""

    def lost(*_: object) -> None:
        raise BackendLost("backend 'x' must start (got: gone)")

    monkeypatch.setattr(fuzz_command, "_shrinking", lost)
    done = fuzz("RefusesEverything", "--examples", "100")
    assert done.returncode == 3
    saved = "54 deviations found until then (2 findings, 0 of them shrunk) written to out/findings.yaml"
    assert done.stderr.splitlines()[-1] == f"tconv: backend 'x' must start (got: gone); {saved}"
    assert len(findings(tmp_path)) == 2


def test_findings_that_cannot_be_written_are_told_before_a_case_is_drawn(fuzz: Command, tmp_path: Path) -> None:
    """Else they would be lost after an hour; here a folder has the name of the file."""
    (tmp_path / "out" / "findings.yaml").mkdir(parents=True)
    done = fuzz("Right", "--examples", "10")
    assert (done.returncode, done.stdout) == (2, "")
    assert "findings.yaml: must be a file that can be written (got a folder)" in done.stderr

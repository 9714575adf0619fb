"""What drawn cases find is told once and small, on one backend or between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from small_corpus import told
from tconv.corpus import Corpus
from tconv.corpus.lint import lint
from tconv.corpus.writing import settings
from tconv.dialects import dialect_named
from tconv.investigation import fuzzing

if TYPE_CHECKING:
    from pathlib import Path


ROW = dialect_named("onnx/ConvTranspose-22")
WAIVED = """\
format: 1
backend: PadsSwapped
waivers:
  - name: pads-are-swapped
    dialects: [onnx/ConvTranspose-22]
    cases: '**'
    where: {{rank: [1, 2, 3, 4]}}
    verdict: {{kind: {kind}}}
    versions: ">=1"
    clause: attribute pads
    because: the padding of the end is at the beginning
    example: a/b/c
    date: "2026-11-21"
"""


def fuzz(monkeypatch: pytest.MonkeyPatch, folder: Path, backend: str, *arguments: str) -> int:
    """Fuzz one of `wrong_backends`, and return the exit code."""
    return told(monkeypatch, folder, "fuzz", "--backend", f"wrong_backends:{backend}", "--output", "out", *arguments)


def test_what_is_wrong_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Within 200 cases, told once and small, in a file that says where it comes from and that fails again."""
    assert fuzz(monkeypatch, tmp_path, "PadsSwapped", "--examples", "200") == 1
    printed = capfd.readouterr().out
    assert printed.count("differed as if pads-exchanged") == 1
    (found,) = (corpus := Corpus.load(tmp_path / "out" / "findings.yaml")).cases("full")
    assert found.id == "findings/differed-1"
    assert settings(found) in (
        {"spatial": [1], "kernel": [2], "pads_end": 1},
        {"spatial": [2], "kernel": [1], "pads_end": 1},
        {"spatial": [1], "kernel": [2], "pads_begin": 1},
        {"spatial": [2], "kernel": [1], "pads_begin": 1},
    )
    assert [finding.message for finding in lint(corpus)] == []
    command = printed.splitlines()[-1].split()
    assert command[:4] == ["tconv", "run", "--cases", "out/findings.yaml"]
    assert told(monkeypatch, tmp_path, *command[1:]) == 1


def test_the_same_seed_finds_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """To the byte, however many workers there are."""
    texts = set()
    for jobs in ("1", "2"):
        assert fuzz(monkeypatch, tmp_path, "BiasDoubled", "--examples", "130", "--seed", "7", "--jobs", jobs) == 1
        texts.add((tmp_path / "out" / "findings.yaml").read_text(encoding="utf-8"))
    assert len(texts) == 1


def test_nothing_is_found_where_nothing_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And no file is written; the folder was made before anything was run."""
    assert fuzz(monkeypatch, tmp_path, "Right", "--examples", "300") == 0
    assert "300 cases\nnothing found" in capfd.readouterr().out
    assert list((tmp_path / "out").iterdir()) == []


def test_time_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a number of cases."""
    assert fuzz(monkeypatch, tmp_path, "Right", "--seconds", "0.5") == 0


@pytest.mark.parametrize(("kind", "left"), [("differed", 0), ("died", 1)])
def test_what_is_waived_is_no_finding(kind: str, left: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the waiver is of that deviation, and in force."""
    (tmp_path / "waivers.yaml").write_text(WAIVED.format(kind=kind), encoding="utf-8")
    arguments = ("--examples", "100", "--waivers", "waivers.yaml")
    assert fuzz(monkeypatch, tmp_path, "PadsSwapped", *arguments) == left


def test_each_failure_is_told_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A backend that has two faults has two findings, though its messages hold numbers."""
    assert fuzz(monkeypatch, tmp_path, "RefusesEverything", "--examples", "100") == 1
    found = list(Corpus.load(tmp_path / "out" / "findings.yaml").cases("full"))
    assert [settings(one) for one in found] == [
        {"spatial": [1], "kernel": [1], "bias": bias} if bias else {"spatial": [1], "kernel": [1]}
        for bias in (one.b is not None for one in found)
    ]
    assert len(found) == 2


def test_of_many_findings_the_rest_is_told_as_it_was_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its case is in the file all the same."""
    monkeypatch.setattr(fuzzing, "MOST_SHRUNK", 1)
    assert fuzz(monkeypatch, tmp_path, "RefusesEverything", "--examples", "100") == 1
    assert capfd.readouterr().out.count("not shrunk: ") == 1
    assert len(list(Corpus.load(tmp_path / "out" / "findings.yaml").cases("full"))) == 2


def test_a_dialect_that_is_none_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before a worker is started."""
    assert fuzz(monkeypatch, tmp_path, "Right", "--dialect", "onnx/ConvTranspose-2") == 2
    assert "did you mean" in capfd.readouterr().err


def test_a_failure_that_is_like_a_known_one_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A waiver that covers too little is named; what it does not cover is red all the same."""
    padded = Corpus.load().cases("smoke", ["padding/combinations/**[auto_pad=explicit,output_shape=none,pads=begin]"])
    waived = WAIVED.format(kind="differed").replace("a/b/c", f"'{next(iter(padded)).id}'").replace("'**'", "padding/**")
    (tmp_path / "waivers.yaml").write_text(waived, encoding="utf-8")
    assert fuzz(monkeypatch, tmp_path, "PadsSwapped", "--examples", "100", "--waivers", "waivers.yaml") == 1
    assert "as pads-are-swapped" in " ".join(capfd.readouterr().out.split())


def test_two_backends_that_answer_alike(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is found, though both are asked."""
    assert fuzz(monkeypatch, tmp_path, "Right", "--against", "wrong_backends:Right", "--examples", "100") == 0
    assert "the two answered every case alike" in capfd.readouterr().out


def test_where_two_backends_differ_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What each of them does is told, small, and the file is run on both."""
    assert fuzz(monkeypatch, tmp_path, "Right", "--against", "wrong_backends:PadsSwapped", "--examples", "150") == 1
    printed = capfd.readouterr().out
    assert "differ: Right as the text says; PadsSwapped differed as if pads-exchanged" in " ".join(printed.split())
    (found,) = Corpus.load(tmp_path / "out" / "findings.yaml").cases("full")
    assert sum(settings(found).get(name, 0) for name in ("pads_begin", "pads_end")) == 1
    backends = [line.split()[5] for line in printed.splitlines() if line.startswith("tconv run")]
    assert backends == ["wrong_backends:Right", "wrong_backends:PadsSwapped"]


@pytest.mark.parametrize(
    "arguments",
    [("--against-dialect", "geometry/1"), ("--against", "wrong_backends:Right", "--waivers", "waivers.yaml")],
)
def test_options_that_do_not_go_together_are_told(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before a worker is started."""
    assert fuzz(monkeypatch, tmp_path, "Right", *arguments) == 2
    assert "beside --against" in capfd.readouterr().err

"""Drawn cases: the same for the same seed, over the whole space, and what they find is told once and small."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from small_corpus import told
from tconv.corpus import Corpus
from tconv.corpus.lint import lint
from tconv.corpus.writing import settings
from tconv.dialects import DIALECTS, dialect
from tconv.expectation import Inexpressible, expectation
from tconv.investigation import fuzzing
from tconv.investigation.fuzzing import Draws, drawn
from tconv.vocabulary import ATTRIBUTES, AutoPad, DType

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.case import Case

ROW = dialect("onnx/ConvTranspose-22")
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


def cases(count: int, seed: int = 0, row: str = ROW.name) -> list[Case]:
    """Return the first cases that are drawn."""
    return list(islice(drawn(seed, dialect(row)), count))


def fuzz(monkeypatch: pytest.MonkeyPatch, folder: Path, backend: str, *arguments: str) -> int:
    """Fuzz one of `wrong_backends`, and return the exit code."""
    return told(monkeypatch, folder, "fuzz", "--backend", f"wrong_backends:{backend}", "--output", "out", *arguments)


def test_the_same_seed_draws_the_same_cases() -> None:
    """In the same order, however many are drawn; another seed draws others."""
    assert cases(50) == cases(60)[:50]
    assert {repr(settings(one)) for one in cases(50)}.isdisjoint(repr(settings(one)) for one in cases(50, 1))


def test_a_case_is_the_same_on_every_machine() -> None:
    """Its choices come from raw bits, which no numpy draws otherwise."""
    draws = Draws(3, 5)
    assert [draws.within(0, 99) for _ in range(6)] == FIXED


FIXED = [86, 63, 82, 58, 7, 10]


@pytest.mark.parametrize("name", DIALECTS)
def test_each_dialect_can_say_what_is_drawn_for_it(name: str) -> None:
    """No case is wasted, and none breaks anything on purpose."""
    for one in cases(30, row=name):
        assert not isinstance(expectation(one, dialect(name)), Inexpressible)
        assert one.breaks is None


def test_the_whole_space_is_drawn_from() -> None:
    """Every attribute is there and is not, every mode, type, rank; sizes of 0 and an output_shape beyond the full."""
    some = cases(1500)
    for name in ATTRIBUTES:
        assert {getattr(one.attributes, name) is None for one in some} == {True, False}, name
    assert {one.attributes.auto_pad for one in some} == {None, *AutoPad}
    assert {one.x.dtype for one in some} == set(DType)
    assert {len(one.x.shape) - 2 for one in some} == {1, 2, 3, 4}
    assert {one.attributes.groups for one in some} == {None, 1, 2, 3, 4}
    assert {one.b is None for one in some} == {True, False}
    assert {one.shapes for one in some} == {"static", "symbolic"}
    assert {one.filter_source for one in some} == {"initializer", "input"}
    zeros = Counter(0 in one.x.shape for one in some)
    assert 0 < zeros[True] < zeros[False] / 10


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
    command = printed.splitlines()[-1].split(": ")[1].split()
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
    """And no file is written."""
    assert fuzz(monkeypatch, tmp_path, "Right", "--examples", "300") == 0
    assert "300 cases\nnothing found" in capfd.readouterr().out
    assert not (tmp_path / "out").exists()


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

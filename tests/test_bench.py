"""What the benches have in common: bands of ratios, and runs set beside each other."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tconv.dialects.readings import Combination
from tconv.evidence import Errs, Explanation, Hypothesis, Misreads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture(autouse=True)
def bench_is_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benches are scripts beside each other, and no package."""
    monkeypatch.syspath_prepend(BENCH)


def code(monkeypatch: pytest.MonkeyPatch, ratios: Sequence[float], *arguments: str) -> tuple[int, int]:
    """Return the exit code of a bench whose ratio has a band of 1 to 2, and how often it measured.

    Args:
        monkeypatch: pytest's.
        ratios: what it measures, one time after the other; the last again and again.
        arguments: of the command line.
    """
    command: Any = __import__("command")
    figures: Any = __import__("figures")
    measured = []

    def measure(_: argparse.Namespace) -> object:
        ratio = ratios[min(len(measured), len(ratios) - 1)]
        measured.append(ratio)
        return figures.Findings({"cost": figures.Figure.of([ratio], band=(1.0, 2.0))})

    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    return command.run("made", measure, argparse.ArgumentParser()), len(measured)


@pytest.mark.parametrize(
    ("ratios", "expected"), [([1.5], (0, 1)), ([3, 1.5], (0, 2)), ([3, 0.5, 1], (0, 3)), ([3], (1, 3))]
)
def test_a_ratio_fails_when_it_leaves_its_band_three_times_in_a_row(
    monkeypatch: pytest.MonkeyPatch, ratios: list[float], expected: tuple[int, int]
) -> None:
    """Once within the band is enough, and only what is outside is measured again."""
    assert code(monkeypatch, ratios, "--small") == expected


def test_a_band_holds_at_the_small_size_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run is for reading, and is not repeated."""
    assert code(monkeypatch, [3]) == (0, 1)


def test_two_runs_are_set_beside_each_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ratio of both medians for each figure, and the name of what moved by more than its spread."""
    file = tmp_path / "old.json"
    assert code(monkeypatch, [1.0], "--json", str(file))[0] == 0
    assert json.loads(file.read_text())["made"]["figures"]["cost"]["median"] == 1.0
    capsys.readouterr()
    code(monkeypatch, [1.5], "--against", str(file))
    printed = capsys.readouterr().out
    assert "1.500   moved" in printed
    assert printed.endswith("moved beyond its spread: made: cost\n")
    code(monkeypatch, [1.0], "--against", str(file))
    assert capsys.readouterr().out.endswith("moved beyond its spread: nothing\n")


def test_a_file_that_holds_no_figures_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the file's name, and exit code 2."""
    file = tmp_path / "old.json"
    file.write_text('{"made": 3}', encoding="utf-8")
    with pytest.raises(SystemExit) as ending:
        code(monkeypatch, [1.0], "--against", str(file))
    assert ending.value.code == 2


ITEM = Misreads(Combination(("batch-repeats-the-first",)))
FLIPPED = Misreads(Combination(("filter-flipped",)))


@pytest.mark.parametrize(
    ("what", "condition", "grade"),
    [
        (Errs(), ("batch = 2",), "exact"),
        (ITEM, ("batch = 2",), "exact"),
        (Errs(), ("batch = 2", "dtype=f32"), "vague"),
        (Errs(), None, "vague"),
        (Errs(), (), "misleading"),
        (Errs(), ("group=dense",), "misleading"),
        (FLIPPED, ("batch = 2",), "misleading"),
        (None, None, "silent"),
    ],
)
def test_an_explanation_is_judged_by_the_true_condition(
    monkeypatch: pytest.MonkeyPatch,
    smoke_cases: tuple[Case, ...],
    corpus: Corpus,
    what: Hypothesis | None,
    condition: tuple[str, ...] | None,
    grade: str,
) -> None:
    """Of a kernel that writes the first item in the place of the second, if there are two."""
    explaining: Any = __import__("explaining")
    kernels: Any = __import__("wrong_kernels")
    kernel = kernels.Kernel("batch", "== 2", lambda size: size == 2, None, None, "first item for the last")
    facts = {of.case.id: of for of in kernels.ordered(smoke_cases[::16])}
    base = explaining.Base(corpus, facts)
    printed = () if what is None else (Explanation(what, condition, (), 0, frozenset(), 0),)
    monkeypatch.setattr(explaining, "explain", lambda _: printed)
    judgement = explaining.judged(kernel, base, Random(0))  # noqa: S311 - chance that can be repeated
    assert judgement.grade == grade, str(judgement)

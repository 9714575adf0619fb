"""What the benches have in common: bands of ratios, and the judge of explanations."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tconv.dialects.readings import Combination
from tconv.evidence.hypotheses import Errs, Explanation, Hypothesis, Misreads

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Corpus

BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture(autouse=True)
def bench_is_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benches are scripts beside each other, and no package."""
    monkeypatch.syspath_prepend(BENCH)


@pytest.mark.parametrize(
    ("ratios", "small", "expected"),
    [
        ([1.5], True, (0, 1)),
        ([3, 1.5], True, (0, 2)),
        ([3, 0.5, 1], True, (0, 3)),
        ([3], True, (1, 3)),
        # A long run is for reading, and is not repeated.
        ([3], False, (0, 1)),
    ],
)
def test_a_ratio_fails_when_it_leaves_its_band_three_times_in_a_row(
    monkeypatch: pytest.MonkeyPatch, ratios: list[float], expected: tuple[int, int], *, small: bool
) -> None:
    """Once within the band is enough, and only what is outside is measured again."""
    figures: Any = __import__("figures")
    measured: list[float] = []

    def measure(_: argparse.Namespace) -> object:
        measured.append(ratios[min(len(measured), len(ratios) - 1)])
        return {"cost": figures.Figure(measured[-1:], band=(1.0, 2.0))}

    monkeypatch.setattr(sys, "argv", ["bench", *["--small"] * small])
    assert (figures.run("made", measure, argparse.ArgumentParser()), len(measured)) == expected


ITEM = Misreads(Combination(("batch-repeats-the-first",)))
FLIPPED = Misreads(Combination(("filter-flipped",)))


@pytest.mark.parametrize(
    ("what", "condition", "grade"),
    [
        (Errs(), ("batch = 2",), "exact"),
        pytest.param(ITEM, ("batch = 2",), "exact", marks=pytest.mark.thorough),
        (Errs(), ("batch = 2", "dtype=f32"), "vague"),
        pytest.param(Errs(), None, "vague", marks=pytest.mark.thorough),
        pytest.param(Errs(), (), "misleading", marks=pytest.mark.thorough),
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

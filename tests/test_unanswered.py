"""Where calls have no answer: words that a runtime says for several reasons are told with the calls of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from played_backends import assessment_of, presented, records_of
from reporting import run_report
from tconv.gate.status import Status
from tconv.reports.causes import find_causes
from tconv.reports.page.cause_lines import cause_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.expectation.problem import Problem
    from tconv.gate.assessment import Assessment
    from tconv.vocabulary import Array


@pytest.fixture(scope="module")
def small(gate_cases: tuple[Case, ...]) -> list[Case]:
    """Return small valid cases of attributes, groups and types."""
    valid = [case for case in gate_cases if case.breaks is None and case.simplicity[1] <= 512]
    topics = ("strides-dilations/", "padding/", "groups/", "channels/", "dtypes/", "empty/")
    return [case for case in valid if case.id.startswith(topics)][::2]


def assessed(reason: Callable[[Problem], str], cases: Sequence[Case], corpus: Corpus) -> Assessment:
    """Return what the gate says of a runtime that is right where there is no reason to break off."""

    def answer(problem: Problem) -> Array:
        if words := reason(problem):
            raise RuntimeError(words)
        assert problem.values is not None
        y = problem.truth.compute_values(problem.values.primary.geometry)
        return presented(problem, y)

    return assessment_of(records_of(answer, cases), corpus)


def lines_of(reason: Callable[[Problem], str], cases: Sequence[Case], corpus: Corpus) -> list[str]:
    """Return the lines of such a runtime, the largest cause first."""
    return [cause.what for cause in find_causes(assessed(reason, cases, corpus), Status.FAILED)]


def is_short(problem: Problem) -> bool:
    """Return whether the kernel ends within a stride on some axis, of more than one group."""
    assert problem.values is not None
    geometry = problem.values.primary.geometry
    axes = zip(geometry.kernel, geometry.dilations, geometry.strides, strict=True)
    return geometry.groups > 1 and any((k - 1) * d < s for k, d, s in axes)


def no_kernel(problem: Problem) -> str:
    """Return the same words for a type and for a short kernel."""
    return "no kernel" if problem.call.dtype == "f16" or is_short(problem) else ""


def test_words_of_two_reasons_are_two_causes(small: list[Case], corpus: Corpus) -> None:
    """Each has its own: a fact that all of its cases have, or a condition on their calls."""
    assessment = assessed(no_kernel, small, corpus)
    found = find_causes(assessment, Status.FAILED)
    assert len(found) == 2
    by_type, short = sorted(found, key=lambda cause: "dtype=f16" not in cause.what)
    assert "are dtype=f16, and none that agrees" in by_type.what
    condition = "groups >= 2 and (kernel - 1) * dilations < strides on an axis"
    assert f"where {condition}: " in short.what
    assert short.what.endswith("such calls fail so")
    # The page has the same.
    on_page = {line.shares: line for line in cause_lines([run_report(assessment)])}
    assert not on_page["dtype=f16"].conditional
    assert on_page[condition].conditional
    assert on_page[condition].evidence.endswith("such calls fail so")


def test_a_condition_tells_one_reason_from_another(small: list[Case], corpus: Corpus) -> None:
    """What holds for cases that fail with other words is not the reason of these words."""

    def words(problem: Problem) -> str:
        assert problem.values is not None
        geometry = problem.values.primary.geometry
        if geometry.groups == 1:
            return ""
        if problem.case.x.shape[1] // geometry.groups != problem.case.w.shape[1]:
            return "cannot reshape"
        return "cannot broadcast" if max(geometry.strides) > 1 else ""

    lines = lines_of(words, small, corpus)
    reshape, broadcast = (next(line for line in lines if text in line) for text in ("reshape", "broadcast"))
    assert "channels / groups != out_channels / groups" in reshape
    assert "channels / groups = out_channels / groups" in broadcast


def test_a_few_calls_without_a_reason_have_no_condition(small: list[Case], corpus: Corpus) -> None:
    """Chance has none: the words are all that is told."""
    chosen = {case.id for case in small[::97]}
    lines = lines_of(lambda problem: "now and then" if problem.case.id in chosen else "", small, corpus)
    assert len(lines) == 1
    assert "fail so" not in lines[0]

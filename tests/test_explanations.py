"""What explains the failures of a run together: a rule that fits a part of one bug is none, and where answers vary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from played_backends import assessment_of, presented, records_of
from reporting import run_report
from tconv.expectation.truth import Truth
from tconv.gate.status import Status
from tconv.records.record import FreshAnswer
from tconv.reports.causes import find_causes
from tconv.reports.page.cause_lines import cause_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array


@pytest.fixture(scope="module")
def small(gate_cases: tuple[Case, ...]) -> list[Case]:
    """Return small valid cases of explicit pads."""
    valid = [case for case in gate_cases if case.breaks is None and case.simplicity[1] <= 512]
    topics = ("strides-dilations/", "padding/", "porting/", "groups/", "bias/", "channels/")
    return [case for case in valid if case.id.startswith(topics)][::3]


def played(change: Callable[[Problem, Geometry], tuple[Geometry, Array]]) -> Callable[[Problem], Array]:
    """Return a runtime that computes another geometry, with another filter."""

    def answer(problem: Problem) -> Array:
        assert problem.values is not None
        geometry, w = change(problem, problem.values.primary.geometry)
        y = Truth(dict(problem.truth.operands) | {"w": w}, problem.case.x.dtype).compute_values(geometry)
        return presented(problem, y)

    return answer


def correlates_at_stride_1(problem: Problem, geometry: Geometry) -> tuple[Geometry, Array]:
    """Return a correlation where every stride is 1, as a kernel for convolutions computes it (alibaba/MNN#933)."""
    w = problem.truth.operands["w"]
    if set(geometry.strides) != {1}:
        return geometry, w
    axes = zip(geometry.kernel, geometry.dilations, geometry.pads_begin, strict=True)
    begin = tuple((k - 1) * d - 2 * p for k, d, p in axes)
    return replace(geometry, pads_begin=begin), np.flip(w, axis=tuple(range(2, w.ndim)))


@pytest.mark.thorough
def test_a_rule_that_fits_a_part_of_one_bug_is_no_cause(small: list[Case], corpus: Corpus) -> None:
    """A flipped filter of one tap, or of equal ones, is as it was: there other pads alone would give the output."""
    records = records_of(played(correlates_at_stride_1), small)
    (cause,) = find_causes(assessment_of(records, corpus), Status.FAILED)
    assert cause.what.startswith("differed where strides of every axis < 2: ")
    assert cause.count > 50


def pads_exchanged_on_lines(problem: Problem, geometry: Geometry) -> tuple[Geometry, Array]:
    """Return what a runtime computes of a line that crops 3 points more at its beginning."""
    begin = tuple(p + 3 for p in geometry.pads_begin) if len(geometry.output) == 1 else geometry.pads_begin
    return replace(geometry, pads_begin=begin), problem.truth.operands["w"]


@pytest.mark.thorough
def test_a_rule_under_facts_that_explains_most_stays(small: list[Case], corpus: Corpus) -> None:
    """The condition alone would say less than what is computed there."""
    records = records_of(played(pads_exchanged_on_lines), small)
    largest = find_causes(assessment_of(records, corpus), Status.FAILED)[0]
    assert "where rank=1: pads_begin is " in largest.what


@pytest.mark.parametrize("asked_again", [True, False])
def test_where_answers_vary_is_said(small: list[Case], corpus: Corpus, *, asked_again: bool) -> None:
    """Values that vary explain nothing, but the calls on which they do have something in common."""
    random = np.random.default_rng(1)

    def answer(problem: Problem) -> Array:
        y = problem.output
        garbage = (problem.case.attributes.groups or 1) > 1 and y.size
        return np.asarray(random.standard_normal(y.shape) * 1e4).astype(y.dtype) if garbage else y  # type: ignore[return-value]

    unstable = FreshAnswer("unstable", same=False)
    records = records_of(answer, small)
    first = next(record for record in records if record.verdict.kind == "differed")
    varying = [
        replace(record, alone=unstable)
        if record.verdict.kind == "differed" and (asked_again or record is first)
        else record
        for record in records
    ]
    assessment = assessment_of(varying, corpus)
    found = find_causes(assessment, Status.FAILED)
    count = sum(record.verdict.kind == "differed" for record in records)
    assert sum(cause.count for cause in found) == count
    assert all(f" where groups >= 2: {count} of {count} such answers are wrong; " in cause.what for cause in found)
    assert [line.words for line in cause_lines([run_report(assessment)])] == [cause.what for cause in found]

"""Played runtimes with two bugs at once: a line for each, and what hides one of them behind the other is not lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from played_backends import ONNX, calls_of, computed, geometry_of, reports_of
from tconv.backends import Crashed, Refused
from tconv.cases.patterns import topic_of
from tconv.evidence.explanation import explain
from tconv.evidence.hypotheses import Errs, Follows, Misreads, Says
from tconv.expectation.problem import Problem
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.backends import Outcome
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array

    Line = tuple[type, str, str]
    """A hypothesis, how it begins, and how its condition begins."""


def bias(problem: Problem, times: float) -> dict[str, Array]:
    b = problem.truth.operands.get("b")
    return {} if b is None else {"b": b * times if times else np.zeros_like(b)}


def longer_under_same(problem: Problem) -> Geometry:
    """Return the geometry with one element more at the end of each axis under SAME_*."""
    geometry = geometry_of(problem)
    same = str(problem.signature.auto_pad).startswith("same")
    return replace(geometry, output=tuple(size + same for size in geometry.output))


def around_the_data(problem: Problem) -> Geometry:
    """Return the geometry of explicit pads that are put around the data."""
    geometry = geometry_of(problem)
    if problem.signature.auto_pad != "explicit" or problem.case.attributes.output_shape is not None:
        return geometry
    return replace(
        geometry, pads_begin=tuple(-p * s for p, s in zip(geometry.pads_begin, geometry.strides, strict=True))
    )


def flipped(problem: Problem) -> Array:
    w = problem.truth.operands["w"]
    return np.flip(w, tuple(range(2, w.ndim)))


def rule_and_misreading(problem: Problem) -> Array:
    """Explicit pads are put around the data; the bias is added twice."""
    return computed(problem, around_the_data(problem), **bias(problem, 2))


def refusal_and_rule(problem: Problem) -> Array | Outcome:
    """Depthwise calls are refused; under SAME_* each axis has an element too many."""
    if problem.case.kind_of_group == "depthwise":
        return Refused(f"no kernel for {geometry_of(problem).groups} groups of 1 channel")
    return computed(problem, longer_under_same(problem))


def crash_and_wrong_size(problem: Problem) -> Array | Outcome:
    """It dies of grouped calls; output_padding is ignored if there are several axes."""
    if problem.case.kind_of_group == "grouped":
        return Crashed("SIGSEGV", "")
    geometry = geometry_of(problem)
    added = problem.case.attributes.output_padding
    if added is None or len(added) == 1 or str(problem.signature.auto_pad) not in {"explicit", "valid"}:
        return computed(problem)
    if problem.case.attributes.output_shape is not None:
        return computed(problem)
    return computed(
        problem, replace(geometry, output=tuple(a - b for a, b in zip(geometry.output, added, strict=True)))
    )


def two_misreadings_that_meet(problem: Problem) -> Array:
    """The filter of grouped calls is flipped; the bias is ignored if the strides are 1."""
    b = bias(problem, 0) if set(geometry_of(problem).strides) == {1} else {}
    w = {"w": flipped(problem)} if geometry_of(problem).groups > 1 else {}
    return computed(problem, **b, **w)


def lost_bits_and_rule(problem: Problem) -> Array:
    """Data and filter in f32 are rounded to 8 bits; SAME_LOWER is computed as SAME_UPPER."""
    operands = {}
    if str(problem.case.x.dtype) == "f32":
        for role in "xw":
            mantissa, exponent = np.frexp(problem.truth.operands[role])
            operands[role] = np.ldexp(np.rint(np.ldexp(mantissa, 8)), exponent - 8)
    lower = str(problem.signature.auto_pad) == "same_lower" and problem.case.attributes.output_shape is None
    return computed(problem, upper_for_lower(problem) if lower else None, **operands)


def upper_for_lower(problem: Problem) -> Geometry:
    attributes = replace(problem.case.attributes, auto_pad=AutoPad.SAME_UPPER)
    return geometry_of(Problem(replace(problem.case, attributes=attributes), ONNX))


def zeros_and_rule(problem: Problem) -> Array:
    """All items of the batch but the first stay 0; dilated calls begin one point too early."""
    geometry = geometry_of(problem)
    early = any(dilation > 1 for dilation in geometry.dilations)
    y = computed(problem, replace(geometry, pads_begin=tuple(begin - early for begin in geometry.pads_begin)))
    return np.concatenate([y[:1], np.zeros_like(y[1:])])


@pytest.mark.parametrize(
    ("answer", "first", "second"),
    [
        pytest.param(
            rule_and_misreading,
            (Follows, "pads_begin is -pads_begin*s", ""),
            (Misreads, "as if bias-doubled", ""),
            marks=pytest.mark.thorough,
        ),
        (
            refusal_and_rule,
            (Says, "no kernel for", "group=depthwise"),
            (Follows, "size is the text's size + 1", "auto_pad=same_*"),
        ),
        (
            crash_and_wrong_size,
            (Says, "SIGSEGV", "group=grouped"),
            (Follows, "size is (X-1)*s + (K-1)*d + 1 - pads_begin - pads_end", ""),
        ),
        (
            two_misreadings_that_meet,
            (Misreads, "as if filter-flipped", "group!=dense"),
            (Misreads, "as if bias-ignored", "strides of every axis < 2"),
        ),
        (
            lost_bits_and_rule,
            (Misreads, "as if operands-rounded-to-bf16", "dtype=f32"),
            (Follows, "pads_begin is floor(", "auto_pad=same_lower"),
        ),
        (
            zeros_and_rule,
            (Errs, "", "batch >= 2"),
            (Follows, "pads_begin is the text's pads_begin - 1", "dilations of an axis >= 2"),
        ),
    ],
)
def test_two_bugs_are_two_lines(
    answer: Callable[[Problem], Array | Outcome],
    first: Line,
    second: Line,
    smoke_cases: tuple[Case, ...],
    corpus: Corpus,
) -> None:
    """Each has a line with its condition, and both together explain nearly all failures; some calls have both bugs."""
    alone = [case for case in smoke_cases if topic_of(case.id) != "contexts" and case.breaks is None]
    small = [case for case in alone if case.simplicity[1] <= 4096]
    integers = [case for case in small if case.x.data == "integers"]
    asked = [*integers[::3], *(case for case in small if case.x.data != "integers")]

    calls = calls_of(reports_of(answer, asked), corpus)
    found = explain(calls)
    explained = 0
    for kind, what, where in (first, second):
        alike = [each for each in found if isinstance(each.what, kind) and str(each.what).startswith(what)]
        assert [each for each in alike if each.where.startswith(where)], found
        explained += len(alike[0].cases)
    assert explained >= 0.9 * calls.failed.sum()

"""The judge: an outcome against what the dialect owes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import data_shape, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.bound import bound, is_subnormal
from tconv.expectation.owed import Candidate, Inexpressible, OpenConstraint, Refuse, Values
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound
    from tconv.expectation.owed import Expectation
    from tconv.expectation.problem import Problem
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, DataFormat, Mask


@dataclass(frozen=True, slots=True)
class Comparison:
    """An output held against one geometry's values, in NCX: where it is wrong, and what is told."""

    rule: ver.Rule
    wrong: Mask
    expected: Array
    allowed: Array | None
    notes: tuple[str, ...]


def judge(problem: Problem, outcome: out.Outcome, accumulates: Mapping[str, str]) -> ver.Verdict:
    """Return the verdict.

    Args:
        problem: what was asked.
        outcome: what the backend did; an array in the call's data layout.
        accumulates: what the backend accumulates f16 and bf16 in.
    """
    match outcome:
        case out.Unsupported() | out.Died() | out.TimedOut() | out.Broke():
            return outcome
        case out.Refused() | out.Produced() | out.ShapeOnly():
            return _answered(problem, outcome, accumulates)
        case _:
            assert_never(outcome)


def followed(verdict: ver.Verdict, expected: Expectation) -> Geometry | None:
    """Return the geometry that a verdict says was followed; None where it says that none was."""
    if not isinstance(verdict, ver.Agreed | ver.Disputed) or not isinstance(expected, Values):
        return None
    return expected.geometry(verdict.readings if isinstance(verdict, ver.Disputed) else ())


def _answered(
    problem: Problem, outcome: out.Refused | out.Produced | out.ShapeOnly, accumulates: Mapping[str, str]
) -> ver.Verdict:
    match problem.expectation:
        case Inexpressible() as expected:
            return ver.Inexpressible(expected.reason)
        case Refuse() as expected:
            return _refusal_owed(expected, outcome)
        case Values() as expected:
            if not isinstance(outcome, out.Refused):
                return _value_owed(expected, outcome, problem.truth, problem.call.data_format, accumulates)
            if expected.refusals:
                return ver.Disputed((str(expected.refusals[0]),), "refusal", message=outcome.message)
            return ver.RefusedValid(outcome.message)
        case _:
            assert_never(problem.expectation)


def _refusal_owed(expected: Refuse, outcome: out.Refused | out.Produced | out.ShapeOnly) -> ver.Verdict:
    constraint = expected.violation.constraint
    if not isinstance(outcome, out.Refused):
        return ver.AcceptedInvalid(constraint, expected.stated)
    if expected.stated:
        return ver.Agreed("refusal")
    return ver.Disputed((str(OpenConstraint(constraint)),), "refusal", message=outcome.message)


def _value_owed(
    expected: Values,
    outcome: out.Produced | out.ShapeOnly,
    truth: Truth,
    data_format: DataFormat,
    accumulates: Mapping[str, str],
) -> ver.Verdict:
    shape = outcome.shape if isinstance(outcome, out.ShapeOnly) else outcome.array.shape
    fitting = [c for c in expected.candidates if data_shape(truth.shape(c.geometry), data_format) == tuple(shape)]
    if not fitting:
        return ver.WrongShape(data_shape(truth.shape(expected.primary.geometry), data_format), tuple(shape))
    dtype = outcome.dtype if isinstance(outcome, out.ShapeOnly) else _dtype_word(outcome.array)
    if dtype != truth.dtype:
        return ver.WrongDtype(truth.dtype, dtype)
    if isinstance(outcome, out.ShapeOnly):
        return _allowed(fitting[0], "shape", ())
    actual = to_ncx(outcome.array, data_format)
    comparisons = []
    for candidate in fitting:
        comparison = compare(actual, truth, candidate.geometry, accumulates)
        if not comparison.wrong.any():
            return _allowed(candidate, comparison.rule, comparison.notes)
        comparisons.append(comparison)
    return _differed(comparisons[0], actual)


def _allowed(candidate: Candidate, rule: ver.Rule, notes: tuple[str, ...]) -> ver.Verdict:
    return ver.Disputed(candidate.readings, rule, notes) if candidate.readings else ver.Agreed(rule, notes)


_WORDS = {dtype: word for word, dtype in NUMPY_TYPES.items()}


def _dtype_word(array: Array) -> str:
    return str(_WORDS.get(array.dtype, array.dtype))


def compare(actual: Array, truth: Truth, geometry: Geometry, accumulates: Mapping[str, str]) -> Comparison:
    """Hold an NCX output against the reference under one geometry."""
    expected = truth.values(geometry)
    with np.errstate(invalid="ignore"):
        got = actual.astype(np.float64)
        wrong: Mask = (got != expected) & ~(np.isnan(got) & np.isnan(expected))
    if truth.exact(geometry):
        return Comparison("exact", wrong, expected, None, ())
    limits = bound(truth.terms(geometry), truth.dtype, accumulates)
    with np.errstate(invalid="ignore"):
        distance = np.abs(got - expected)
    return _within(got, expected, distance, wrong, limits, truth, geometry)


def _within(
    got: Array, expected: Array, distance: Array, unequal: Mask, limits: Bound, truth: Truth, geometry: Geometry
) -> Comparison:
    """Take from the unequal elements those that the bound, overflow, inserted zeros or flushing account for."""
    notes = []
    infinite = np.isinf(got) & limits.may_overflow & (np.sign(got) == np.sign(expected))
    wrong = unequal & ~near(got, expected, limits.allowed) & ~infinite
    inserted = wrong & np.isnan(got)
    if inserted.any():
        inserted &= truth.poisoned(geometry)
    if inserted.any():
        notes.append("nan-from-inserted-zeros")
        wrong &= ~inserted
    flushed = _flushed(got, expected, truth)
    if flushed.any():
        notes.append("flushed-subnormals")
        wrong &= ~flushed
    if (unequal & ~wrong & ~infinite & ~inserted & ~flushed & (distance > limits.warning)).any():
        notes.append("reduced-precision")
    return Comparison("bound", wrong, expected, limits.allowed, tuple(notes))


def near(got: Array, expected: Array, allowed: Array) -> Mask:
    """Return where numbers are as near as is allowed.

    Where infinity is owed everything finite is infinitely far, and the bound is infinite too: nothing is near there.
    """
    with np.errstate(invalid="ignore"):
        # Comparing with NaN is false, so a NaN in the distance or the bound is not near.
        close: Mask = (np.abs(got - expected) <= allowed) & np.isfinite(got) & np.isfinite(expected)
    return close


def _flushed(got: Array, expected: Array, truth: Truth) -> Mask:
    """Return where a subnormal result came out as zero.

    It is excused where the operands are subnormal to begin with, and of a backend that keeps no subnormal at all: one
    that keeps some has lost the others.
    """
    flushed: Mask = (got == 0) & is_subnormal(expected, truth.dtype)
    if not flushed.any() or (truth.subnormal and not is_subnormal(got, truth.dtype).any()):
        return flushed
    return np.zeros_like(flushed)


def _differed(comparison: Comparison, actual: Array) -> ver.Differed:
    """Report the first wrong element and the worst one."""
    places = np.argwhere(comparison.wrong)
    first = tuple(int(i) for i in places[0])
    with np.errstate(invalid="ignore"):
        got = actual.astype(np.float64)
    worst = None
    if comparison.allowed is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = (np.abs(got - comparison.expected) / comparison.allowed)[comparison.wrong]
        worst = float(np.nanmax(ratios)) if not np.isnan(ratios).all() else None
    return ver.Differed(
        comparison.rule,
        len(places),
        actual.size,
        first,
        float(comparison.expected[first]),
        float(got[first]),
        worst,
    )

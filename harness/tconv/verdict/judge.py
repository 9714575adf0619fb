"""The judge: an outcome compared with what the dialect owes."""

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
    """An output compared with the values of a geometry, in NCX: where it is wrong, and the notes for the verdict."""

    rule: ver.Rule
    wrong: Mask
    expected: Array
    allowed: Array | None
    notes: tuple[str, ...]


def judge(problem: Problem, outcome: out.Outcome, accumulates: Mapping[str, str]) -> ver.Verdict:
    """Return the verdict.

    Args:
        problem: the problem.
        outcome: what the backend did; an array in the call's data layout.
        accumulates: what the backend accumulates f16 and bf16 in.
    """
    match outcome:
        case out.Unsupported() | out.Died() | out.TimedOut() | out.Broke():
            return outcome
        case out.Refused() | out.Produced() | out.ShapeOnly():
            return _verdict(problem, outcome, accumulates)
        case _:
            assert_never(outcome)


def followed(verdict: ver.Verdict, expected: Expectation) -> Geometry | None:
    """Return the geometry that the backend followed by its verdict; None where it followed none."""
    if not isinstance(verdict, ver.Agreed | ver.Disputed) or not isinstance(expected, Values):
        return None
    return expected.geometry(verdict.readings if isinstance(verdict, ver.Disputed) else ())


def _verdict(
    problem: Problem, outcome: out.Refused | out.Produced | out.ShapeOnly, accumulates: Mapping[str, str]
) -> ver.Verdict:
    match problem.expectation:
        case Inexpressible() as expected:
            return ver.Inexpressible(expected.reason)
        case Refuse() as expected:
            return _against_refusal(expected, outcome)
        case Values() as expected:
            if not isinstance(outcome, out.Refused):
                return _against_values(expected, outcome, problem.truth, problem.call.data_format, accumulates)
            if expected.refusals:
                return ver.Disputed((str(expected.refusals[0]),), "refusal", message=outcome.message)
            return ver.RefusedValid(outcome.message)
        case _:
            assert_never(problem.expectation)


def _against_refusal(expected: Refuse, outcome: out.Refused | out.Produced | out.ShapeOnly) -> ver.Verdict:
    constraint = expected.violation.constraint
    if not isinstance(outcome, out.Refused):
        return ver.AcceptedInvalid(constraint, expected.stated)
    if expected.stated:
        return ver.Agreed("refusal")
    return ver.Disputed((str(OpenConstraint(constraint)),), "refusal", message=outcome.message)


def _against_values(
    expected: Values,
    outcome: out.Produced | out.ShapeOnly,
    truth: Truth,
    data_format: DataFormat,
    accumulates: Mapping[str, str],
) -> ver.Verdict:
    shape = outcome.shape if isinstance(outcome, out.ShapeOnly) else outcome.array.shape
    candidates = [c for c in expected.candidates if data_shape(truth.shape(c.geometry), data_format) == tuple(shape)]
    if not candidates:
        return ver.WrongShape(data_shape(truth.shape(expected.primary.geometry), data_format), tuple(shape))
    dtype = outcome.dtype if isinstance(outcome, out.ShapeOnly) else _dtype_name(outcome.array)
    if dtype != truth.dtype:
        return ver.WrongDtype(truth.dtype, dtype)
    if isinstance(outcome, out.ShapeOnly):
        return _followed(candidates[0], "shape", ())
    actual = to_ncx(outcome.array, data_format)
    comparisons = []
    for candidate in candidates:
        comparison = compare(actual, truth, candidate.geometry, accumulates)
        if not comparison.wrong.any():
            return _followed(candidate, comparison.rule, (*outcome.notes, *comparison.notes))
        comparisons.append(comparison)
    return _differed(comparisons[0], actual)


def _followed(candidate: Candidate, rule: ver.Rule, notes: tuple[str, ...]) -> ver.Verdict:
    return ver.Disputed(candidate.readings, rule, notes) if candidate.readings else ver.Agreed(rule, notes)


_DTYPE_NAMES = {dtype: name for name, dtype in NUMPY_TYPES.items()}


def _dtype_name(array: Array) -> str:
    return str(_DTYPE_NAMES.get(array.dtype, array.dtype))


def compare(actual: Array, truth: Truth, geometry: Geometry, accumulates: Mapping[str, str]) -> Comparison:
    """Compare an NCX output with the reference under a geometry."""
    expected = truth.values(geometry)
    with np.errstate(invalid="ignore"):
        actual = actual.astype(np.float64)
        wrong: Mask = (actual != expected) & ~(np.isnan(actual) & np.isnan(expected))
    if truth.exact(geometry):
        return Comparison("exact", wrong, expected, None, ())
    limits = bound(truth.terms(geometry), truth.dtype, accumulates)
    with np.errstate(invalid="ignore"):
        distance = np.abs(actual - expected)
    return _within(actual, expected, distance, wrong, limits, truth, geometry)


def _within(
    actual: Array, expected: Array, distance: Array, unequal: Mask, limits: Bound, truth: Truth, geometry: Geometry
) -> Comparison:
    """Compare real numbers: unequal ones that the bound, overflow, inserted zeros or flushing allow are not wrong."""
    notes = []
    infinite = np.isinf(actual) & limits.may_overflow & (np.sign(actual) == np.sign(expected))
    wrong = unequal & ~near(actual, expected, limits.allowed) & ~infinite
    inserted = wrong & np.isnan(actual)
    if inserted.any():
        inserted &= truth.poisoned(geometry)
    if inserted.any():
        notes.append("nan-from-inserted-zeros")
        wrong &= ~inserted
    flushed = _flushed(actual, expected, truth)
    if flushed.any():
        notes.append("flushed-subnormals")
        wrong &= ~flushed
    if (unequal & ~wrong & ~infinite & ~inserted & ~flushed & (distance > limits.warning)).any():
        notes.append("reduced-precision")
    return Comparison("bound", wrong, expected, limits.allowed, tuple(notes))


def near(actual: Array, expected: Array, allowed: Array) -> Mask:
    """Return where numbers are as near as is allowed.

    Nothing is near where infinity is owed: the distance of a finite number is infinite, and so is the bound.
    """
    with np.errstate(invalid="ignore"):
        # Comparing with NaN is false, so a NaN in the distance or the bound is not near.
        close: Mask = (np.abs(actual - expected) <= allowed) & np.isfinite(actual) & np.isfinite(expected)
    return close


def _flushed(actual: Array, expected: Array, truth: Truth) -> Mask:
    """Return where zero is allowed for a subnormal result.

    It is where operands are subnormal too and the backend gives no subnormal at all: a backend that gives some does not
    flush, so its zeros are wrong.
    """
    flushed: Mask = (actual == 0) & is_subnormal(expected, truth.dtype)
    if not flushed.any() or (truth.subnormal and not is_subnormal(actual, truth.dtype).any()):
        return flushed
    return np.zeros_like(flushed)


def _differed(comparison: Comparison, actual: Array) -> ver.Differed:
    """Return the verdict with the first wrong element and the worst one."""
    places = np.argwhere(comparison.wrong)
    first = tuple(int(i) for i in places[0])
    with np.errstate(invalid="ignore"):
        actual = actual.astype(np.float64)
    worst = None
    if comparison.allowed is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = (np.abs(actual - comparison.expected) / comparison.allowed)[comparison.wrong]
        worst = float(np.nanmax(ratios)) if not np.isnan(ratios).all() else None
    return ver.Differed(
        comparison.rule,
        len(places),
        actual.size,
        first,
        float(comparison.expected[first]),
        float(actual[first]),
        worst,
    )

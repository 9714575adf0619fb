"""The judge: an outcome compared with what the dialect owes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import data_shape, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.bound import accumulator_of, bound, is_subnormal
from tconv.expectation.owed import Candidate, Inexpressible, OpenConstraint, Refuse, Values
from tconv.verdict import kinds as ver
from tconv.verdict.transform_errors import is_transform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound
    from tconv.expectation.owed import Expectation
    from tconv.expectation.problem import Problem
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, DataFormat, DType, Mask


@dataclass(frozen=True, slots=True)
class Comparison:
    """An output compared with the values of a geometry, in NCX.

    Attributes:
        rule: how it was compared.
        wrong: where it is wrong.
        expected: the reference's values.
        allowed: how far it may be from them; None under the exact rule.
        notes: the notes for the verdict.
        untested: how many elements are not zero and would pass as zero, where that makes the comparison void.
    """

    rule: ver.Rule
    wrong: Mask
    expected: Array
    allowed: Array | None
    notes: tuple[str, ...]
    untested: int = 0


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
        if comparison.untested and not comparison.wrong.any():
            return ver.Mistrusted(comparison.untested, actual.size, candidate.readings, comparison.notes)
        if not comparison.wrong.any():
            return _followed(candidate, comparison.rule, comparison.notes)
        comparisons.append(comparison)
    for candidate, comparison in zip(candidates, comparisons, strict=True):
        if is_transform(actual, truth, candidate.geometry):
            return _differed(ver.ExceedsSummationBound, comparison, actual)
    return _differed(ver.Differed, comparisons[0], actual)


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
    wrong, excused = wrong & ~near(actual, expected, limits.allowed), np.zeros_like(wrong)
    wrong &= ~(np.isinf(actual) & limits.may_overflow & (np.sign(actual) == np.sign(expected)))
    notes = []
    for note, excuse in _EXCUSES.items():
        if wrong.any():
            excusing = wrong & excuse(actual, expected, truth, geometry, limits, accumulates)
            if excusing.any():
                notes.append(note)
                wrong, excused = wrong & ~excusing, excused | excusing
    if _is_reduced(actual, expected, limits, ~wrong & ~excused):
        notes.append("reduced-precision")
    return Comparison("bound", wrong, expected, limits.allowed, tuple(notes), _untested(expected, limits, truth.dtype))


def _is_reduced(actual: Array, expected: Array, limits: Bound, conforming: Mask) -> bool:
    """Return whether an element is remarkably far off, or all together are further off than roundings of a sum are.

    The root mean square of M normal errors of deviation 1 is beyond 1 + 6 / sqrt(M) once in 10^7 outputs. Source: the
    norm of a normal vector is concentrated, Boucheron, Lugosi and Massart, Concentration Inequalities, theorem 5.6.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(actual - expected)
        compared = conforming & np.isfinite(distance)
        if not compared.any():
            return False
        off, deviation = distance[compared], limits.deviation[compared]
        mean_square = float(np.mean(np.where(off == 0, 0.0, off / deviation) ** 2))
    together = np.sqrt(mean_square) > 1 + _UNLIKELY / np.sqrt(off.size)
    return bool(together or (off > limits.warning[compared]).any())


_UNLIKELY = 6.0


def _untested(expected: Array, limits: Bound, dtype: DType) -> int:
    """Return how many elements are untested: the bound is vacuous there, or zeros everywhere would be within it."""
    with np.errstate(over="ignore", invalid="ignore"):
        owed = expected.astype(NUMPY_TYPES[dtype]) != 0
    passes = owed & near(np.zeros_like(expected), expected, limits.allowed)
    return int(passes.sum()) if np.array_equal(passes, owed) else int((passes & limits.vacuous).sum())


def _inserted(actual: Array, _: Array, truth: Truth, geometry: Geometry, *__: object) -> Mask:
    """Return where NaN is allowed: where a runtime multiplies an inserted zero with a tap that is NaN or infinite."""
    nan: Mask = np.isnan(actual)
    return nan & truth.poisoned(geometry) if nan.any() else nan


def _overflowed(actual: Array, expected: Array, _: Truth, __: Geometry, limits: Bound, *___: object) -> Mask:
    """Return where a finite sum may be infinite, or NaN where infinities of both signs may meet."""
    overflowed: Mask = (
        (np.isposinf(actual) & limits.rises)
        | (np.isneginf(actual) & limits.falls)
        | (np.isnan(actual) & limits.rises & limits.falls)
    )
    return overflowed & np.isfinite(expected)


def near(actual: Array, expected: Array, allowed: Array) -> Mask:
    """Return where numbers are as near as is allowed.

    Nothing is near where infinity is owed: the distance of a finite number is infinite, and so is the bound.
    """
    with np.errstate(invalid="ignore"):
        # Comparing with NaN is false, so a NaN in the distance or the bound is not near.
        close: Mask = (np.abs(actual - expected) <= allowed) & np.isfinite(actual) & np.isfinite(expected)
    return close


def _flushed(
    actual: Array, expected: Array, truth: Truth, geometry: Geometry, limits: Bound, accumulates: Mapping[str, str]
) -> Mask:
    """Return where a runtime that takes subnormal numbers for zero is right.

    A subnormal result may be zero where operands are subnormal too. A normal result may lack its subnormal products.
    Neither is excused where the backend gives a subnormal number: it does not flush them, so what it lost is wrong.
    """
    flushed: Mask = (actual == 0) & is_subnormal(expected, truth.dtype)
    if is_subnormal(actual, truth.dtype).any():
        return np.zeros_like(flushed)
    if not truth.subnormal:
        flushed = np.zeros_like(flushed)
    lost = truth.flushable(geometry, accumulator_of(truth.dtype, accumulates))
    if lost is None:
        return flushed
    normal = (lost > 0) & (expected != 0) & ~is_subnormal(expected, truth.dtype)
    return flushed | (normal & near(actual, expected, limits.allowed + lost))


_EXCUSES = {
    "nan-from-inserted-zeros": _inserted,
    "overflow-of-a-partial-sum": _overflowed,
    "flushed-subnormals": _flushed,
}
"""What excuses a value that is not within the bound, by the note that it leaves."""


def _differed(
    kind: type[ver.Differed | ver.ExceedsSummationBound], comparison: Comparison, actual: Array
) -> ver.Differed | ver.ExceedsSummationBound:
    """Return the verdict of a kind with the first wrong element and the worst one."""
    places = np.argwhere(comparison.wrong)
    first = tuple(int(i) for i in places[0])
    with np.errstate(invalid="ignore"):
        actual = actual.astype(np.float64)
    worst = None
    if comparison.allowed is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = (np.abs(actual - comparison.expected) / comparison.allowed)[comparison.wrong]
        worst = float(np.nanmax(ratios)) if not np.isnan(ratios).all() else None
    return kind(
        comparison.rule,
        len(places),
        actual.size,
        first,
        float(comparison.expected[first]),
        float(actual[first]),
        worst,
    )

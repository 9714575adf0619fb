"""An output compared with the reference: exactly, or within the bound and what excuses a value beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.bound import accumulator_of, bound, is_subnormal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound
    from tconv.expectation.truth import Truth
    from tconv.verdict import kinds as ver
    from tconv.vocabulary import Array, DType, Mask


_UNLIKELY = 6.0


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


def _untested(expected: Array, limits: Bound, dtype: DType) -> int:
    """Return how many elements are untested: the bound is vacuous there, or zeros everywhere would be within it."""
    with np.errstate(over="ignore", invalid="ignore"):
        owed = expected.astype(NUMPY_TYPES[dtype]) != 0
    passes = owed & near(np.zeros_like(expected), expected, limits.allowed)
    return int(passes.sum()) if np.array_equal(passes, owed) else int((passes & limits.vacuous).sum())


def _inserted(
    actual: Array, _expected: Array, truth: Truth, geometry: Geometry, _limits: Bound, _accumulates: Mapping[str, str]
) -> Mask:
    """Return where NaN is allowed: where a runtime multiplies an inserted zero with a tap that is NaN or infinite."""
    nan: Mask = np.isnan(actual)
    return nan & truth.poisoned(geometry) if nan.any() else nan


def _overflowed(
    actual: Array, expected: Array, _truth: Truth, _geometry: Geometry, limits: Bound, _accumulates: Mapping[str, str]
) -> Mask:
    """Return where a finite sum may be infinite, or NaN where infinities of both signs may meet."""
    overflowed: Mask = (
        (np.isposinf(actual) & limits.rises)
        | (np.isneginf(actual) & limits.falls)
        | (np.isnan(actual) & limits.rises & limits.falls)
    ) & np.isfinite(expected)
    return overflowed


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
    flushed |= normal & near(actual, expected, limits.allowed + lost)
    return flushed


_EXCUSES: dict[str, Callable[[Array, Array, Truth, Geometry, Bound, Mapping[str, str]], Mask]] = {
    "nan-from-inserted-zeros": _inserted,
    "overflow-of-a-partial-sum": _overflowed,
    "flushed-subnormals": _flushed,
}
"""What excuses a value that is not within the bound, by the note that it leaves."""

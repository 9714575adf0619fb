"""An output compared with the reference: exactly, or within the bound and what excuses a value beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.bound import SMALLEST_NORMAL, bound, near
from tconv.verdict.excuses import EXCUSES, Output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound
    from tconv.expectation.truth import Truth
    from tconv.verdict import kinds as ver
    from tconv.vocabulary import Array, DType, Mask


_UNLIKELY = 6.0


class Comparison(NamedTuple):
    """An output compared with the values of a geometry, in NCX.

    Attributes:
        rule: how it was compared.
        wrong: where it is wrong.
        expected: the reference's values.
        allowed: how far it may be from them; None under the exact rule, and where nothing is wrong.
        notes: the notes for the verdict.
        conforms: whether it is wrong nowhere.
        untested: how many elements would pass as zero, where that makes the comparison void.
    """

    rule: ver.Rule
    wrong: Mask
    expected: Array
    allowed: Array | None
    notes: tuple[str, ...]
    conforms: bool
    untested: int = 0


def compare(actual: Array, truth: Truth, geometry: Geometry, accumulates: Mapping[str, str]) -> Comparison:
    """Compare an NCX output with the reference under a geometry."""
    exact = truth.exact(geometry)
    if not exact and truth.conforms(actual, geometry):
        return Comparison("bound", np.zeros(actual.shape, dtype=bool), truth.values(geometry), None, (), conforms=True)
    expected = truth.values(geometry)
    with np.errstate(invalid="ignore"):
        actual = actual.astype(np.float64)
    wrong: Mask = actual != expected
    if exact and not wrong.any():
        return Comparison("exact", wrong, expected, None, (), conforms=True)
    if (nan := np.isnan(actual)).any():
        wrong &= ~(nan & np.isnan(expected))
    if exact:
        return Comparison("exact", wrong, expected, None, (), conforms=not wrong.any())
    limits = bound(truth.terms(geometry), truth.dtype, accumulates)
    wrong, excused = wrong & ~near(actual, expected, limits.allowed), np.zeros_like(wrong)
    if (infinite := np.isinf(actual)).any():
        wrong &= ~(infinite & limits.may_overflow & (np.sign(actual) == np.sign(expected)))
    notes = []
    output = Output(actual, expected, truth, geometry, limits, accumulates)
    for note, excuse in EXCUSES.items():
        if wrong.any():
            excusing = wrong & excuse(output)
            if excusing.any():
                notes.append(note)
                wrong, excused = wrong & ~excusing, excused | excusing
    if _is_reduced(actual, expected, limits, ~wrong & ~excused):
        notes.append("reduced-precision")
    untested = _untested(expected, limits, truth.dtype)
    return Comparison("bound", wrong, expected, limits.allowed, tuple(notes), not wrong.any(), untested)


def _is_reduced(actual: Array, expected: Array, limits: Bound, conforming: Mask) -> bool:
    """Return whether an element is remarkably far off, or all together are further off than roundings of a sum are.

    The root mean square of M normal errors of deviation 1 is beyond 1 + 6 / sqrt(M) once in 10^7 outputs. Source: the
    norm of a normal vector is concentrated, Boucheron, Lugosi and Massart, Concentration Inequalities, theorem 5.6.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(actual - expected)
        compared = conforming & np.isfinite(distance)
        count = int(compared.sum())
        if not count:
            return False
        distance[~compared] = 0
        off = np.divide(distance, limits.deviation, out=np.zeros_like(distance), where=distance > 0)
    together = np.sqrt(np.vdot(off, off) / count) > 1 + _UNLIKELY / np.sqrt(count)
    return bool(together or (distance > limits.warning).any())


def _untested(expected: Array, limits: Bound, dtype: DType) -> int:
    """Return how many elements are untested: the bound is vacuous there, or zeros everywhere would be within it."""
    with np.errstate(over="ignore", invalid="ignore"):
        nonzero = expected.astype(NUMPY_TYPES[dtype]) != 0
    passes = nonzero & near(np.zeros(()), expected, limits.allowed)
    untested = passes if np.array_equal(passes, nonzero) else passes & limits.vacuous
    # Where products underflow, zero and the smallest numbers alone are within the bound of a zero.
    loose = limits.vacuous & np.isfinite(expected) & ~nonzero & (limits.allowed >= SMALLEST_NORMAL[dtype])
    return int((untested | loose).sum())

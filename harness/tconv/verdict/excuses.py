"""What excuses a value that is not within the bound, and leaves a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tconv.expectation.bound import accumulator_of, is_subnormal, near

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, Mask


@dataclass(frozen=True, slots=True)
class Output:
    """An output in NCX and float64, with what it is compared with.

    Attributes:
        actual: the output.
        expected: the reference's values.
        truth: the reference for the operands.
        geometry: the geometry of the reference's values.
        limits: the bound.
        accumulates: what the backend accumulates f16 and bf16 in.
    """

    actual: Array
    expected: Array
    truth: Truth
    geometry: Geometry
    limits: Bound
    accumulates: Mapping[str, str]


def _inserted(output: Output) -> Mask:
    """Return where NaN is allowed: where a runtime multiplies an inserted zero with a tap that is NaN or infinite."""
    nan: Mask = np.isnan(output.actual)
    return nan & output.truth.poisoned(output.geometry) if nan.any() else nan


def _overflowed(output: Output) -> Mask:
    """Return where a finite sum may be infinite, and any sum NaN where infinities of both signs may meet."""
    actual, expected, limits = output.actual, output.expected, output.limits
    infinite = (np.isposinf(actual) & limits.rises) | (np.isneginf(actual) & limits.falls)
    upwards, downwards = limits.rises | np.isposinf(expected), limits.falls | np.isneginf(expected)
    met = np.isnan(actual) & upwards & downwards
    overflowed: Mask = (infinite & np.isfinite(expected)) | met
    return overflowed


def _flushed(output: Output) -> Mask:
    """Return where a runtime that takes subnormal numbers for zero is right.

    A subnormal result may be zero where operands are subnormal too. A normal result may lack its subnormal products.
    Neither is excused where the backend gives a subnormal number: it does not flush them, so what it lost is wrong.
    """
    actual, expected, truth = output.actual, output.expected, output.truth
    if is_subnormal(actual, truth.dtype).any():
        return np.zeros(actual.shape, dtype=bool)
    subnormal = is_subnormal(expected, truth.dtype)
    flushed: Mask = (actual == 0) & subnormal & truth.subnormal
    lost = truth.flushable(output.geometry, accumulator_of(truth.dtype, output.accumulates))
    if lost is not None:
        normal = (lost > 0) & (expected != 0) & ~subnormal
        flushed |= normal & near(actual, expected, output.limits.allowed + lost)
    return flushed


EXCUSES: dict[str, Callable[[Output], Mask]] = {
    "nan-from-inserted-zeros": _inserted,
    "overflow-of-a-partial-sum": _overflowed,
    "flushed-subnormals": _flushed,
}
"""Where each excuse holds, by the note that it leaves."""

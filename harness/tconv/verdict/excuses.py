"""What excuses a value that is not within the bound, and leaves a note."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tconv.expectation.bound import accumulator_of, is_subnormal, near

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound, Terms
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, DType, Float64s, Mask


@dataclass(frozen=True)
class Output:
    """An output in NCX, with what it is compared with.

    Attributes:
        actual: the output.
        truth: the reference for the operands.
        geometry: the geometry of the reference's values.
        accumulator: the type that products of f16 or bf16 are added in.
    """

    actual: Array
    truth: Truth
    geometry: Geometry
    accumulator: DType

    @cached_property
    def poisoned(self) -> Mask:
        """Where, (O, Y...), a runtime multiplies an inserted zero with a tap that is NaN or infinite."""
        return self.truth.poisoned(self.geometry)

    @cached_property
    def flushes(self) -> bool:
        """Whether the output has no subnormal number."""
        with np.errstate(invalid="ignore"):
            return not is_subnormal(self.actual.astype(np.float64), self.truth.dtype).any()

    @cached_property
    def flushable(self) -> Array | None:
        """The most that each sum loses whose subnormal products are taken for zero."""
        return self.truth.flushable(self.geometry, accumulator_of(self.truth.dtype, self.accumulator))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an output.

    Attributes:
        index: where it lies.
        actual: its elements in float64.
        terms: the reference's values, and what they are made of.
        limits: the bound.
    """

    index: tuple[slice, ...]
    actual: Float64s
    terms: Terms
    limits: Bound


def _inserted(part: Part, output: Output) -> Mask:
    """Return where NaN is allowed: where a runtime multiplies an inserted zero with a tap that is NaN or infinite."""
    nan: Mask = np.isnan(part.actual)
    return nan & output.poisoned[part.index[1:]] if nan.any() else nan


def _overflowed(part: Part, _: Output) -> Mask:
    """Return where a finite sum may be infinite, and any sum NaN where infinities of both signs may meet."""
    actual, expected, limits = part.actual, part.terms.y, part.limits
    infinite = (np.isposinf(actual) & limits.rises) | (np.isneginf(actual) & limits.falls)
    upwards, downwards = limits.rises | np.isposinf(expected), limits.falls | np.isneginf(expected)
    met = np.isnan(actual) & upwards & downwards
    overflowed: Mask = (infinite & np.isfinite(expected)) | met
    return overflowed


def _flushed(part: Part, output: Output) -> Mask:
    """Return where a runtime that takes subnormal numbers for zero is right.

    A subnormal result may be zero where operands are subnormal too. A normal result may lack its subnormal products.
    Neither is excused where the backend gives a subnormal number: it does not flush them, so what it lost is wrong.
    """
    actual, expected, truth = part.actual, part.terms.y, output.truth
    if not output.flushes:
        return np.zeros(actual.shape, dtype=bool)
    subnormal = is_subnormal(expected, truth.dtype)
    flushed: Mask = (actual == 0) & subnormal & truth.subnormal
    if output.flushable is not None:
        lost = output.flushable[part.index]
        normal = (lost > 0) & (expected != 0) & ~subnormal
        flushed |= normal & near(actual, expected, part.limits.allowed + lost)
    return flushed


EXCUSES: dict[str, Callable[[Part, Output], Mask]] = {
    "nan-from-inserted-zeros": _inserted,
    "overflow-of-a-partial-sum": _overflowed,
    "flushed-subnormals": _flushed,
}
"""Where each excuse holds, by the note that it leaves."""

"""The placement of the values of a wrong output: the geometry that the runtime computed, found by search.

A misreading is a mistake from a list. This module needs no list: it compares the output with every shift of the full
output, for several strides and dilations. The result is for one output; `evidence.rules` learns a formula from many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends.outcome import Recorded
from tconv.expectation.bound import bound_errors, near
from tconv.verdict.values import compare
from tconv.vocabulary import Ints  # noqa: TC001 - the file boundary reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, DType

MOST_BEGINS = 48
"""The most shifts that may fit an output. With more, as for equal values everywhere, the placement is unknown."""
_STEPS = 2**29
"""The most steps of the search, see `Truth.steps`. It ends before strides and dilations that would need more."""
_PIVOTS = 6
"""Elements that are compared first for every shift, so that only few shifts are compared with all elements."""


@dataclass(frozen=True, slots=True)
class Placement(Recorded):
    """The geometry that the values of an output show. Each list has an entry for each spatial axis.

    Attributes:
        output: the spatial sizes.
        strides, dilations: those that give these values; the call's own if the values do not show them.
        pads_begin: every list of pads_begin that gives these values; empty if the values show none, or if none gives
            them.
        searched: whether every shift was compared with the values: if so, an empty pads_begin says that none gives
            them.
    """

    output: Ints
    strides: Ints
    dilations: Ints
    pads_begin: tuple[Ints, ...] = ()
    searched: bool = False

    def differs_from(self, geometry: Geometry) -> str:
        """Return the differences from a geometry in words; empty if there are none, or if several placements fit."""
        if len(self.pads_begin) != 1:
            return ""
        names, begin = ("pads_begin", "strides", "dilations"), self.pads_begin[0]
        found = zip(names, (begin, self.strides, self.dilations), strict=True)
        other = [f"{name} {list(numbers)}" for name, numbers in found if numbers != getattr(geometry, name)]
        return f"its values are those of {' and '.join(other)}" if other else ""


def placed(actual: Array, truth: Truth, geometry: Geometry, accumulator: DType) -> Placement | None:
    """Return the placement of the values of an output.

    Args:
        actual: the output, (N, O, Y...).
        truth: the reference for the call's operands.
        geometry: the expected geometry, with the call's own strides and dilations.
        accumulator: the type that products of f16 or bf16 are added in.

    Returns:
        The placement, without pads_begin if only the size is known; None if the channels do not fit.
    """
    output = tuple(actual.shape[2:])
    if not output or actual.shape[:2] != truth.shape(geometry)[:2] or len(output) != len(geometry.output):
        return None
    nowhere = Placement(output, geometry.strides, geometry.dilations)
    if not actual.size or not np.isfinite(actual.astype(np.float64)).all():
        return nowhere
    left = _STEPS
    for strides, dilations in _spacings(geometry):
        spaced = replace(geometry, strides=strides, dilations=dilations, output=output)
        left -= truth.steps(_wide(spaced))
        begins = None if left < 0 else _begins(actual, truth, spaced, accumulator)
        if begins is None:
            return nowhere
        if begins:
            return Placement(output, strides, dilations, begins, searched=True)
    return replace(nowhere, searched=True)


def _spacings(geometry: Geometry) -> Iterator[tuple[Ints, Ints]]:
    """Yield strides and dilations: first the call's own, then those with some ignored or exchanged."""
    strides, dilations = geometry.strides, geometry.dilations
    rank = len(geometry.output)
    strides_made, dilations_made = (
        ((1,) * rank, values[::-1], values[:1] * rank, values[-1:] * rank) for values in (strides, dilations)
    )
    yield from dict.fromkeys(
        [
            (strides, dilations),
            *((made, dilations) for made in strides_made),
            *((strides, made) for made in dilations_made),
            *zip(strides_made, dilations_made, strict=True),
            (dilations, strides),
        ]
    )


def _wide(geometry: Geometry) -> Geometry:
    """Return a geometry whose output contains all shifts of an output."""
    # Further shifts reach no tap: one such shift on each side represents all of them.
    pads_begin = tuple(-size for size in geometry.output)
    output = tuple(reached + 2 * size for reached, size in zip(geometry.full, geometry.output, strict=True))
    return replace(geometry, pads_begin=pads_begin, output=output)


def _begins(actual: Array, truth: Truth, geometry: Geometry, accumulator: DType) -> tuple[Ints, ...] | None:
    """Return each pads_begin for which a geometry gives the output; None if too many must be tried, or fit."""
    full, sizes, wide = geometry.full, geometry.output, _wide(geometry)
    if min(full) < 1:
        return ()
    shifts = tuple(reached + size + 1 for reached, size in zip(full, sizes, strict=True))
    fits = np.ones(shifts, dtype=bool)
    values, all_sums = actual.astype(np.float64), truth.compute_values(wide)
    allowed = None if truth.exact(wide) else bound_errors(truth.compute_terms(wide), truth.dtype, accumulator).allowed
    for place in _pivots(values):
        window: tuple[Any, ...] = tuple(slice(at, at + shift) for at, shift in zip(place[2:], shifts, strict=True))
        window = (*place[:2], *window)
        expected = all_sums[window]
        with np.errstate(over="ignore", invalid="ignore"):
            stored = expected.astype(actual.dtype).astype(np.float64)
        fits &= (stored == values[place]) if allowed is None else near(values[place], expected, allowed[window])
        if not fits.any():
            return ()
    candidates = np.argwhere(fits)
    if len(candidates) > 2 * MOST_BEGINS:
        return None
    begins = (tuple(int(at) - size for at, size in zip(shift, sizes, strict=True)) for shift in candidates)
    giving = tuple(
        begin for begin in begins if compare(actual, truth, replace(geometry, pads_begin=begin), accumulator).conforms
    )
    return giving if len(giving) <= MOST_BEGINS else None


def _pivots(values: Array) -> Iterator[tuple[int, ...]]:
    """Yield places of elements that exclude most shifts: those with the largest magnitudes, and the corners."""
    largest = np.argsort(np.abs(values), axis=None)[::-1][:_PIVOTS]
    yield from ((*map(int, np.unravel_index(flat, values.shape)),) for flat in largest)
    corners = {0, values.size - 1, values.size // 2, values.size // 3}
    yield from ((*map(int, np.unravel_index(flat, values.shape)),) for flat in corners)

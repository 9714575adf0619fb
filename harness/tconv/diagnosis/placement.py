"""Where the values of a wrong output lie: the geometry that the runtime computed, found by search and not from a list.

A misreading is a guess that somebody wrote down. The values of an output say by themselves at which point it begins,
and how far its taps are apart: every shift of the full output is held against it. What is found is a fact about one
answer; `learning` makes a rule of many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends.outcome import Recorded
from tconv.expectation.bound import bound, near
from tconv.verdict.comparison import compare
from tconv.vocabulary import Ints  # noqa: TC001 - the file boundary reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array

MOST_BEGINS = 48
"""Shifts that may fit an output; where more do, as with equal values everywhere, its place is not known."""
_LARGEST = 2**22
"""Elements of the reference's output that is searched; a larger one is not."""
_PIVOTS = 6
"""Elements that every shift is held against first, so that few shifts are held against all elements."""


@dataclass(frozen=True, slots=True)
class Placement(Recorded):
    """The geometry that gives an output, as far as its values tell; each has an entry for each spatial axis.

    Attributes:
        output: the spatial sizes.
        strides, dilations: those that give these values; the call's own where the values do not tell.
        pads_begin: every list of pads_begin that gives these values; empty where the values do not tell.
    """

    output: Ints
    strides: Ints
    dilations: Ints
    pads_begin: tuple[Ints, ...] = ()


def placed(actual: Array, truth: Truth, geometry: Geometry, accumulates: Mapping[str, str]) -> Placement | None:
    """Return where the values of an output lie.

    Args:
        actual: the output, (N, O, Y...).
        truth: the reference for the call's operands.
        geometry: what is owed, with the call's own strides and dilations.
        accumulates: what the backend accumulates f16 and bf16 in.

    Returns:
        The placement; one without pads_begin where only the size is known, and None where not even the channels fit.
    """
    output = tuple(actual.shape[2:])
    if actual.shape[:2] != truth.shape(geometry)[:2] or len(output) != len(geometry.output):
        return None
    if actual.size and np.isfinite(actual.astype(np.float64)).all():
        for strides, dilations in _spacings(geometry):
            spaced = replace(geometry, strides=strides, dilations=dilations, output=output)
            begins = _begins(actual, truth, spaced, accumulates)
            if begins is None:
                break
            if begins:
                return Placement(output, strides, dilations, begins)
    return Placement(output, geometry.strides, geometry.dilations)


def _spacings(geometry: Geometry) -> Iterator[tuple[Ints, Ints]]:
    """Yield strides and dilations: the call's own, then what may be made of them by overlooking or exchanging some."""
    own = geometry.strides, geometry.dilations
    rank = len(geometry.output)
    made = [
        {(1,) * rank: None, values[::-1]: None, values[:1] * rank: None, values[-1:] * rank: None, others: None}
        for values, others in (own, own[::-1])
    ]
    pairs = [own, *((s, own[1]) for s in made[0]), *((own[0], d) for d in made[1])]
    yield from dict.fromkeys([*pairs, *((s, d) for s in made[0] for d in made[1])])


def _begins(actual: Array, truth: Truth, geometry: Geometry, accumulates: Mapping[str, str]) -> tuple[Ints, ...] | None:
    """Return each pads_begin for which a geometry gives the output; None where there are too many to tell."""
    full, sizes = geometry.full, geometry.output
    # One beyond the first and the last shift with an element that a tap reaches stands for all that have none.
    most = sizes
    wide = replace(
        geometry,
        pads_begin=tuple(-m for m in most),
        output=tuple(f + 2 * m for f, m in zip(full, most, strict=True)),
    )
    if min(full) < 1 or prod(truth.shape(wide)) > _LARGEST:
        return ()
    shifts = tuple(f + m + 1 for f, m in zip(full, most, strict=True))
    fits = np.ones(shifts, dtype=bool)
    got, all_sums = actual.astype(np.float64), truth.values(wide)
    allowed = None if truth.exact(wide) else bound(truth.terms(wide), truth.dtype, accumulates).allowed
    for place in _pivots(got):
        window: tuple[Any, ...] = tuple(slice(at, at + shift) for at, shift in zip(place[2:], shifts, strict=True))
        window = (*place[:2], *window)
        expected = all_sums[window]
        with np.errstate(over="ignore", invalid="ignore"):
            stored = expected.astype(actual.dtype).astype(np.float64)
        fits &= (stored == got[place]) if allowed is None else near(got[place], expected, allowed[window])
        if not fits.any():
            return ()
    candidates = np.argwhere(fits)
    if len(candidates) > 2 * MOST_BEGINS:
        return None
    begins = (tuple(int(at) - m for at, m in zip(shift, most, strict=True)) for shift in candidates)
    giving = tuple(
        begin
        for begin in begins
        if not compare(actual, truth, replace(geometry, pads_begin=begin), accumulates).wrong.any()
    )
    return giving if len(giving) <= MOST_BEGINS else None


def _pivots(got: Array) -> Iterator[tuple[int, ...]]:
    """Yield places of elements that tell most shifts apart: of the largest magnitudes, and from the corners."""
    largest = np.argsort(np.abs(got), axis=None)[::-1][:_PIVOTS]
    yield from ((*map(int, np.unravel_index(flat, got.shape)),) for flat in largest)
    corners = {0, got.size - 1, got.size // 2, got.size // 3}
    yield from ((*map(int, np.unravel_index(flat, got.shape)),) for flat in corners)

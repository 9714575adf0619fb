"""The phases of an output: which taps reach each, and which columns of a tile these are multiplied with.

Output o = q*s + r - pads_begin of an axis has the phase, or residue, r = 0 .. s-1. Tap k reaches one phase alone,
r = k*d mod s, and brings place q the element q - shift of the data, shift = k*d // s.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from tconv.expectation.meetings import meetings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.expectation.meetings import Axis
    from tconv.vocabulary import Ints


class Phases(NamedTuple):
    """Phases that need the same columns, so that one matrix product serves them all.

    Attributes:
        residues: r of each phase, on each axis.
        columns: the places of the columns in their order, see `Layout`.
        taps: for each phase, the numbers of the taps that these are multiplied with.
    """

    residues: tuple[Ints, ...]
    columns: list[int]
    taps: list[list[int]]


class Layout(NamedTuple):
    """All phases, and the order of the columns that they are multiplied with.

    Attributes:
        order: the numbers of the columns, one for each combination of the axes' shifts.
        phases: the phases that need the same columns together.
    """

    order: list[int]
    phases: list[Phases]


_MOST_ORDERED = 32
"""More columns than this are left in rising order: to order them takes milliseconds."""


def shift_of(axis: Axis, tap: int) -> int:
    """Return by how many places a tap shifts the data."""
    return tap * axis.dilation // axis.stride


@lru_cache(maxsize=4096)
def shifts_of(axis: Axis) -> Ints:
    """Return the shifts of an axis in rising order."""
    return tuple(sorted({shift_of(axis, meeting.tap) for meeting in meetings(axis)}))


@lru_cache(maxsize=4096)
def taps_of(axis: Axis) -> dict[int, list[int]]:
    """Return, for each residue that a tap reaches, the taps that reach it."""
    taps: dict[int, list[int]] = {}
    for meeting in meetings(axis):
        taps.setdefault(meeting.tap * axis.dilation % axis.stride, []).append(meeting.tap)
    return taps


@lru_cache(maxsize=256)
def layout_of(along: tuple[Axis, ...]) -> Layout:
    """Return the phases that a tap reaches, those with the same shifts together.

    Where the stride divides the kernel all phases have the same: for k4 s2 in the plane a quarter of the copies, and a
    matrix product four times as high. Where a phase needs columns that do not follow each other, those between have
    weights of zero: for k3 s2 in three dimensions 30 products for 27, and in return no column is copied once more.
    """
    phases: dict[Ints, tuple[list[Ints], list[list[int]]]] = {}
    shifts, kernel = [shifts_of(axis) for axis in along], [axis.kernel for axis in along]
    for phase in product(*(taps_of(axis).items() for axis in along)):
        reached = [
            [known.index(shift_of(axis, tap)) for tap in taps]
            for axis, known, (_, taps) in zip(along, shifts, phase, strict=True)
        ]
        columns = tuple(_numbers(reached, [len(known) for known in shifts]))
        residues, taps = phases.setdefault(columns, ([], []))
        residues.append(tuple(residue for residue, _ in phase))
        taps.append(_numbers([taps_of_axis for _, taps_of_axis in phase], kernel))
    order = _ordered([set(columns) for columns in phases])
    places = {column: place for place, column in enumerate(order)}
    return Layout(
        order,
        [
            Phases(tuple(residues), [places[column] for column in columns], taps)
            for columns, (residues, taps) in phases.items()
        ],
    )


def _ordered(needed: Sequence[set[int]]) -> list[int]:
    """Return the columns such that those which a phase needs lie side by side, as far as that goes for all.

    One after the other is inserted where all phases together span the fewest. In rising order the phases of k3 s2 in
    three dimensions span 36 columns, in this one 30, of the 27 that they need.
    """
    columns = sorted(set().union(*needed))
    if len(columns) > _MOST_ORDERED:
        return columns
    order: list[int] = []
    for column in columns:
        tried = [[*order[:place], column, *order[place:]] for place in range(len(order) + 1)]
        order = min(tried, key=lambda trial: sum(_span(trial, some) for some in needed))
    return order


def _span(order: Sequence[int], needed: set[int]) -> int:
    """Return how many columns lie between the first that is needed and the last."""
    places = [place for place, column in enumerate(order) if column in needed]
    return places[-1] - places[0] + 1 if places else 0


def _numbers(places: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[int]:
    """Return the numbers of all combinations of places in an array of these sizes, the last axis counting by one."""
    steps = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return [
        sum(at * step for at, step in zip(places_of_axes, steps, strict=True)) for places_of_axes in product(*places)
    ]

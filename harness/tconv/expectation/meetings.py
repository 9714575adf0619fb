"""The elements of the data that the taps of a filter meet, on each axis: the fast reference needs nothing else.

o = i*s + k*d - pads_begin holds on each axis separately, so the results for each axis are enough for all. Axes are
small and occur often, in many combinations. So the result for an axis is computed once and kept.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.expectation.reference import tap_alone

NONE = -1
"""No element."""

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Float64s, Ints, Mask


class Axis(NamedTuple):
    """One spatial axis of a geometry, with the same names of fields in the singular."""

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    output: int


class Meeting(NamedTuple):
    """A tap that meets data within the output: elements `first` to `last` - 1; element `first` is at output `at`."""

    tap: int
    first: int
    last: int
    at: int


def axes(geometry: Geometry) -> Iterator[Axis]:
    """Yield the spatial axes of a geometry."""
    return map(
        Axis,
        geometry.spatial,
        geometry.kernel,
        geometry.strides,
        geometry.dilations,
        geometry.pads_begin,
        geometry.output,
    )


@lru_cache(maxsize=4096)
def meetings(axis: Axis) -> tuple[Meeting, ...]:
    """Return the taps that meet data within the output.

    Python's integers can hold every stride and dilation, and no array of their size is made: taps that meet nothing
    within the output are left out first.
    """
    of_taps = []
    for tap in range(axis.kernel):
        begin = tap * axis.dilation - axis.begin
        first = max(-(begin // axis.stride), 0)
        last = min((axis.output - 1 - begin) // axis.stride + 1, axis.size)
        if first < last:
            of_taps.append(Meeting(tap, first, last, begin + first * axis.stride))
    return tuple(of_taps)


def outputs(meeting: Meeting, axis: Axis) -> slice:
    """Return the output elements that a tap reaches: every s-th one."""
    return slice(meeting.at, meeting.at + (meeting.last - meeting.first - 1) * axis.stride + 1, axis.stride)


@lru_cache(maxsize=4096)
def sources(axis: Axis) -> Array:
    """Return the data element that each tap adds to each output element, (K, Y); `NONE` if there is none."""
    table = np.full((axis.kernel, axis.output), NONE)
    for meeting in meetings(axis):
        table[meeting.tap, outputs(meeting, axis)] = np.arange(meeting.first, meeting.last)
    table.flags.writeable = False
    return table


class Phases(NamedTuple):
    """The phases of an axis in which a tap meets data.

    An output element o = q*s + r - pads_begin has the phase r, 0 <= r < s, and the place q. Tap k reaches only the
    phase r = k*d mod s. It shifts the data by k*d // s: place q gets element q - shift.

    Attributes:
        axis: the axis.
        points: the elements of the data that taps meet.
        places: the places that these elements reach.
        shifts: the shifts of all taps, in rising order.
        taps: each phase r with its taps, by their shifts: phases with the same shifts need the same data.
    """

    axis: Axis
    points: range
    places: range
    shifts: Ints
    taps: dict[Ints, list[tuple[int, list[int]]]]

    @property
    def start(self) -> int:
        """The first element that a shift brings to a place, or a zero beyond the data."""
        return self.places.start - self.shifts[-1]

    @property
    def width(self) -> int:
        """The number of elements, and of zeros beyond the data's ends, that the shifts bring to the places."""
        return len(self.places) + self.shifts[-1] - self.shifts[0]


@lru_cache(maxsize=4096)
def phases(axis: Axis) -> Phases:
    """Return the phases of an axis in which a tap meets data within the output."""
    met = [(*divmod(meeting.tap * axis.dilation, axis.stride), meeting) for meeting in meetings(axis)]
    by_residue: dict[int, list[tuple[int, int]]] = {}
    for shift, residue, meeting in met:
        by_residue.setdefault(residue, []).append((shift, meeting.tap))
    taps: dict[Ints, list[tuple[int, list[int]]]] = {}
    for residue, reached in by_residue.items():
        taps.setdefault(tuple(shift for shift, _ in reached), []).append((residue, [tap for _, tap in reached]))
    return Phases(
        axis,
        range(min(meeting.first for *_, meeting in met), max(meeting.last for *_, meeting in met)),
        range(min(m.first + shift for shift, _, m in met), max(m.last + shift for shift, _, m in met)),
        tuple(sorted({shift for shift, *_ in met})),
        taps,
    )


def products(geometry: Geometry, channels: int) -> Float64s:
    """Return the number of products that reach each output element, (Y...): the terms of its sum without the bias.

    Args:
        geometry: plain integers.
        channels: the input channels of one group, C/G.
    """
    return reduce(np.multiply.outer, map(along, axes(geometry)), np.full((), float(channels)))


def along(axis: Axis) -> Float64s:
    """Return the number of taps that meet data at each output element of an axis, (Y,)."""
    count = np.zeros(axis.output)
    for meeting in meetings(axis):
        count[outputs(meeting, axis)] += 1
    return count


def met(k: Ints, geometry: Geometry) -> Mask:
    """Return a mask of the output elements at which tap `k` meets an element of the data, (Y...)."""
    return products(tap_alone(k, geometry), 1) > 0

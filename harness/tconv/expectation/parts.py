"""The parts of an axis that tiles have: what is known of their places before any data is touched.

Output o = q*s + r - pads_begin of an axis has the residue r, 0 <= r < s, and the place q. A tap's shift is k*d // s: it
brings place q the element q - shift of the data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tconv.expectation.meetings import meetings
from tconv.expectation.phases import shift_of, shifts_of, taps_of

if TYPE_CHECKING:
    from tconv.expectation.meetings import Axis

Copy = tuple[slice, slice]
"""What is written, and from where."""


class Write(NamedTuple):
    """Where a residue's elements of the output lie in a region: `many` of them from `at` on, from place `first` on."""

    residue: int
    at: int
    first: int
    many: int


class Part(NamedTuple):
    """A part of one axis.

    Attributes:
        size: how many places.
        width: how many elements of the data, and zeros beyond its ends, all shifts together bring to them.
        read: where these get which elements of the data.
        clipped: whether some are beyond its ends.
        starts: for each shift, the first of those that it brings to the places.
        region: the elements of the output.
        writes: for each residue that a tap reaches, where its elements lie among these.
        whole: whether that is all of them.
    """

    size: int
    width: int
    read: Copy
    clipped: bool
    starts: list[int]
    region: slice
    writes: tuple[Write, ...]
    whole: bool


@lru_cache(maxsize=4096)
def places_of(axis: Axis) -> range:
    """Return the places q that some tap brings data to."""
    ends = [(m.first + shift_of(axis, m.tap), m.last + shift_of(axis, m.tap)) for m in meetings(axis)]
    return range(min(first for first, _ in ends), max(last for _, last in ends))


@lru_cache(maxsize=1024)
def parts_of(axis: Axis, length: int) -> list[Part]:
    """Return an axis in parts of `length` places. Their regions together are all of the output's axis.

    Args:
        axis: the axis.
        length: of a part.
    """
    places = places_of(axis)
    parts = [_part(axis, places[at : at + length]) for at in range(0, len(places), length)]
    parts[0] = _reaching(parts[0], 0, parts[0].region.stop)
    parts[-1] = _reaching(parts[-1], parts[-1].region.start, axis.output)
    return parts


def _part(axis: Axis, places: range) -> Part:
    shifts = shifts_of(axis)
    first, last = places.start - shifts[-1], places.stop - shifts[0]
    start = min(max(first, 0), axis.size)
    stop = max(min(last, axis.size), start)
    begin, end = (min(max(q * axis.stride - axis.begin, 0), axis.output) for q in (places.start, places.stop))
    writes = []
    for r in taps_of(axis):
        # The places with 0 <= q*s + r - begin < output.
        low = max(places.start, -((r - axis.begin) // axis.stride))
        high = min(places.stop, (axis.output - 1 + axis.begin - r) // axis.stride + 1)
        if low < high:
            writes.append(Write(r, low * axis.stride + r - axis.begin - begin, low - places.start, high - low))
    return Part(
        size=len(places),
        width=last - first,
        read=(slice(start - first, stop - first), slice(start, stop)),
        clipped=stop - start < last - first,
        starts=[places.start - shift - first for shift in shifts],
        region=slice(begin, end),
        writes=tuple(writes),
        whole=sum(write.many for write in writes) == end - begin,
    )


def _reaching(part: Part, start: int, stop: int) -> Part:
    """Return a part with more of the output, which no tap reaches."""
    more = part.region.start - start
    if not more and stop == part.region.stop:
        return part
    writes = tuple(write._replace(at=write.at + more) for write in part.writes)
    return part._replace(region=slice(start, stop), writes=writes, whole=False)

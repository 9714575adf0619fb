"""The parts of an axis that tiles have: what is known of their places before any data is touched.

Output o = q*s + r - pads_begin of an axis has the residue r, 0 <= r < s, and the place q. A tap's shift is k*d // s: it
brings place q the element q - shift of the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tconv.expectation.meetings import meetings

if TYPE_CHECKING:
    from tconv.expectation.meetings import Axis
    from tconv.vocabulary import Ints

Copy = tuple[slice, slice]
"""What is written, and from where."""


class Write(NamedTuple):
    """Where a residue's elements of the output lie in a region: `count` of them from `at` on, from place `first` on."""

    residue: int
    at: int
    first: int
    count: int


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


def shift_of(axis: Axis, tap: int) -> int:
    """Return by how many places a tap shifts the data."""
    return tap * axis.dilation // axis.stride


def places_of(axis: Axis) -> range:
    """Return the places q that some tap brings data to."""
    ends = [(m.first + shift_of(axis, m.tap), m.last + shift_of(axis, m.tap)) for m in meetings(axis)]
    return range(min(first for first, _ in ends), max(last for _, last in ends))


def parts_of(axis: Axis, shifts: Ints, places: range, length: int) -> list[Part]:
    """Return an axis in parts of `length` places. Their regions together are all of the output's axis.

    Args:
        axis: the axis.
        shifts: those of its taps, in rising order.
        places: all places that some tap brings data to.
        length: of a part.
    """
    parts = [_part(axis, shifts, places[at : at + length]) for at in range(0, len(places), length)]
    parts[0] = _reaching(parts[0], 0, parts[0].region.stop)
    parts[-1] = _reaching(parts[-1], parts[-1].region.start, axis.output)
    return parts


def _part(axis: Axis, shifts: Ints, places: range) -> Part:
    first, last = places.start - shifts[-1], places.stop - shifts[0]
    start = min(max(first, 0), axis.size)
    stop = max(min(last, axis.size), start)
    begin, end = (min(max(q * axis.stride - axis.begin, 0), axis.output) for q in (places.start, places.stop))
    writes = []
    for r in dict.fromkeys(m.tap * axis.dilation % axis.stride for m in meetings(axis)):
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
        whole=sum(write.count for write in writes) == end - begin,
    )


def _reaching(part: Part, start: int, stop: int) -> Part:
    """Return a part with more of the output, which no tap reaches."""
    more = part.region.start - start
    if not more and stop == part.region.stop:
        return part
    writes = tuple(write._replace(at=write.at + more) for write in part.writes)
    return part._replace(region=slice(start, stop), writes=writes, whole=False)

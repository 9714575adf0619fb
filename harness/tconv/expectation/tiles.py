"""The reference for large outputs, tile by tile: all but the operands and the output stays in the L2 cache.

An output element o = q*s + r - pads_begin has the phase r, 0 <= r < s, and the place q. Tap k reaches one phase alone,
r = k*d mod s, and brings it the element i = q - shift of the data, shift = k*d // s. So each phase is a small dense
convolution: no product with an inserted zero is computed, and once the data is laid out in columns, one for each shift
and channel, a matrix product does it. With many channels or large planes that takes a quarter to a half of the time of
`definition`; with few data to each group as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.expectation.meetings import axes, meetings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.meetings import Axis
    from tconv.vocabulary import Array, Float64s, Ints

_ROOM = 3 * 2**15
"""So many numbers, 768 KB, the columns of a tile and their product have together."""
_FEWEST = 16
"""A tile has at least so many places, if there are: a matrix product of fewer is slow."""

_Copy = tuple[slice, slice]
"""What is written, and from where."""
_ALL = (slice(None),)
_Scratch = dict[tuple[str, str, tuple[int, ...]], Any]
"""Arrays that are kept for all tiles, by name, type and shape."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of one axis that a tile has, with all that is known before its data is touched.

    Attributes:
        size: how many places.
        reads: for each shift, which of the places get which elements of the data.
        clipped: whether a place gets none under some shift.
        writes: for each residue, which elements of the output are at which places.
    """

    size: int
    reads: list[_Copy]
    clipped: bool
    writes: dict[int, _Copy]


class _Residue(NamedTuple):
    """A phase of one axis: r, and the taps that reach it with their shifts."""

    residue: int
    shifts: list[int]
    taps: list[int]


@dataclass(frozen=True, slots=True)
class _Phases:
    """Phases that need the same shifts of the data, so that one matrix product serves them all.

    Attributes:
        residues: r of each phase, on each axis.
        columns: those of the tile that they need.
        weights: for P phases of T taps, (G, P*O/G, T*C/G).
    """

    residues: list[Ints]
    columns: slice
    weights: Float64s


def tiled(x: Float64s, w: Float64s, geometry: Geometry, *, magnitude: bool) -> tuple[Float64s, Array | None]:
    """Return the transposed convolution without a bias, and on request sums of |x||w| in float32.

    These are of some channels, and made of the columns while they are in the cache.

    Args:
        x: data, (N, G, C/G, X...), not empty.
        w: filter, (G, C/G, O/G, K...), not empty.
        geometry: plain integers, such that on each axis a tap meets data within the output.
        magnitude: whether to compute the sums of |x||w|.

    Returns:
        (N, G, O/G, Y...), twice or with None.
    """
    along = list(axes(geometry))
    shifts = [tuple(sorted({_shift(axis, m.tap) for m in meetings(axis)})) for axis in along]
    phases = _phases(w, along, shifts)
    some = some_channels(x.shape[2])
    absolute = [_absolute(group.weights, x.shape[2], some) for group in phases if magnitude]
    y = np.zeros((*x.shape[:2], w.shape[2], *geometry.output))
    sums = np.zeros(y.shape, np.float32) if magnitude else None
    high = prod(map(len, shifts)) * x.shape[2] + max(group.weights.shape[1] for group in phases)
    places = [_places(axis) for axis in along]
    step = steps((*x.shape[:2], *map(len, places)), max(_ROOM // high, _FEWEST))
    parts = [
        [_part(axis, known, span[at : at + length]) for at in range(0, len(span), length)]
        for axis, known, span, length in zip(along, shifts, places, step[2:], strict=True)
    ]
    scratch: _Scratch = {}
    for sample in range(0, len(x), step[0]):
        for first in range(0, len(w), step[1]):
            batch, groups = slice(sample, sample + step[0]), slice(first, first + step[1])
            for tile in product(*parts):
                columns = _columns(x[batch, groups], tile, scratch)
                for group in phases:
                    _write(group.weights[groups], columns, group, y[batch, groups], tile, scratch)
                if sums is not None:
                    part = columns[:, :, :, :some]
                    positive = _kept(scratch, "positive", part.shape, np.float32)
                    np.copyto(positive, part, casting="same_kind")
                    np.abs(positive, out=positive)
                    for group, weights in zip(phases, absolute, strict=True):
                        _write(weights[groups], positive, group, sums[batch, groups], tile, scratch)
    return y, sums


def some_channels(channels: int) -> int:
    """Return of how many channels the sums of |x||w| are made.

    They are there to show that errors are small beside them. Errors of n terms are about sqrt(n) times smaller beside
    A than roundings of the worst kind, so that a part of the order of sqrt(C) shows it too, and costs that much less.
    """
    return min(channels, max(16, round(4 * sqrt(channels))))


def _absolute(weights: Float64s, channels: int, some: int) -> Array:
    """Return the absolute weights of the first channels in float32, (G, P*O/G, T*some)."""
    by_channel = weights.reshape(*weights.shape[:2], -1, channels)[..., :some]
    return np.abs(by_channel.astype(np.float32)).reshape(*weights.shape[:2], -1)


def steps(sizes: Sequence[int], room: int) -> list[int]:
    """Return a tile's size on each axis: at most `room` points, the last axes as whole as can be, in equal parts."""
    found: list[int] = []
    for size in reversed(sizes):
        parts = -(-size // max(room, 1))
        found.insert(0, -(-size // parts))
        room //= found[0]
    return found


def _shift(axis: Axis, tap: int) -> int:
    return tap * axis.dilation // axis.stride


def _places(axis: Axis) -> range:
    """Return the places q that some tap brings data to."""
    ends = [(m.first + _shift(axis, m.tap), m.last + _shift(axis, m.tap)) for m in meetings(axis)]
    return range(min(first for first, _ in ends), max(last for _, last in ends))


def _part(axis: Axis, shifts: Ints, places: range) -> _Part:
    reads, writes = [], {}
    for shift in shifts:
        first = min(max(places.start - shift, 0), axis.size)
        last = max(min(places.stop - shift, axis.size), first)
        reads.append((slice(first + shift - places.start, last + shift - places.start), slice(first, last)))
    for r in dict.fromkeys(m.tap * axis.dilation % axis.stride for m in meetings(axis)):
        # The places with 0 <= q*s + r - begin < output.
        first = max(places.start, -((r - axis.begin) // axis.stride))
        last = max(min(places.stop, (axis.output - 1 + axis.begin - r) // axis.stride + 1), first)
        at = first * axis.stride + r - axis.begin
        end = at + (last - first - 1) * axis.stride + 1 if last > first else at
        writes[r] = slice(at, end, axis.stride), slice(first - places.start, last - places.start)
    clipped = any(target.stop - target.start < len(places) for target, _ in reads)
    return _Part(len(places), reads, clipped, writes)


def _residues(axis: Axis) -> list[_Residue]:
    """Return each phase of an axis that a tap reaches, with the taps that reach it."""
    found: dict[int, list[int]] = {}
    for meeting in meetings(axis):
        found.setdefault(meeting.tap * axis.dilation % axis.stride, []).append(meeting.tap)
    return [_Residue(r, [_shift(axis, tap) for tap in taps], taps) for r, taps in found.items()]


def _phases(w: Float64s, along: list[Axis], shifts: list[Ints]) -> list[_Phases]:
    """Return the phases that a tap reaches, those with the same shifts together.

    Where the stride divides the kernel all phases have the same: for k4 s2 in the plane a quarter of the copies, and a
    matrix product four times as high. Where a phase needs shifts that do not follow each other, those between have
    weights of zero: for k3 s2 in the plane 10 products for 9, and in return no column is copied once more.
    """
    columns = np.arange(prod(map(len, shifts))).reshape([len(known) for known in shifts])
    flat = w.reshape(*w.shape[:3], -1)
    numbers = np.arange(flat.shape[3]).reshape(w.shape[3:])
    members: dict[Ints, list[tuple[Ints, Array]]] = {}
    for phase in product(*map(_residues, along)):
        reached = [np.searchsorted(known, part.shifts) for known, part in zip(shifts, phase, strict=True)]
        needed = tuple(columns[np.ix_(*reached)].ravel().tolist())
        taps = flat[..., numbers[np.ix_(*(part.taps for part in phase))].ravel()]
        members.setdefault(needed, []).append((tuple(part.residue for part in phase), taps))
    phases = []
    for needed, group in members.items():
        span = needed[-1] + 1 - needed[0]
        weights = np.zeros((len(w), len(group), w.shape[2], span, w.shape[1]))  # its axes: group, phase, O, shift, C
        for number, (_, taps) in enumerate(group):
            weights[:, number, :, np.subtract(needed, needed[0])] = taps.transpose(3, 0, 2, 1)
        rows = weights.reshape(len(w), len(group) * w.shape[2], -1)
        phases.append(_Phases([residue for residue, _ in group], slice(needed[0], needed[-1] + 1), rows))
    return phases


def _columns(data: Float64s, tile: Sequence[_Part], scratch: _Scratch) -> Float64s:
    """Return the data that each shift brings to the places of a tile, (N, G, T, C/G, Q...), zeros beyond its ends."""
    numbers = prod(len(part.reads) for part in tile)
    shape = (*data.shape[:2], numbers, data.shape[2], *(part.size for part in tile))
    columns = _kept(scratch, "columns", shape, np.float64)
    if any(part.clipped for part in tile):
        columns.fill(0)
    for number, copies in enumerate(product(*(part.reads for part in tile))):
        target, source = _ALL * 3 + tuple(to for to, _ in copies), _ALL * 3 + tuple(of for _, of in copies)
        columns[:, :, number][target] = data[source]
    return columns


def _write(weights: Array, columns: Array, phases: _Phases, y: Array, tile: Sequence[_Part], scratch: _Scratch) -> None:
    """Write the phases of a tile, each element of the output once.

    Args:
        weights: those of the phases, or their absolute values, for the groups of the tile.
        columns: the tile's, (N, G, T, C/G, Q...), of the same type.
        phases: what the weights are for.
        y: the output, (N, G, O/G, Y...).
        tile: the parts of the axes.
        scratch: arrays that are kept from tile to tile.
    """
    chosen = columns[:, :, phases.columns]
    batch, groups, places = columns.shape[0], columns.shape[1], columns.shape[4:]
    result = _kept(scratch, "product", (batch, groups, weights.shape[1], prod(places)), y.dtype)
    np.matmul(weights, chosen.reshape(batch, groups, weights.shape[2], -1), out=result)
    by_phase = result.reshape(batch, groups, len(phases.residues), -1, *places)
    for number, residues in enumerate(phases.residues):
        copies = [part.writes[r] for part, r in zip(tile, residues, strict=True)]
        target, source = _ALL * 3 + tuple(to for to, _ in copies), _ALL * 3 + tuple(of for _, of in copies)
        y[target] = by_phase[:, :, number][source]


def _kept(kept: _Scratch, name: str, shape: Ints, dtype: np.dtype[Any] | type) -> Array:
    """Return an array that is kept for all tiles of its shape: fresh memory costs as much as a tile's columns."""
    key = name, np.dtype(dtype).char, shape
    if key not in kept:
        kept[key] = np.empty(shape, dtype)
    array: Array = kept[key]
    return array

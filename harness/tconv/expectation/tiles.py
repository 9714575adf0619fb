"""The reference for large outputs, tile by tile: all but the operands and the output stays in the L2 cache.

An output element o = q*s + r - pads_begin has the phase r, 0 <= r < s, and the place q. Tap k reaches one phase alone,
r = k*d mod s, and brings it the element i = q - shift of the data, shift = k*d // s. So each phase is a small dense
convolution: no product with an inserted zero is computed, and once the data is laid out in columns, one for each shift
and channel, a matrix product does it.
"""

from __future__ import annotations

from itertools import product
from math import prod, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.expectation.meetings import axes
from tconv.expectation.memory import kept
from tconv.expectation.parts import parts_of, places_of
from tconv.expectation.phases import phases_of, shifts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.meetings import Axis
    from tconv.expectation.parts import Part
    from tconv.expectation.phases import Phases
    from tconv.vocabulary import Array, Float64s, Ints

    Region = tuple[slice, ...]
    Seen = Callable[[Region, Float64s, Array], None]

_ROOM = 2**17
"""So many numbers, 1 MB, the columns of a tile and their product have together."""
_FEWEST = 16
"""A tile has at least so many places, if there are: a matrix product of fewer is slow."""
_SMALL = 10**6
"""Up to so many multiplications OpenBLAS takes the operands of a matrix product as they lie, and copies nothing."""
_LOW = 48
"""With fewer rows than this a matrix product takes as long to copy its operands as to multiply them."""
_UNUSED = 1.25
"""Up to so many times the places are laid out to be copied at once."""
_SOME = 12
"""Sums of |x||w| of at least so many channels, if there are."""
_SHORT = 64
"""A matrix product of fewer columns is slow in any case."""
_ALL = (slice(None),)


class _Weighted(NamedTuple):
    """Phases of one matrix product, with their weights.

    Attributes:
        residues: r of each phase, on each axis.
        columns: those of the tile that they need.
        weights: for P phases of T taps, (G, P*O/G, T*C/G).
    """

    residues: tuple[Ints, ...]
    columns: slice
    weights: Array


class _Product(NamedTuple):
    """A matrix product of a tile.

    Attributes:
        weights: those of some phases, (G, P*O/G, T*C/G).
        factors: the columns, (N, G, T*C/G, Q), in pieces, and where the product with each is written.
        writes: the elements of the output, and where they lie in the product.
    """

    weights: Array
    factors: list[tuple[Array, Array]]
    writes: list[tuple[tuple[slice, ...], Array]]


class _Sheet(NamedTuple):
    """What a tile is computed with: views of memory, made once for all tiles of its sizes.

    Attributes:
        data: what all shifts together bring to it, (N, G, C/G, X...).
        columns: what each shift brings, (N, G, C/G, Q...), and where it lies in the former.
        products: all matrix products.
        whole: whether they give each element of the output.
    """

    data: Array
    columns: list[tuple[Array, Array]]
    products: list[_Product]
    whole: bool


class _Sheets:
    """The sheets of all sizes of tiles, in the same memory.

    Args:
        phases: all phases.
        channels: of a group.
        along: the axes.
        dtype: of all numbers.
    """

    def __init__(self, phases: list[_Weighted], channels: int, along: tuple[Axis, ...], dtype: type) -> None:
        self._phases, self._channels, self._along, self._dtype = phases, channels, along, dtype
        self._made: dict[object, _Sheet] = {}

    def array(self, name: str, shape: Ints) -> Array:
        """Return an array of this shape, whose numbers are any."""
        return kept(name, shape, self._dtype)

    def sheet(self, many: Ints, tile: Sequence[Part]) -> _Sheet:
        """Return the sheet for a tile of so many samples and groups."""
        key = many, *((part.size, part.writes, part.whole) for part in tile)
        if key not in self._made:
            self._made[key] = self._new(many, tile)
        return self._made[key]

    def _new(self, many: Ints, tile: Sequence[Part]) -> _Sheet:
        data = self.array("data", (*many, self._channels, *(part.width for part in tile)))
        windows, places = _windows(data, tile)
        # What a single shift brings is used where it lies.
        few = len(windows) == 1
        columns = data[:, :, None] if few else self.array("columns", (*many, len(windows), *windows[0].shape[2:]))
        copies = [] if few else [(columns[:, :, number], window) for number, window in enumerate(windows)]
        products = []
        for residues, needed, weights in self._phases:
            terms = columns[:, :, needed].reshape(*many, weights.shape[2], -1)
            result = self.array("product", (*many, weights.shape[1], prod(places)))
            by_phase = result.reshape(*many, len(residues), -1, *places)
            writes = [
                write for number, r in enumerate(residues) for write in self._writes(by_phase[:, :, number], r, tile)
            ]
            products.append(_Product(weights, _pieces(terms, result[..., : terms.shape[3]]), writes))
        return _Sheet(data, copies, products, all(part.whole for part in tile))

    def _writes(self, phase: Array, residues: Ints, tile: Sequence[Part]) -> Iterator[tuple[tuple[slice, ...], Array]]:
        """Yield where a phase's elements lie in the output and in its product, (N, G, O/G, Q...), if there are any."""
        target: tuple[slice, ...] = _ALL * 3
        source: tuple[slice, ...] = _ALL * 3
        for axis, part, r in zip(self._along, tile, residues, strict=True):
            found = [write for write in part.writes if write.residue == r]
            if not found:
                return
            _, at, first, many = found[0]
            target += (slice(at, at + (many - 1) * axis.stride + 1, axis.stride),)
            source += (slice(first, first + many),)
        yield target, phase[source]


def tiled(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry, seen: Seen | None = None) -> Float64s:
    """Return the transposed convolution.

    Args:
        x: data, (N, G, C/G, X...), not empty.
        w: filter, (G, C/G, O/G, K...), not empty.
        b: bias, (G, O/G, 1...), or None.
        geometry: plain integers, such that on each axis a tap meets data within the output.
        seen: called for each part of the output while it is in the cache: where it lies, its values, and the sums of
            |x||w| + |b| of some channels in float32, both to be left as soon as it returns. The parts together are
            the output.

    Returns:
        (N, G, O/G, Y...).
    """
    along = tuple(axes(geometry))
    phases = [_weighted(w, group) for group in phases_of(along)]
    y = np.empty((*x.shape[:2], w.shape[2], *geometry.output))
    high = prod(map(len, map(shifts_of, along))) * x.shape[2] + max(group.weights.shape[1] for group in phases)
    step = steps((*x.shape[:2], *(len(places_of(axis)) for axis in along)), max(_ROOM // high, _FEWEST))
    parts = [parts_of(*each) for each in zip(along, step[2:], strict=True)]
    values = _Sheets(phases, x.shape[2], along, np.float64)
    if seen:
        some = some_channels(x.shape[2], geometry)
        magnitudes = _Sheets([_absolute(group, x.shape[2], some) for group in phases], some, along, np.float32)
        absolute_bias = None if b is None else np.abs(b).astype(np.float32)
    for sample, first in product(range(0, len(x), step[0]), range(0, len(w), step[1])):
        batch, groups = slice(sample, sample + step[0]), slice(first, first + step[1])
        data = x[batch, groups]
        for tile in product(*parts):
            region = batch, groups, slice(None), *(part.region for part in tile)
            sheet, made = values.sheet(data.shape[:2], tile), y[region]
            _read(data, tile, sheet.data)
            _sum(sheet, groups, made, b)
            if seen:
                absolute = magnitudes.sheet(data.shape[:2], tile)
                np.copyto(absolute.data, sheet.data[:, :, :some], casting="same_kind")
                np.abs(absolute.data, out=absolute.data)
                sums = magnitudes.array("sums", made.shape)
                _sum(absolute, groups, sums, absolute_bias)
                seen(region, made, sums)
    return y


def some_channels(channels: int, geometry: Geometry) -> int:
    """Return of how many channels of a group the sums of |x||w| are made.

    They are there to show that errors are small beside them. Errors of n terms are about sqrt(n) times smaller beside
    A than roundings of the worst kind, so that a part of the order of sqrt(n) shows it too, and costs that much less.
    n is that of the phases with the fewest taps.
    """
    taps = prod(max(k // s, 1) for s, k in zip(geometry.strides, geometry.kernel, strict=True))
    return min(channels, max(_SOME, round(3.5 * sqrt(channels / taps))))


def _absolute(phases: _Weighted, channels: int, some: int) -> _Weighted:
    """Return phases with the absolute weights of the first channels in float32, (G, P*O/G, T*some)."""
    weights = phases.weights
    by_channel = weights.reshape(*weights.shape[:2], -1, channels)[..., :some].astype(np.float32)
    return phases._replace(weights=np.abs(by_channel).reshape(*weights.shape[:2], -1))


def steps(sizes: Sequence[int], room: int) -> list[int]:
    """Return a tile's size on each axis: at most `room` points, the last axes as whole as can be, in equal parts."""
    found: list[int] = []
    for size in reversed(sizes):
        parts = -(-size // max(room, 1))
        found.insert(0, -(-size // parts))
        room //= found[0]
    return found


def _weighted(w: Float64s, group: Phases) -> _Weighted:
    """Return phases with their weights, zeros where a phase does not need a column that another one does."""
    by_tap = w.reshape(*w.shape[:3], -1).transpose(0, 2, 3, 1)
    first, last = group.columns[0], group.columns[-1] + 1
    weights = np.zeros((len(w), len(group.taps), w.shape[2], last - first, w.shape[1]))
    at = [column - first for column in group.columns]
    for number, taps in enumerate(group.taps):
        weights[:, number][:, :, at] = by_tap[:, :, taps]
    return _Weighted(group.residues, slice(first, last), weights.reshape(len(w), len(group.taps) * w.shape[2], -1))


def _windows(data: Array, tile: Sequence[Part]) -> tuple[list[Array], list[int]]:
    """Return what each shift brings of a tile's data, (N, G, C/G, Q...) or (N, G, C/G, Q), and the places' axes.

    Where the places are laid out as the data is, with a few more at the end of each line that are not used, a shift is
    one constant offset, and what it brings lies together: for 64x28x28, k3 d2, that is copied in half the time. Where
    these would be too many it is taken line by line.
    """
    sizes, shifts = [part.size for part in tile], list(product(*(part.starts for part in tile)))
    lines = [*sizes[:1], *(part.width for part in tile[1:])]
    if prod(lines) > _UNUSED * prod(sizes):
        windows = ([slice(start, start + size) for start, size in zip(of, sizes, strict=True)] for of in shifts)
        return [data[_ALL * 3 + tuple(window)] for window in windows], sizes
    flat = data.reshape(*data.shape[:3], -1)
    steps_of = [prod(data.shape[4 + axis :]) for axis in range(len(sizes))]
    length = sum((size - 1) * step for size, step in zip(sizes, steps_of, strict=True)) + 1
    offsets = (sum(start * step for start, step in zip(of, steps_of, strict=True)) for of in shifts)
    return [flat[..., offset : offset + length] for offset in offsets], lines


def _read(data: Float64s, tile: Sequence[Part], into: Float64s) -> None:
    """Read the data that all shifts together bring to a tile, (N, G, C/G, X...), with zeros beyond its ends."""
    if any(part.clipped for part in tile):
        into.fill(0)
    into[_ALL * 3 + tuple(part.read[0] for part in tile)] = data[_ALL * 3 + tuple(part.read[1] for part in tile)]


def _sum(sheet: _Sheet, groups: slice, y: Array, b: Array | None) -> None:
    """Compute the elements of a tile, and write each once.

    Args:
        sheet: what the tile is computed with, its data read.
        groups: those of the tile.
        y: the elements, (N, G, O/G, Y...).
        b: bias, (G, O/G, 1...), or None.
    """
    for column, data in sheet.columns:
        np.copyto(column, data)
    if not sheet.whole:
        y.fill(0)
    for weights, factors, writes in sheet.products:
        for columns, result in factors:
            np.matmul(weights[groups], columns, out=result)
        for target, source in writes:
            y[target] = source
    if b is not None:
        y += b[groups]


def _pieces(columns: Array, result: Array) -> list[tuple[Array, Array]]:
    """Return the columns of a matrix product in pieces: with 20 rows of 80 that is 1.35 times as fast as in one."""
    rows, (terms, places) = result.shape[2], columns.shape[2:]
    most = _SMALL // (rows * terms)
    if rows >= _LOW or not _SHORT <= most < places:
        return [(columns, result)]
    size = -(-places // -(-places // most))
    cuts = [slice(at, at + size) for at in range(0, places, size)]
    return [(columns[..., cut], result[..., cut]) for cut in cuts]

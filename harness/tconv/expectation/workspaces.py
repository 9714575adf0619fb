"""What tiles are computed with: views of memory, made once for all tiles of the same sizes.

The data that a tile needs is laid out in columns, one for each shift and channel, and a matrix product of the weights
with these gives the elements of a phase.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from tconv.expectation.memory import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.expectation.meetings import Axis
    from tconv.expectation.parts import Part
    from tconv.vocabulary import Array, Ints

_SMALL = 10**6
"""Up to so many multiplications OpenBLAS takes the operands of a matrix product as they lie, and copies nothing."""
_LOW = 48
"""With fewer rows than this a matrix product takes as long to copy its operands as to multiply them."""
_UNUSED = 1.25
"""Up to so many times the places are laid out to be copied at once."""
_SHORT = 64
"""A matrix product of fewer columns is slow in any case."""
_ALL = (slice(None),)


class Weighted(NamedTuple):
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


class Workspace(NamedTuple):
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


class Workspaces:
    """The workspaces of all sizes of tiles, in the same memory.

    Args:
        phases: all phases.
        order: that of the columns.
        channels: of a group.
        along: the axes.
        dtype: of all numbers.
    """

    def __init__(
        self, phases: list[Weighted], order: list[int], channels: int, along: tuple[Axis, ...], dtype: type
    ) -> None:
        self._phases, self._order, self._channels, self._along, self._dtype = phases, order, channels, along, dtype
        self._made: dict[object, Workspace] = {}

    def array(self, name: str, shape: Ints) -> Array:
        """Return an array of this shape, whose numbers are any."""
        return scratch(name, shape, self._dtype)

    def workspace(self, many: Ints, tile: Sequence[Part]) -> Workspace:
        """Return the workspace for a tile of so many samples and groups."""
        key = many, *((part.size, part.writes, part.whole) for part in tile)
        if key not in self._made:
            self._made[key] = self._new(many, tile)
        return self._made[key]

    def _new(self, many: Ints, tile: Sequence[Part]) -> Workspace:
        data = self.array("data", (*many, self._channels, *(part.width for part in tile)))
        windows, places = _windows(data, tile)
        # What a single shift brings is used where it lies.
        few = len(windows) == 1
        columns = data[:, :, None] if few else self.array("columns", (*many, len(windows), *windows[0].shape[2:]))
        copies = [] if few else [(columns[:, :, place], windows[number]) for place, number in enumerate(self._order)]
        products = []
        for residues, needed, weights in self._phases:
            terms = columns[:, :, needed].reshape(*many, weights.shape[2], -1)
            result = self.array("product", (*many, weights.shape[1], prod(places)))
            by_phase = result.reshape(*many, len(residues), -1, *places)
            writes = [
                write for number, r in enumerate(residues) for write in self._writes(by_phase[:, :, number], r, tile)
            ]
            products.append(_Product(weights, _pieces(terms, result[..., : terms.shape[3]]), writes))
        return Workspace(data, copies, products, all(part.whole for part in tile))

    def _writes(self, phase: Array, residues: Ints, tile: Sequence[Part]) -> Iterator[tuple[tuple[slice, ...], Array]]:
        """Yield where a phase's elements lie in the output and in its product, (N, G, O/G, Q...), if there are any."""
        target: tuple[slice, ...] = _ALL * 3
        source: tuple[slice, ...] = _ALL * 3
        for axis, part, r in zip(self._along, tile, residues, strict=True):
            writes = [write for write in part.writes if write.residue == r]
            if not writes:
                return
            _, at, first, many = writes[0]
            target += (slice(at, at + (many - 1) * axis.stride + 1, axis.stride),)
            source += (slice(first, first + many),)
        yield target, phase[source]


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


def _pieces(columns: Array, result: Array) -> list[tuple[Array, Array]]:
    """Return the columns of a matrix product in pieces: with 20 rows of 80 that is 1.35 times as fast as in one."""
    rows, (terms, places) = result.shape[2], columns.shape[2:]
    most = _SMALL // (rows * terms)
    if rows >= _LOW or not _SHORT <= most < places:
        return [(columns, result)]
    size = -(-places // -(-places // most))
    cuts = [slice(at, at + size) for at in range(0, places, size)]
    return [(columns[..., cut], result[..., cut]) for cut in cuts]

"""The reference in daily use: the sums of `reference.definition`, computed faster, and the sums of absolute products.

On integers it equals `definition` bit for bit; on real numbers both are within float64's own bound of the exact sum.

Products of filter and data that are few, or of a large filter, are computed all at once. A table then says which of
them each output element adds. All other sums are computed phase by phase, see `meetings.Phases`: each phase is a small
dense convolution. No product with an inserted zero is computed.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.expectation.meetings import NONE, axes, meetings, phases, sources
from tconv.expectation.reference import definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.meetings import Phases
    from tconv.vocabulary import Array, Float64s, Ints

_FEW = 2**15
"""If all sums together have at most so many terms, a table of products is used: preparing phases would take longer."""
_MANY = 2**20
"""The same limit if the filter is more than twice as large as the data: the table uses the filter as it is stored."""
_PADDED = 8.0
"""The data with zeros may be at most so many times as large as data and output: a dilation may need far more zeros."""
_ROOM = 2**17
"""The most numbers, 1 MB, in the columns of a block and their product together: they stay in the L2 cache."""
_OVERFLOWS = 2.0**1000
"""If all terms together are below this number, no partial sum overflows in any order."""


class _Product(NamedTuple):
    """The product for some phases: their residues, their weights (G, P*O/G, T*C/G), and the offsets of T shifts."""

    residues: list[Ints]
    weights: Float64s
    offsets: list[int]


def sums(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry) -> Float64s:
    """Return the transposed convolution, (N, O, Y...), of x (N, C, X...), w (C, O/G, K...) and perhaps b (O,)."""
    y = np.zeros((x.shape[0], w.shape[1] * geometry.groups, *geometry.output))
    # Each sum has each number of data and filter at most once, so the inequality of Cauchy and Schwarz holds.
    if not norm(x) * norm(w) + norm(b) < _OVERFLOWS:
        # Below, absent data are zeros: multiplied by NaN or infinity they would give NaN.
        return definition(x, w, b, geometry)
    if x.size and w.size and y.size and all(map(meetings, axes(geometry))):
        data = x.reshape(x.shape[0], geometry.groups, -1, *geometry.spatial)
        taps = w.reshape(geometry.groups, -1, *w.shape[1:])
        _fill(data, taps, y.reshape(*data.shape[:2], -1, *geometry.output), geometry)
    if b is not None:
        y += b.reshape(-1, *(1,) * len(geometry.output))
    return y


def magnitudes(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry) -> Float64s:
    """Return A, the sums of |x||w| + |b|, (N, O, Y...)."""
    return sums(np.abs(x), np.abs(w), None if b is None else np.abs(b), geometry)


def norm(array: Array | None) -> float:
    """Return the root of the sum of squares, or slightly more; 0 without an array, NaN if it has a NaN."""
    if array is None:
        return 0.0
    # The factor covers roundings, and the last term covers squares that underflow.
    return (1 + 2.0**-10) * sqrt(float(np.vdot(array, array)) + array.size * 2.0**-1073)


def _fill(x: Float64s, w: Float64s, y: Float64s, geometry: Geometry) -> None:
    """Write the sums to y, (N, G, O/G, Y...); x is (N, G, C/G, X...), w (G, C/G, O/G, K...), here and below."""
    terms = y.size * prod(geometry.kernel)
    if terms > (_MANY if w.size > 2 * x.size else _FEW) and geometry.spatial:
        lines = list(map(phases, axes(geometry)))
        padded = prod(x.shape[1:3]) * prod(line.width for line in lines)
        if padded <= _PADDED * (x[0].size + y[0].size):
            _fill_by_phase(x, w, y, lines)
            return
    points, taps = prod(geometry.spatial), prod(geometry.kernel)
    data = np.concatenate((x.reshape(*x.shape[:3], points), np.zeros((*x.shape[:3], 1))), axis=3)
    made = (data.swapaxes(2, 3) @ w.reshape(*w.shape[:2], -1)).reshape(*x.shape[:2], points + 1, w.shape[2], taps)
    by_channel = made.transpose(0, 1, 3, 4, 2).reshape(*y.shape[:3], -1)
    by_channel.take(_table(geometry), axis=3).sum(axis=3, out=y.reshape(*y.shape[:3], -1))


@lru_cache(maxsize=64)
def _table(geometry: Geometry) -> Array:
    """Return the products of data and taps that reach each element, (K, Y), as indices; a zero follows the data."""
    table = np.zeros((1, 1), dtype=np.intp)
    for axis in axes(geometry):
        before, here = table[:, None, :, None], sources(axis)[:, None, :]
        both = np.where((before == NONE) | (here == NONE), NONE, before * axis.size + here)
        table = both.reshape(len(table) * axis.kernel, -1)
    points = prod(geometry.spatial)
    return np.where(table == NONE, points, table) + np.arange(len(table))[:, None] * (points + 1)


def _fill_by_phase(x: Float64s, w: Float64s, y: Float64s, lines: Sequence[Phases]) -> None:
    """Write the sums in blocks of groups and of places of the first axis: these blocks fit into the cache.

    The data is stored with zeros beyond its ends, so that a shift is one constant offset. The elements for the places
    of a block are adjacent, with a few unused ones at the end of each line.
    """
    widths, inner, length = [line.width for line in lines], prod(line.width for line in lines[1:]), len(lines[0].places)
    products = [_product(w, combined, lines) for combined in product(*(line.taps.items() for line in lines))]
    height = max(len(made.offsets) * w.shape[1] + made.weights.shape[1] for made in products)
    many = min(max(_ROOM // (height * inner * length), 1), len(w))
    rows = min(max(_ROOM // (height * inner * many), 1), length)
    flat = np.zeros((many, w.shape[1], (widths[0] + 1) * inner))
    padded = flat[..., : prod(widths)].reshape(*flat.shape[:2], *widths)
    target = tuple(slice(line.points.start - line.start, line.points.stop - line.start) for line in lines)
    source = tuple(slice(line.points.start, line.points.stop) for line in lines)
    every = slice(None), slice(None)
    for sample, first in product(range(len(x)), range(0, len(w), many)):
        groups = slice(first, first + many)
        data, out = x[sample, groups][every + source], y[sample, groups]
        padded[: len(data)][every + target] = data
        for top in range(0, length, rows):
            block = [lines[0].places[top : top + rows], *(line.places for line in lines[1:])]
            begin, end = top * inner, (top + len(block[0])) * inner
            for residues, weights, offsets in products:
                columns = [flat[: len(data), :, begin + offset : end + offset] for offset in offsets]
                made = weights[groups] @ (columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1))
                by_phase = made.reshape(len(data), len(residues), -1, len(block[0]), *widths[1:])
                for number, phase in enumerate(residues):
                    _write(by_phase[:, number], out, phase, lines, block)


def _product(
    w: Float64s, combined: Sequence[tuple[Ints, list[tuple[int, list[int]]]]], lines: Sequence[Phases]
) -> _Product:
    """Return the product for the phases with these shifts of each axis."""
    of_axes = list(product(*(of_axis for _, of_axis in combined)))
    weights = np.stack([_of_taps(w, phase) for phase in of_axes], axis=1)
    weights = np.moveaxis(weights.reshape(*weights.shape[:4], -1), 2, -1).reshape(len(w), len(of_axes) * w.shape[2], -1)
    offsets = [0]
    for line, (shifts, _) in zip(lines, combined, strict=True):
        offsets = [offset * line.width + line.shifts[-1] - shift for offset in offsets for shift in shifts]
    return _Product([tuple(residue for residue, _ in phase) for phase in of_axes], weights, offsets)


def _of_taps(w: Float64s, phase: Sequence[tuple[int, list[int]]]) -> Float64s:
    for axis, (_, taps) in enumerate(phase, start=3):
        w = w.take(taps, axis=axis)
    return w


def _write(made: Float64s, y: Float64s, residues: Ints, lines: Sequence[Phases], block: Sequence[range]) -> None:
    """Write the results of a block for a phase, (G, O/G, Q...), to the output, (G, O/G, Y...)."""
    source, target = [], []
    for residue, (axis, *_), places in zip(residues, lines, block, strict=True):
        # The places with 0 <= q*s + residue - begin < output.
        first = max(places.start, -((residue - axis.begin) // axis.stride))
        last = min(places.stop, (axis.output - 1 + axis.begin - residue) // axis.stride + 1)
        if first >= last:
            return
        at = first * axis.stride + residue - axis.begin
        target.append(slice(at, at + (last - first - 1) * axis.stride + 1, axis.stride))
        source.append(slice(first - places.start, last - places.start))
    y[:, :, *target] = made[:, :, *source]

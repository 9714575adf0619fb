"""The reference for large outputs, tile by tile: all but the operands and the output stays in the L2 cache.

An output element o = q*s + r - pads_begin has the phase r, 0 <= r < s, and the place q. Tap k reaches one phase alone,
r = k*d mod s, and brings it the element i = q - shift of the data, shift = k*d // s. So each phase is a small dense
convolution: no product with an inserted zero is computed, and once the data is laid out in columns, one for each shift
and channel, a matrix product does it.
"""

from __future__ import annotations

from itertools import product
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tconv.expectation.meetings import axes
from tconv.expectation.parts import parts_of, places_of
from tconv.expectation.phases import layout_of, shifts_of
from tconv.expectation.workspaces import Weighted, Workspaces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.parts import Part
    from tconv.expectation.phases import Phases
    from tconv.expectation.workspaces import Workspace
    from tconv.vocabulary import Array, Float64s

    Region = tuple[slice, ...]
    Seen = Callable[[Region, Float64s, Array], None]

_ROOM = 2**17
"""So many numbers, 1 MB, the columns of a tile and their product have together."""
_FEWEST = 16
"""A tile has at least so many places, if there are: a matrix product of fewer is slow."""
_SOME = 12
"""Sums of |x||w| of at least so many channels, if there are."""
_PART = 3.5
"""Of so many times the root of the channels for each tap, where that is more."""
_ALL = (slice(None),)


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
    layout = layout_of(along)
    phases = [_weighted(w, group) for group in layout.phases]
    y = np.empty((*x.shape[:2], w.shape[2], *geometry.output))
    high = prod(map(len, map(shifts_of, along))) * x.shape[2] + max(group.weights.shape[1] for group in phases)
    step = steps((*x.shape[:2], *(len(places_of(axis)) for axis in along)), max(_ROOM // high, _FEWEST))
    parts = [parts_of(*axis) for axis in zip(along, step[2:], strict=True)]
    values = Workspaces(phases, layout.order, x.shape[2], along, np.float64)
    if seen:
        some = some_channels(x.shape[2], geometry)
        absolute_phases = [_absolute(group, x.shape[2], some) for group in phases]
        magnitudes = Workspaces(absolute_phases, layout.order, some, along, np.float32)
        absolute_bias = None if b is None else np.abs(b).astype(np.float32)
    for sample, first in product(range(0, len(x), step[0]), range(0, len(w), step[1])):
        batch, groups = slice(sample, sample + step[0]), slice(first, first + step[1])
        data = x[batch, groups]
        for tile in product(*parts):
            region = batch, groups, slice(None), *(part.region for part in tile)
            workspace, made = values.workspace(data.shape[:2], tile), y[region]
            _read(data, tile, workspace.data)
            _sum(workspace, groups, made, b)
            if seen:
                absolute = magnitudes.workspace(data.shape[:2], tile)
                np.copyto(absolute.data, workspace.data[:, :, :some], casting="same_kind")
                np.abs(absolute.data, out=absolute.data)
                sums = magnitudes.array("sums", made.shape)
                _sum(absolute, groups, sums, absolute_bias)
                seen(region, made, sums)
    return y


def some_channels(channels: int, geometry: Geometry) -> int:
    """Return of how many channels of a group the sums of |x||w| are made.

    They are there to show that errors are small beside them. Errors of n terms are about sqrt(n) times smaller beside
    A than roundings of the worst kind, so that a part of the order of sqrt(n) shows it too, and costs that much less.
    n is that of the average phase: the squares of all errors are added up.
    """
    taps = prod(max(k / s, 1.0) for s, k in zip(geometry.strides, geometry.kernel, strict=True))
    return min(channels, max(_SOME, round(_PART * sqrt(channels / taps))))


def _absolute(phases: Weighted, channels: int, some: int) -> Weighted:
    """Return phases with the absolute weights of the first channels in float32, (G, P*O/G, T*some)."""
    weights = phases.weights
    by_channel = weights.reshape(*weights.shape[:2], -1, channels)[..., :some].astype(np.float32)
    return phases._replace(weights=np.abs(by_channel).reshape(*weights.shape[:2], -1))


def steps(sizes: Sequence[int], room: int) -> list[int]:
    """Return a tile's size on each axis: at most `room` points, the last axes as whole as can be, in equal parts."""
    steps_found: list[int] = []
    for size in reversed(sizes):
        parts = -(-size // max(room, 1))
        steps_found.insert(0, -(-size // parts))
        room //= steps_found[0]
    return steps_found


def _weighted(w: Float64s, group: Phases) -> Weighted:
    """Return phases with their weights, zeros where a phase does not need a column that another one does."""
    by_tap = w.reshape(*w.shape[:3], -1).transpose(0, 2, 3, 1)
    first, last = min(group.columns), max(group.columns) + 1
    weights = np.zeros((len(w), len(group.taps), w.shape[2], last - first, w.shape[1]))
    at = [column - first for column in group.columns]
    for number, taps in enumerate(group.taps):
        weights[:, number][:, :, at] = by_tap[:, :, taps]
    return Weighted(group.residues, slice(first, last), weights.reshape(len(w), len(group.taps) * w.shape[2], -1))


def _read(data: Float64s, tile: Sequence[Part], into: Float64s) -> None:
    """Read the data that all shifts together bring to a tile, (N, G, C/G, X...), with zeros beyond its ends."""
    if any(part.clipped for part in tile):
        into.fill(0)
    into[_ALL * 3 + tuple(part.read[0] for part in tile)] = data[_ALL * 3 + tuple(part.read[1] for part in tile)]


def _sum(workspace: Workspace, groups: slice, y: Array, b: Array | None) -> None:
    """Compute the elements of a tile, and write each once.

    Args:
        workspace: what the tile is computed with, its data read.
        groups: those of the tile.
        y: the elements, (N, G, O/G, Y...).
        b: bias, (G, O/G, 1...), or None.
    """
    for column, data in workspace.columns:
        np.copyto(column, data)
    if not workspace.whole:
        y.fill(0)
    for weights, factors, writes in workspace.products:
        for columns, result in factors:
            np.matmul(weights[groups], columns, out=result)
        for target, source in writes:
            y[target] = source
    if b is not None:
        y += b[groups]

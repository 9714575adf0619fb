"""The reference as it is used: the sum of `reference.definition`, computed fast, with the sums of absolute products.

On integers it equals `definition` bit for bit; on real numbers both are within float64's own bound of the exact sum.
There are three ways, each the fastest for its sizes; `bench/reference.py` measures them.

- `tiny.summed`, for tiny shapes: an index brings each tap its data, and a matrix product adds.
- `_scattered`, where the filter is larger than what it makes of the data: it is multiplied as it lies in memory.
- `tiles.tiled`, for everything else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tconv.expectation import tiny
from tconv.expectation.meetings import axes, meetings, outputs
from tconv.expectation.reference import definition
from tconv.expectation.tiles import some_channels, tiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.tiles import Seen
    from tconv.vocabulary import Array, Float64s

_COLUMNS = 3 * 2**14
"""Up to so many products of filter and data these are made at once: tiles take longer to be laid out."""
_BLOCK = 2**16
"""So many numbers, half a MB, are looked at twice at once."""
Limits = tuple[float, float, float]
_OVERFLOWS = 2.0**1000
"""No partial sum overflows in whatever order, where all terms together are below it."""
_WIDE = 2.0**20
"""The largest operand times the root of the number of terms is below it where the magnitude may be in float32."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of a transposed convolution.

    Attributes:
        y: the output, (N, O, Y...).
        magnitude: in float64 A, the sums of |x||w| + |b|; in float32 no more than A, but for roundings: those of some
            channels, see `some_channels`. None where it was not asked for, or where float32 cannot hold it, or where
            some number is not finite.
        term: no product, and no bias, is larger.
    """

    y: Float64s
    magnitude: Array | None = None
    term: float = inf


def sums(
    x: Float64s,
    w: Float64s,
    b: Float64s | None,
    geometry: Geometry,
    *,
    magnitude: bool = False,
    seen: Seen | None = None,
    limits: Callable[[], Limits] | None = None,
) -> Sums:
    """Return the transposed convolution and, on request, the sums of absolute products.

    Args:
        x: data, (N, C, X...).
        w: filter, (C, O/G, K...).
        b: bias, (O,), or None.
        geometry: plain integers.
        magnitude: whether the sums of |x||w| + |b| are wanted.
        seen: wants to see them part by part, see `tiles.tiled`; not called where float32 cannot hold them, where the
            shape is tiny and the sums come with the output, or where no product is in the output.
        limits: return the largest absolute values of x, w and b, NaN where there is one, if they are known.
    """
    if made := _tiny(x[None], w[None], None if b is None else b[None], geometry):
        return Sums(made.y[0], None if made.magnitude is None else made.magnitude[0], made.term)
    bounds = limits() if limits else (largest(x), largest(w), largest(b))
    if not bounds[0] * bounds[1] * max(w.size, 1) + bounds[2] < _OVERFLOWS:
        # Absent data is multiplied as zero below, and NaN or infinity would make NaN of that.
        return Sums(definition(x, w, b, geometry))
    shape = x.shape[0], w.shape[1] * geometry.groups, *geometry.output
    bias = None if b is None else b.reshape(geometry.groups, -1, *(1,) * len(geometry.output))
    # In float32's range, and what underflows is less than half the smallest number for each term.
    held = max(bounds) * sqrt(x.shape[1] // geometry.groups * prod(geometry.kernel) + 1) < _WIDE
    if not (x.size and w.size and prod(shape) and all(map(meetings, axes(geometry)))):
        y = np.zeros(shape)
        if b is not None:
            y += b.reshape(-1, *(1,) * len(geometry.output))
        return Sums(y, np.abs(y) if magnitude else None, bounds[2])
    data = x.reshape(x.shape[0], geometry.groups, -1, *geometry.spatial)
    taps = w.reshape(geometry.groups, -1, *w.shape[1:])
    absolute: Array | None = None
    if magnitude and held:
        absolute_sums = np.empty((*data.shape[:2], w.shape[1], *geometry.output), np.float32)
        absolute, seen = absolute_sums.reshape(shape), lambda region, _, sums: absolute_sums.__setitem__(region, sums)
    y = _way(data, taps)(data, taps, bias, geometry, seen if held else None)
    term = max(bounds[0] * bounds[1], bounds[2])
    return Sums(y.reshape(shape), absolute, term)


def _tiny(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry) -> Sums | None:
    """Return the sums of a stack of tiny shapes; None where they are not tiny, or may overflow."""
    plan = tiny.plan(x.shape[1:], w.shape[1:], geometry, bias=b is not None)
    made = None if plan is None else tiny.summed(plan, x, w, b, _OVERFLOWS)
    if made is None:
        return None
    (y, magnitude), most = made
    return Sums(y, magnitude, most**2)


def stacked(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry) -> Sums:
    """Return the sums of many sets of operands with one geometry at once: each is a group, or several, of one call.

    The time of tiny shapes is that of numpy's calls: for 100 of them a tenth.

    Args:
        x: data, (S, N, C, X...).
        w: filter, (S, C, O/G, K...).
        b: bias, (S, O), or None.
        geometry: plain integers, of one set.

    Returns:
        The sums with their magnitude, (S, N, O, Y...).
    """
    if made := _tiny(x, w, b, geometry):
        return made
    count, batch, channels = x.shape[:3]
    data = x.swapaxes(0, 1).reshape(batch, count * channels, *geometry.spatial)
    taps, bias = w.reshape(count * channels, *w.shape[2:]), None if b is None else b.ravel()
    made = sums(data, taps, bias, replace(geometry, groups=count * geometry.groups), magnitude=True)
    shape = batch, count, geometry.groups * w.shape[2], *geometry.output
    absolute = None if made.magnitude is None else made.magnitude.reshape(shape).swapaxes(0, 1)
    return Sums(made.y.reshape(shape).swapaxes(0, 1), absolute, made.term)


def _way(x: Float64s, w: Float64s) -> Callable[[Float64s, Float64s, Float64s | None, Geometry, Seen | None], Float64s]:
    """Return the fastest way for these sizes."""
    scattered = x.size // x.shape[2] * w[0, 0].size
    return _scattered if scattered <= max(_COLUMNS, w.size // 2) else tiled


def _scattered(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry, seen: Seen | None) -> Float64s:
    """Return the same as `tiles.tiled`, by one matrix product of all taps and an addition for each.

    The filter, by far the largest operand here, is read once and not rearranged. Measured for 1x512x4x4 with
    512x256x4x4: a third of the time of `definition`, and of that of `tiled` a tenth.
    """
    y = _added(x, w, geometry)
    if b is not None:
        y += b
    if seen:
        some = slice(some_channels(w.shape[1], geometry))
        data, taps = x[:, :, some].astype(np.float32), w[:, some].astype(np.float32)
        sums = _added(np.abs(data, out=data), np.abs(taps, out=taps), geometry)
        if b is not None:
            sums += np.abs(b)
        seen(tuple(map(slice, y.shape)), y, sums)
    return y


def _added(x: Array, w: Array, geometry: Geometry) -> Array:
    """Return the sums without a bias, (N, G, O/G, Y...)."""
    data, taps = x.reshape(*x.shape[:3], -1), w.reshape(*w.shape[:2], -1)
    if w.size < x.size:
        made = taps.swapaxes(1, 2) @ data
    else:
        # Twice as fast where the filter is the larger.
        made = np.ascontiguousarray((data.swapaxes(2, 3) @ taps).swapaxes(2, 3))
    columns = made.reshape(*x.shape[:2], *w.shape[2:], *geometry.spatial)
    total = np.zeros((*x.shape[:2], w.shape[2], *geometry.output), made.dtype)
    all_three = (slice(None),) * 3
    for met in product(*([(m, outputs(m, axis)) for m in meetings(axis)] for axis in axes(geometry))):
        at, reached = tuple(m.tap for m, _ in met), tuple(slice(m.first, m.last) for m, _ in met)
        total[all_three + tuple(where for _, where in met)] += columns[all_three + at + reached]
    return total


def largest(array: Array | None) -> float:
    """Return the largest absolute value, 0 where there is none, NaN where there is one."""
    if array is None or not array.size:
        return 0.0
    # Block by block, so that the smallest is looked for in what is in the cache by then.
    flat = array.reshape(-1)
    blocks = (flat[at : at + _BLOCK] for at in range(0, flat.size, _BLOCK))
    return float(np.max([max(float(block.max()), -float(block.min())) for block in blocks]))

"""The reference as it is used: the sum of `reference.definition`, computed fast, with the sums of absolute products.

On integers it equals `definition` bit for bit; on real numbers both are within float64's own bound of the exact sum.
There are three ways, each the fastest for its sizes; `bench/reference.py` measures them.

- `tiny.summed`, for tiny shapes: an index brings each tap its data, and a matrix product adds.
- `_scattered`, where the filter is larger than what it makes of the data: it is multiplied as it lies in memory.
- `tiles.tiled`, for everything else.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf, prod, sqrt
from typing import TYPE_CHECKING, NamedTuple

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
_ABOVE_ONE = 1 + 2.0**-10
"""Makes up for the roundings of a sum of squares."""
Norms = tuple[float, float, float]
_OVERFLOWS = 2.0**1000
"""No partial sum overflows in whatever order, where all terms together are below it."""
_WIDE = 2.0**26
"""The norms of the operands are below it where the magnitude may be in float32.

It does not overflow then, and of n terms no more than n*2^-124 is due to operands that underflow.
"""


class Sums(NamedTuple):
    """The sums of a transposed convolution.

    Attributes:
        y: the output, (N, O, Y...).
        magnitude: in float64 A, the sums of |x||w| + |b|; in float32 no more than A, but for roundings: those of some
            channels, see `some_channels`. None where it was not asked for, or where float32 cannot hold it, or where
            some number is not finite.
        most: no A is larger.
    """

    y: Float64s
    magnitude: Array | None = None
    most: float = inf


def sums(
    x: Float64s,
    w: Float64s,
    b: Float64s | None,
    geometry: Geometry,
    *,
    magnitude: bool = False,
    seen: Seen | None = None,
    norms: Callable[[], Norms] | None = None,
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
        norms: return the norms of x, w and b, see `norm`, if they are known.
    """
    if made := _tiny(x[None], w[None], None if b is None else b[None], geometry, magnitude=magnitude):
        return Sums(made.y[0], None if made.magnitude is None else made.magnitude[0], made.most)
    shape = x.shape[0], w.shape[1] * geometry.groups, *geometry.output
    if not (x.size and w.size and prod(shape) and all(map(meetings, axes(geometry)))):
        y = np.zeros(shape)
        if b is not None:
            y += b.reshape(-1, *(1,) * len(geometry.output))
        most = norm(b)
        return Sums(y, np.abs(y) if magnitude and most < _OVERFLOWS else None, most)
    data = x.reshape(x.shape[0], geometry.groups, -1, *geometry.spatial)
    taps = w.reshape(geometry.groups, -1, *w.shape[1:])
    bias = None if b is None else b.reshape(geometry.groups, -1, *(1,) * len(geometry.output))
    way = _way(data, taps)
    of_x, of_w, of_b = norms() if norms else (norm(x), norm(w), norm(b))
    # Each sum has each number of the data and of the filter at most once: Cauchy and Schwarz.
    most = of_x * of_w + of_b
    if not most < _OVERFLOWS:
        # Absent data is multiplied as zero below, and NaN or infinity would make NaN of that.
        return Sums(definition(x, w, b, geometry))
    is_small = max(of_x, of_w, of_b) < _WIDE
    absolute: Array | None = None
    if magnitude and is_small:
        absolute_sums = np.empty((*data.shape[:2], w.shape[1], *geometry.output), np.float32)
        absolute, seen = absolute_sums.reshape(shape), lambda region, _, sums: absolute_sums.__setitem__(region, sums)
    y = way(data, taps, bias, geometry, seen if is_small else None)
    return Sums(y.reshape(shape), absolute, most)


def _tiny(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry, *, magnitude: bool) -> Sums | None:
    """Return the sums of a stack of tiny shapes; None where they are not tiny, or may overflow."""
    plan = tiny.plan(x.shape[1:], w.shape[1:], geometry, bias=b is not None)
    made = None if plan is None else tiny.summed(plan, x, w, b, _OVERFLOWS, magnitude=magnitude)
    if made is None:
        return None
    sums_found, most = made
    return Sums(sums_found[0], sums_found[1] if magnitude else None, most)


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
    if made := _tiny(x, w, b, geometry, magnitude=True):
        return made
    count, batch, channels = x.shape[:3]
    data = x.swapaxes(0, 1).reshape(batch, count * channels, *geometry.spatial)
    taps, bias = w.reshape(count * channels, *w.shape[2:]), None if b is None else b.ravel()
    made = sums(data, taps, bias, replace(geometry, groups=count * geometry.groups), magnitude=True)
    shape = batch, count, geometry.groups * w.shape[2], *geometry.output
    absolute = None if made.magnitude is None else made.magnitude.reshape(shape).swapaxes(0, 1)
    return Sums(made.y.reshape(shape).swapaxes(0, 1), absolute, made.most)


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
    sizes, output = (*x.shape[:2], *w.shape[2:], *geometry.spatial), geometry.output
    if w.size < x.size:
        columns = (taps.swapaxes(1, 2) @ data).reshape(sizes)
        total = np.zeros((*x.shape[:2], w.shape[2], *output), columns.dtype)
    else:
        # Twice as fast where the filter is the larger. The channels lie together in both, so that lines are long.
        rank = len(output)
        made = (data.swapaxes(2, 3) @ taps).reshape(*sizes[:2], *geometry.spatial, *w.shape[2:])
        columns = np.moveaxis(made, range(2, 2 + rank), range(-rank, 0))
        total = np.moveaxis(np.zeros((*x.shape[:2], *output, w.shape[2]), made.dtype), -1, 2)
    all_three = (slice(None),) * 3
    for met in product(*([(m, outputs(m, axis)) for m in meetings(axis)] for axis in axes(geometry))):
        at, reached = tuple(m.tap for m, _ in met), tuple(slice(m.first, m.last) for m, _ in met)
        total[all_three + tuple(where for _, where in met)] += columns[all_three + at + reached]
    return np.ascontiguousarray(total)


def norm(array: Array | None) -> float:
    """Return the root of the sum of squares, or little more; 0 where there is no array, NaN where it holds one.

    It says what no sum exceeds in one pass, where the largest absolute value takes two: for 512x256x4x4 0.75 instead of
    1.2 ms. Where squares underflow they lose no more than is added for each number.
    """
    if array is None:
        return 0.0
    return _ABOVE_ONE * sqrt(float(np.vdot(array, array)) + array.size * 2.0**-1073)

"""The reference for tiny shapes: one index brings filter and data together, for one case or for many of one geometry.

The time of a tiny shape is that of numpy's calls, so there are as few as can be: the operands are joined, all numbers
of the sums are taken from them at once and made absolute, and one matrix product gives both sums, the bias included.
Where the numbers lie depends on the sizes alone, and is kept.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.expectation.meetings import axes, meetings, sources

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Float64s, Ints

MOST = 2**16
"""Up to so many numbers in its sums a shape is tiny: beyond, reading them costs more than numpy's calls."""
_CONSTANTS = np.array([[0.0, 1.0]])
"""What a tap brings where it meets no data, at 0 where each place below is clipped to; and the factor of the bias."""


class Plan(NamedTuple):
    """Where the numbers of the sums lie in operands that are joined: the constants, the data, the filter, the bias.

    Attributes:
        places: of the filters' numbers, and behind them of the columns that they are multiplied by.
        filters: the shape (1, G, O/G, T) of the former, for T terms in each sum.
        columns: the shape (N, G, T, Y) of the latter.
        output: the shape (N, O, Y...).
        split: where the columns begin.
    """

    places: Array
    filters: Ints
    columns: Ints
    output: Ints
    split: int


@lru_cache(maxsize=64)
def plan(x: Ints, w: Ints, geometry: Geometry, *, bias: bool) -> Plan | None:
    """Return the plan for operands of these shapes; None where these are not tiny, or no product is within the output.

    Args:
        x: the shape of the data, (N, C, X...).
        w: that of the filter, (C, O/G, K...).
        geometry: plain integers.
        bias: whether there is a bias.
    """
    groups, data, points = geometry.groups, _CONSTANTS.size, prod(geometry.spatial)
    numbers = prod(x[:2]) * prod(geometry.kernel) * prod(geometry.output)
    if not numbers or not prod(w) or max(numbers, prod(x), prod(w)) > MOST or not all(map(meetings, axes(geometry))):
        return None
    filters = _filters(w, groups, bias=bias) + (data + prod(x))
    columns = _brought(geometry) + np.arange(data, data + prod(x), points)[:, None]
    columns = columns.reshape(x[0], groups, -1, prod(geometry.output))
    if bias:
        columns = np.concatenate((columns, np.ones_like(columns[:, :, :1])), axis=2)
    places = np.concatenate((filters.ravel(), columns.ravel()))
    return Plan(places, filters.shape, columns.shape, (x[0], groups * w[1], *geometry.output), filters.size)


@lru_cache(maxsize=256)
def _filters(w: Ints, groups: int, *, bias: bool) -> Array:
    """Return where the filters of each output channel lie, (1, G, O/G, T), the bias of the channel as their last."""
    filters = np.arange(prod(w)).reshape(groups, -1, w[1], prod(w[2:])).swapaxes(1, 2).reshape(1, groups, w[1], -1)
    if not bias:
        return filters
    biases = np.arange(prod(w), prod(w) + groups * w[1]).reshape(1, groups, w[1], 1)
    return np.concatenate((filters, biases), axis=3)


@lru_cache(maxsize=256)
def _brought(geometry: Geometry) -> Array:
    """Return which element of a plane each tap brings to each output element, (K * Y,); far below 0 where none."""
    places = np.zeros((1, 1), dtype=np.intp)
    for axis in axes(geometry):
        table = sources(axis)
        both = places[:, None, :, None] * axis.size + table[:, None, :]
        places = both.reshape(len(places) * len(table), -1)
    return places.ravel()


def summed(
    of: Plan, x: Float64s, w: Float64s, b: Float64s | None, most: float, *, magnitude: bool
) -> tuple[Array, float] | None:
    """Return the sums and, on request, those of absolute values, and a number that none of these exceeds.

    Args:
        of: the plan for one set of operands.
        x: data of each set, (S, N, C, X...).
        w: filters, (S, C, O/G, K...).
        b: biases, (S, O), or None.
        most: the most that the absolute products of a sum may add up to.
        magnitude: whether the sums of absolute values are wanted.

    Returns:
        The sums, (1 or 2, S, N, O, Y...); None where they may be more than `most`, or a number is NaN.
    """
    count = len(x)
    constants = _CONSTANTS if count == 1 else _CONSTANTS.repeat(count, axis=0)
    biases = () if b is None else (b,)
    joined = np.concatenate((constants, x.reshape(count, -1), w.reshape(count, -1), *biases), axis=1)
    # |x||w| is at most half of x^2 + w^2, and |b| of b^2 + 1.
    largest = float(np.vdot(joined, joined))
    if not largest < most:
        return None
    kinds = 1 + magnitude
    numbers = np.empty((kinds, count, len(of.places)))
    joined.take(of.places, axis=1, out=numbers[0], mode="clip")
    if magnitude:
        np.abs(numbers[0], out=numbers[1])
    filters = numbers[..., : of.split].reshape(kinds, count, *of.filters)
    columns = numbers[..., of.split :].reshape(kinds, count, *of.columns)
    return (filters @ columns).reshape(kinds, count, *of.output), largest

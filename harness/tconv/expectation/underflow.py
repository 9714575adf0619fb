"""Products that are subnormal numbers: some runtimes set the processor to replace them by zero."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.expectation.reference import meet

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Float64s

_AT_ONCE = 2**18
"""The most products in memory at once, unless one input channel of each group has more under one tap."""


def subnormal_products(x: Array, w: Array, geometry: Geometry, smallest_normal: float) -> Float64s | None:
    """Return the sum of |x*w| over each element's products that are below the smallest normal number.

    Args:
        x: data, (N, C, X...).
        w: filter, (C, O/G, K...).
        geometry: plain integers.
        smallest_normal: the smallest normal number of the type that the products are added in.

    Returns:
        The sums, (N, O, Y...); None if no product is so small.
    """
    x, w = np.abs(x), np.abs(w)
    least = _smallest(x)
    if least * _smallest(w) >= smallest_normal:
        return None
    batch, groups, outputs = x.shape[0], geometry.groups, w.shape[1]
    lost = np.zeros((batch, groups, outputs, *geometry.output))
    data = x.reshape(batch, groups, -1, 1, *geometry.spatial)
    taps = w.reshape(1, groups, -1, outputs, *geometry.kernel)
    for k in np.ndindex(*geometry.kernel):
        weights = taps[..., *k]
        if least * _smallest(weights) < smallest_normal and (meeting := meet(k, geometry)):
            elements, points = meeting
            under = _under_one_tap(data, weights.reshape(*weights.shape, *(1,) * len(k)), smallest_normal)
            lost[points] += under[elements]
    return lost.reshape(batch, groups * outputs, *geometry.output)


def _under_one_tap(data: Float64s, weights: Float64s, smallest_normal: float) -> Float64s:
    """Return the sum over the input channels of the products that are below the smallest normal number.

    Args:
        data: (N, G, C/G, 1, X...).
        weights: the weights of one tap, (1, G, C/G, O/G, 1...).
        smallest_normal: the smallest normal number of the type that the products are added in.

    Returns:
        (N, G, O/G, X...).
    """
    shape = (*data.shape[:2], weights.shape[3], *data.shape[4:])
    total, step = np.zeros(shape), max(_AT_ONCE // max(prod(shape), 1), 1)
    for first in range(0, data.shape[2], step):
        block = slice(first, first + step)
        product = data[:, :, block] * weights[:, :, block]
        total += product.sum(axis=2, where=product < smallest_normal)
    return total


def _smallest(array: Array) -> float:
    positive = array[array > 0]
    return float(positive.min()) if positive.size else np.inf

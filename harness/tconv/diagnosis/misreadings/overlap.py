"""Misreadings of overlaps: products that reach the same point are stored over each other, and not added."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, OverlapOtherwise

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array

_MOST = 2**20
"""Points of the output without overlaps for which this is looked for."""


def without_overlaps(geometry: Geometry) -> Geometry | None:
    """Return a geometry in which each position of the data and each tap have a point of their own; None for too many.

    Along an axis the point of position i and tap k is i*K + k. The last point is reached by none.
    """
    output = tuple(x * k + 1 for x, k in zip(geometry.spatial, geometry.kernel, strict=True))
    if prod(output) > _MOST:
        return None
    ones, zeros = (1,) * len(output), (0,) * len(output)
    return replace(geometry, strides=geometry.kernel, dilations=ones, pads_begin=zeros, output=output)


def one_product_each(y: Array, geometry: Geometry, *, first: bool) -> Array:
    """Return the output of a geometry in which the product of one tap stands at each point.

    Args:
        y: the output without overlaps, (N, O, X*K + 1...).
        geometry: what the output has to have.
        first: whether the product is that of the first tap that reaches the point, or of the last one.
    """
    axes = zip(
        geometry.spatial,
        geometry.kernel,
        geometry.strides,
        geometry.dilations,
        geometry.pads_begin,
        geometry.output,
        strict=True,
    )
    for axis, (size, taps, stride, dilation, begin, points) in enumerate(axes, start=2):
        reached = np.full(points, size * taps)
        # What is stored later lies over what was stored before.
        for tap in reversed(range(taps)) if first else range(taps):
            position, rest = np.divmod(np.arange(points) + begin - tap * dilation, stride)
            reaches = (rest == 0) & (position >= 0) & (position < size)
            reached[reaches] = position[reaches] * taps + tap
        y = np.take(y, reached, axis=axis)
    return y


MISREADINGS = (
    Misreading(
        "overlaps-hold-the-first-tap",
        "where several taps reach a point, the product of the first of them stands there, and not the sum",
        OverlapOtherwise(without_overlaps, lambda y, geometry: one_product_each(y, geometry, first=True)),
    ),
    Misreading(
        "overlaps-hold-the-last-tap",
        "where several taps reach a point, the product of the last of them stands there, and not the sum",
        OverlapOtherwise(without_overlaps, lambda y, geometry: one_product_each(y, geometry, first=False)),
    ),
)

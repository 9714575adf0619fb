"""Misreadings of the products of a point: one is stored over another, or they are those of a convolution.

With stride 1 a convolution is the transposed convolution of the flipped filter. With larger strides it is every
stride-th point of that.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import ConvolutionOtherwise, Misreading, OverlapOtherwise

if TYPE_CHECKING:
    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Ints, Signature

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


def _forward(geometry: Geometry, signature: Signature) -> tuple[Geometry, Ints] | None:
    """Return the transposed convolution that holds the points of a convolution of the same data, and their distance.

    Point o of the convolution takes position o*s + k*d - pads_begin of the data under tap k: under the flipped filter
    that is point o*s - pads_begin + (K-1)*d.
    """
    reaches = [(k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True)]
    # What is added at the end is no padding.
    ends = (end + op for end, op in zip(geometry.pads_end, signature.per_axis("output_padding"), strict=True))
    padded = (x + p + q for x, p, q in zip(geometry.spatial, geometry.pads_begin, ends, strict=True))
    steps = [(size - 1 - reach) // s for size, reach, s in zip(padded, reaches, geometry.strides, strict=True)]
    if not steps or min(steps) < 0:
        return None
    begin = tuple(reach - p for reach, p in zip(reaches, geometry.pads_begin, strict=True))
    output = tuple(count * s + 1 for count, s in zip(steps, geometry.strides, strict=True))
    return replace(geometry, strides=(1,) * len(steps), pads_begin=begin, output=output), geometry.strides


def _flipped(operands: Operands) -> Operands:
    w = operands["w"]
    return operands | {"w": np.flip(w, axis=tuple(range(2, w.ndim)))}


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
    Misreading(
        "convolution-not-transposed",
        "a convolution of the data is computed, and not its transpose",
        ConvolutionOtherwise(_forward, _flipped),
        "pytorch/pytorch#48400",
    ),
)

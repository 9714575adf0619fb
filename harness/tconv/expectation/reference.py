"""The operator itself, in float64, short enough for a check by reading.

No text has the sum as a formula. oneDNN and OpenVINO define it as the data gradient of Convolution: "the same as
computing the gradients of input of Convolution operation" and "Computes the gradients of a Convolution operation with
respect to the input". ONNX gives worked examples. All of them mean

    y[n, g*Og + oc, o] = b[g*Og + oc] + sum of x[n, ic, i] * w[ic, oc, k]

over all ic in group g, and all i and k with o = i*s + k*d - pads_begin.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from types import EllipsisType

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Float64s, Ints

    _Index = tuple[EllipsisType | slice, ...]


def definition(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry) -> Float64s:
    """Return the transposed convolution.

    Each tap adds a matrix product of filter and data to the points of the output that it reaches. A point that no tap
    reaches has only the bias. NaN and infinity come from the sum's own products: no inserted zeros are multiplied.

    Args:
        x: data, (N, C, X...).
        w: filter, (C, O/G, K...).
        b: bias, (O,), or None.
        geometry: plain integers, see `geometry.resolve`.

    Returns:
        (N, O, Y...) in float64.

    Source: oneDNN ConvTranspose-1 and OpenVINO ConvolutionBackpropData-1, short and detailed descriptions.
    """
    groups, batch = geometry.groups, x.shape[0]
    in_channels, out_channels = x.shape[1] // groups, w.shape[1]
    data = x.reshape(batch, groups, in_channels, prod(geometry.spatial))
    taps = w.reshape(groups, in_channels, out_channels, *geometry.kernel)
    y = np.zeros((batch, groups, out_channels, *geometry.output))
    with np.errstate(invalid="ignore", over="ignore"):
        for k in np.ndindex(*geometry.kernel):
            if meeting := meet(k, geometry):
                elements, points = meeting
                product = taps[(..., *k)].swapaxes(1, 2) @ data
                y[points] += product.reshape(*product.shape[:3], *geometry.spatial)[elements]
        y = y.reshape(batch, groups * out_channels, *geometry.output)
        return y if b is None else y + b.reshape(-1, *(1,) * len(geometry.spatial))


def meet(k: Ints, geometry: Geometry) -> tuple[_Index, _Index] | None:
    """Return the data that tap `k` brings into the output, and where it arrives, as indices; None if there is none."""
    elements: list[EllipsisType | slice] = [...]
    points: list[EllipsisType | slice] = [...]
    axes = zip(
        k, geometry.spatial, geometry.strides, geometry.dilations, geometry.pads_begin, geometry.output, strict=True
    )
    for tap, size, s, d, begin, output in axes:
        # o = i*s + at, for 0 <= i < size and 0 <= o < output.
        at = tap * d - begin
        first, last = max(-(at // s), 0), min((output - 1 - at) // s + 1, size)
        if first >= last:
            return None
        elements.append(slice(first, last))
        points.append(slice(at + first * s, at + (last - 1) * s + 1, s))
    return tuple(elements), tuple(points)


def tap_alone(k: Ints, geometry: Geometry) -> Geometry:
    """Return the geometry of a filter with only tap `k`, which puts the data in the same place."""
    begins = zip(geometry.pads_begin, k, geometry.dilations, strict=True)
    return replace(geometry, kernel=(1,) * len(k), pads_begin=tuple(begin - tap * d for begin, tap, d in begins))


def count_products(geometry: Geometry, channels: int) -> Float64s:
    """Return the number of products that reach each output element, (Y...), from `channels` input channels a group."""
    x, w = np.ones((1, 1, *geometry.spatial)), np.ones((1, 1, *geometry.kernel))
    count: Float64s = definition(x, w, None, replace(geometry, groups=1))[0, 0] * channels
    return count

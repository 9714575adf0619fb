"""The operator itself, in float64, short enough for a check by reading. `sums` computes the same faster.

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


def definition(x: Float64s, w: Float64s, b: Float64s | None, geometry: Geometry) -> Float64s:
    """Return the transposed convolution.

    Each tap adds a matrix product of filter and data to a strided window of the full output. The output is cut out of
    this at pads_begin. A point that no tap reaches has only the bias. NaN and infinity come from the sum's own
    products: no inserted zeros are multiplied.

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
    # For an empty input the equation may give a negative size; no tap reaches anything then.
    full = tuple(max(size, 0) for size in geometry.full)
    reached = np.zeros((batch, groups, out_channels, *full))
    if x.size:
        with np.errstate(invalid="ignore", over="ignore"):
            for k in np.ndindex(*geometry.kernel):
                product = taps[(..., *k)].swapaxes(1, 2) @ data
                reached[_window(k, geometry)] += product.reshape(*product.shape[:3], *geometry.spatial)
    y = _cut(reached.reshape(batch, groups * out_channels, *full), geometry)
    if b is None:
        return y
    with np.errstate(invalid="ignore", over="ignore"):
        return y + b.reshape(-1, *(1,) * len(geometry.spatial))


def tap_alone(k: Ints, geometry: Geometry) -> Geometry:
    """Return the geometry of a filter with only tap `k`, which puts the data in the same place."""
    begins = zip(geometry.pads_begin, k, geometry.dilations, strict=True)
    return replace(geometry, kernel=(1,) * len(k), pads_begin=tuple(begin - tap * d for begin, tap, d in begins))


def _window(k: Ints, geometry: Geometry) -> tuple[EllipsisType | slice, ...]:
    """Return the points to which tap `k` adds the data: every s-th point from k*d on."""
    axes = zip(k, geometry.spatial, geometry.strides, geometry.dilations, strict=True)
    return (..., *(slice(tap * d, tap * d + (x - 1) * s + 1, s) for tap, x, s, d in axes))


def _cut(reached: Float64s, geometry: Geometry) -> Float64s:
    """Return the output's part of the full output, with zeros beyond its ends."""
    y = np.zeros((*reached.shape[:2], *geometry.output))
    source: list[EllipsisType | slice] = [...]
    target: list[EllipsisType | slice] = [...]
    for full, begin, size in zip(reached.shape[2:], geometry.pads_begin, geometry.output, strict=True):
        low, high = max(begin, 0), min(begin + size, full)
        source.append(slice(low, max(high, low)))
        target.append(slice(low - begin, max(high, low) - begin))
    y[tuple(target)] = reached[tuple(source)]
    return y

"""The error of transform algorithms, Winograd's and the FFT: it depends on norms, not on the terms of each sum.

The error of a sum of products is a multiple of its own |x||w|. A transform mixes neighbours before it multiplies. So
its error is a multiple of u*||x||*||w||, even if an element's own terms are small. Both constants are for the root mean
square over the elements, with random roundings. C channels are added after the transform: the partial sums of random
terms add C/2 roundings of the size of the result.

- Winograd, F(4, 3) on d axes: each output is a row of A^T times the products of G g and B^T d. K is the largest
  sqrt(sum of A^T_i^2 ||G_i||^2 ||B^T_i||^2) of the rows, 9.7. Each axis has 14 roundings: 3 by G, 4 by B^T, and 6 and a
  product by A^T. A tile has r = 3 taps and t = 6 data. The constant is K^d * sqrt((14*d + C/2) / 3) / sqrt(r*t)^d: for
  one channel 5.0, 16 and 45 on 1 to 3 axes. F(2, 3) has less. Norms are of all data that a tile of the element may
  contain. Source of the matrices, and of the bound for the worst case: Barabasz, Anderson, Soodhalter and Gregg, Error
  analysis and improving the accuracy of Winograd convolution for deep neural networks, ACM TOMS 46, 2020.
- FFT: three transforms of N points, each with log2(N) roundings on every path: sqrt(3*log2(N) + C/2). Source: Higham,
  Accuracy and Stability of Numerical Algorithms, 2nd edition, section 24.1. Norms are of all data.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tconv.dialects.geometry import Geometry
from tconv.expectation.bound import UNIT_ROUNDOFF
from tconv.expectation.reference import definition
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.vocabulary import Array, Float64s

_WINOGRAD_NORM = 9.7
_WINOGRAD_ROUNDINGS = 14
_TILE_PRODUCTS = 18
"""The number of taps times that of data, in a tile on one axis: 3 * 6."""
_TILE_OUTPUTS = 4


def transform_deviation(operands: Mapping[str, Array], dtype: DType, geometry: Geometry) -> Float64s:
    """Return the larger root mean square of the transforms that a geometry allows, by element, (N, O, Y...).

    With a single tap nothing is transformed. Winograd's algorithms need strides of 1, and they save products only on an
    axis with several taps.
    """
    deviation = np.zeros((operands["x"].shape[0], operands["w"].shape[1] * geometry.groups, *geometry.output))
    if prod(geometry.kernel) > 1:
        deviation = np.maximum(deviation, fft_deviation(operands, dtype, geometry))
        if max(geometry.strides) == 1:
            deviation = np.maximum(deviation, winograd_deviation(operands, dtype, geometry))
    return deviation


def fft_deviation(operands: Mapping[str, Array], dtype: DType, geometry: Geometry) -> Float64s:
    """Return the root mean square of an FFT's error by element, (N, O, 1...)."""
    axes = tuple(range(2, 2 + len(geometry.kernel)))
    data = (operands["x"] ** 2).sum(axis=axes, keepdims=True)
    taps = (operands["w"] ** 2).sum(axis=axes, keepdims=True)
    single = (1,) * len(axes)
    point = Geometry(single, single, single, single, (0,) * len(axes), single, geometry.groups)
    points = sum(log2(max(size, 2)) for size in geometry.full)
    return (
        _unit(dtype)
        * sqrt(3 * points + _channels(operands, geometry) / 2)
        * np.sqrt(definition(data, taps, None, point))
    )


def winograd_deviation(operands: Mapping[str, Array], dtype: DType, geometry: Geometry) -> Float64s:
    """Return the root mean square of a Winograd algorithm's error by element, (N, O, Y...)."""
    rank = len(geometry.kernel)
    # All data that a tile may contain: the element's own, and those of up to three outputs on both sides. An axis with
    # one tap is not transformed.
    beyond = tuple(_TILE_OUTPUTS - 1 if k > 1 else 0 for k in geometry.kernel)
    axes = zip(geometry.kernel, geometry.dilations, beyond, strict=True)
    window = tuple((k - 1) * d + 1 + 2 * more for k, d, more in axes)
    wider = replace(
        geometry,
        kernel=window,
        dilations=(1,) * rank,
        pads_begin=tuple(begin + more for begin, more in zip(geometry.pads_begin, beyond, strict=True)),
    )
    taps = (operands["w"] ** 2).sum(axis=tuple(range(2, 2 + rank)), keepdims=True)
    squares = definition(operands["x"] ** 2, np.broadcast_to(taps, (*taps.shape[:2], *window)), None, wider)
    transformed = sum(k > 1 for k in geometry.kernel)
    roundings = (_WINOGRAD_ROUNDINGS * transformed + _channels(operands, geometry) / 2) / 3
    constant = _WINOGRAD_NORM**transformed * sqrt(roundings) / sqrt(_TILE_PRODUCTS) ** transformed
    return _unit(dtype) * constant * np.sqrt(squares)


def _channels(operands: Mapping[str, Array], geometry: Geometry) -> int:
    """Return the input channels of a group."""
    channels: int = operands["x"].shape[1] // geometry.groups
    return channels


def _unit(dtype: DType) -> float:
    """Return the unit roundoff of the transforms: f32's also for f16 and bf16, whose own errors hide a transform's."""
    return UNIT_ROUNDOFF[DType.F64 if dtype is DType.F64 else DType.F32]

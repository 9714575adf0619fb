"""The misreading of the operation itself: a convolution is computed, and not its transpose.

With stride 1 a convolution is the transposed convolution of the flipped filter. With larger strides it is every
stride-th point of that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import ConvolutionOtherwise, Misreading

if TYPE_CHECKING:
    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Ints, Signature


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
        "convolution-not-transposed",
        "a convolution of the data is computed, and not its transpose",
        ConvolutionOtherwise(_forward, _flipped),
        "pytorch/pytorch#48400",
    ),
)

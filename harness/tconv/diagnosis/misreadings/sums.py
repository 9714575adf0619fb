"""Misreadings of the sum of a point: a wrong or misplaced bias, or products that replace each other.

With stride 1 a convolution is the transposed convolution of the flipped filter. With a larger stride s it is every s-th
point of that.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.diagnosis.misreadings.misreading import CallOtherwise, Misreading, axes_of, in_operand, in_result

if TYPE_CHECKING:
    from tconv.diagnosis.misreadings.misreading import MisreadCall
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature

_MOST = 2**20
"""The most points of the output without overlaps for these misreadings."""


def _without_bias(call: MisreadCall, _: Signature) -> MisreadCall | None:
    operands = {role: array for role, array in call.operands.items() if role != "b"}
    return replace(call, operands=operands) if "b" in call.operands else None


def _one_product(call: MisreadCall, _: Signature, *, first: bool) -> MisreadCall | None:
    """Return the call whose points have the product of only the first or last tap that reaches them; None if too large.

    The products do not overlap: on an axis, the product of position i and tap k is at point i*K + k. The last point is
    0.
    """
    geometry = call.geometry
    output = tuple(x * k + 1 for x, k in zip(geometry.spatial, geometry.kernel, strict=True))
    if prod(output) > _MOST:
        return None
    ones, zeros = (1,) * len(output), (0,) * len(output)
    apart = replace(geometry, strides=geometry.kernel, dilations=ones, pads_begin=zeros, output=output)
    return replace(call, geometry=apart, finish=partial(_one_product_each, geometry, first=first))


def _one_product_each(geometry: Geometry, y: Array, *, first: bool) -> Array:
    """Return the output of a geometry with only one product at each point, from an output with all products apart."""
    for axis, (size, taps, stride, dilation, begin, points) in enumerate(axes_of(geometry), start=2):
        reached = np.full(points, size * taps)
        # Later values overwrite earlier ones.
        for tap in reversed(range(taps)) if first else range(taps):
            position, rest = np.divmod(np.arange(points) + begin - tap * dilation, stride)
            reaches = (rest == 0) & (position >= 0) & (position < size)
            reached[reaches] = position[reaches] * taps + tap
        y = np.take(y, reached, axis=axis)
    return y


def _convolved(call: MisreadCall, signature: Signature) -> MisreadCall | None:
    """Return the transposed convolution that contains the points of a convolution of the data; None if there are none.

    Point o of the convolution takes position o*s + k*d - pads_begin of the data under tap k: under the flipped filter
    that is point o*s - pads_begin + (K-1)*d.
    """
    geometry, w = call.geometry, call.operands["w"]
    reaches = [(k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True)]
    # The geometry's pads_end is smaller by output_padding.
    ends = (end + op for end, op in zip(geometry.pads_end, signature.per_axis("output_padding"), strict=True))
    padded = (x + p + q for x, p, q in zip(geometry.spatial, geometry.pads_begin, ends, strict=True))
    steps = [(size - 1 - reach) // s for size, reach, s in zip(padded, reaches, geometry.strides, strict=True)]
    if not steps or min(steps) < 0:
        return None
    points = tuple(count * s + 1 for count, s in zip(steps, geometry.strides, strict=True))
    output = tuple(count + 1 for count in steps)
    begin = tuple(reach - p for reach, p in zip(reaches, geometry.pads_begin, strict=True))
    every: tuple[Any, ...] = (..., *(slice(None, None, step) for step in geometry.strides))
    return replace(
        call,
        geometry=replace(geometry, strides=(1,) * len(steps), pads_begin=begin, output=points),
        operands=call.operands | {"w": np.flip(w, axis=tuple(range(2, w.ndim)))},
        output=output,
        # With stride 1, or with a single point, all points are kept.
        finish=None if output == points else lambda y: y[every],
    )


MISREADINGS = tuple(
    Misreading(name, says, change)
    for name, says, change in (
        # openvinotoolkit/openvino#34101, XiaoMi/mace#220
        ("bias-ignored", "the bias is ignored", CallOtherwise(_without_bias)),
        # kraiskil/onnx2c#40
        ("bias-doubled", "the bias is added twice", in_operand("b", lambda b, _: 2 * b)),
        ("bias-of-the-first-channel", "every channel has the bias of the first channel",
         in_operand("b", lambda b, _: np.broadcast_to(b[:1], b.shape))),
        ("bias-of-the-next-channel",
         "every channel has the bias of the next channel, and the last channel has the bias of the first",
         in_operand("b", lambda b, _: np.roll(b, -1))),
        # robertknight/rten#1408, Tencent/TNN#205, onnx ReferenceEvaluator 1.23
        ("bias-of-the-first-group", "every group has the bias of the first group",
         in_operand("b", lambda b, g: np.tile(b[: len(b) // g.groups], g.groups))),
        # AlexeyAB/darknet#8660 proposes this, CNugteren/CLBlast#270 expects it
        ("overlaps-hold-the-first-tap",
         "each point has the product of the first tap that reaches it, and not the sum",
         in_result(partial(_one_product, first=True))),
        ("overlaps-hold-the-last-tap",
         "each point has the product of the last tap that reaches it, and not the sum",
         in_result(partial(_one_product, first=False))),
        # pytorch/pytorch#48400
        ("convolution-not-transposed", "a convolution of the data is computed, and not its transpose",
         in_result(_convolved)),
    )
)  # fmt: skip

"""Misreadings of the bias: it is left out, or is another one, or is added in other places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, OperandsOtherwise, SumsOtherwise, along_channels, in_bias

if TYPE_CHECKING:
    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature


def _without_bias(operands: Operands, _geometry: Geometry, _signature: Signature) -> Operands:
    return {role: array for role, array in operands.items() if role != "b"} if "b" in operands else operands


def _of_the_group_number(bias: Array, geometry: Geometry) -> Array:
    """Return the bias of channel g for all channels of group g."""
    return np.repeat(bias[: geometry.groups], len(bias) // geometry.groups)


def _along(axis: int) -> SumsOtherwise:
    """Return the change that adds the bias along a spatial axis that has as many points as there are channels."""
    at = axis if axis < 0 else axis + 2

    def change(sums: Array, bias: Array, _: Geometry) -> Array:
        return np.moveaxis(np.moveaxis(sums, at, -1) + bias, -1, at)

    def applies(operands: Operands, geometry: Geometry) -> bool:
        # Of a line the first axis is the last one.
        has_axis = len(geometry.output) > (axis == 0)
        return has_axis and "b" in operands and geometry.output[axis] == len(operands["b"]) > 1

    return SumsOtherwise(change, applies)


def _in_the_first_item(sums: Array, bias: Array, _: Geometry) -> Array:
    first = np.arange(len(sums)) < 1
    # Not as a product: an infinite bias times 0 would be NaN in the others.
    return np.where(first.reshape(-1, *(1,) * (sums.ndim - 1)), sums + along_channels(bias, sums.ndim), sums)


MISREADINGS: tuple[Misreading, ...] = (
    Misreading(
        "bias-ignored",
        "the bias is overlooked",
        OperandsOtherwise(_without_bias),
        "openvinotoolkit/openvino#34101, XiaoMi/mace#220",
    ),
    Misreading("bias-doubled", "the bias is added twice", in_bias(lambda b, _: 2 * b), "kraiskil/onnx2c#40"),
    Misreading(
        "bias-of-the-first-channel",
        "every channel has the first one's bias",
        in_bias(lambda b, _: np.broadcast_to(b[:1], b.shape)),
    ),
    Misreading(
        "bias-of-the-next-channel",
        "every channel has the bias of the next one, and the last has that of the first",
        in_bias(lambda b, _: np.roll(b, -1)),
    ),
    Misreading(
        "bias-of-the-first-group",
        "every group has the first one's bias",
        in_bias(lambda b, g: np.tile(b[: len(b) // g.groups], g.groups)),
        "robertknight/rten#1408, Tencent/TNN#205, onnx ReferenceEvaluator 1.23",
    ),
    Misreading(
        "bias-of-the-group-number",
        "all channels of group g have the bias of channel g",
        in_bias(_of_the_group_number),
    ),
    Misreading(
        "bias-of-every-group-added",
        "the bias is added as often as there are groups",
        in_bias(lambda b, g: b * g.groups),
    ),
    Misreading(
        "bias-along-the-last-axis",
        "the bias is added along the last spatial axis where that has as many points as there are output channels",
        _along(-1),
    ),
    Misreading(
        "bias-along-the-first-axis",
        "the bias is added along the first of several spatial axes where that has as many points as there are output "
        "channels",
        _along(0),
    ),
    Misreading(
        "bias-in-the-first-item-alone",
        "the bias is added to the first item of the batch alone",
        SumsOtherwise(_in_the_first_item, lambda operands, _: "b" in operands and len(operands["x"]) > 1),
    ),
)

"""How each operation around the operator is written in OpenVINO's operation set 13.

Quantised graphs are as NNCF writes them: Quantize and Dequantize of data are one FakeQuantize of 256 levels; constants
of integers are Convert, Subtract and Multiply. A Quantize that nothing dequantises is FakeQuantize and Convert, as the
ONNX frontend writes each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import openvino as ov
from openvino import opset13 as op

from tconv.vocabulary import DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.graph import Node

ELEMENT_TYPES: dict[DType | Quantised, ov.Type] = {
    DType.F32: ov.Type.f32,
    DType.F16: ov.Type.f16,
    DType.BF16: ov.Type.bf16,
    DType.F64: ov.Type.f64,
    Quantised.INT8: ov.Type.i8,
    Quantised.UINT8: ov.Type.u8,
    Quantised.INT32: ov.Type.i32,
}
_RANGES = {Quantised.INT8: (-128, 127), Quantised.UINT8: (0, 255)}
_LEVELS = 256

Inputs = list[Any]
"""Outputs of nodes."""


def outputs_of(node: Node, inputs: Sequence[ov.Output]) -> Sequence[ov.Output]:
    """Return the outputs of an operation that is not the operator itself.

    Args:
        node: the operation.
        inputs: its inputs.

    Raises:
        RuntimeError: the runtime refuses it.
    """
    outputs: Sequence[ov.Output] = _MAKERS[node.kind](list(inputs), node.attributes).outputs()
    return outputs


def _quantize(inputs: Inputs, attributes: Mapping[str, Any]) -> ov.Node:
    x, scale, zero_point = inputs
    dtype = Quantised(attributes["dtype"])
    low, high = (np.float32(limit) for limit in _RANGES[dtype])
    limits = _limits(dtype, scale, zero_point)
    return op.convert(op.fake_quantize(x, *limits, low, high, _LEVELS), ELEMENT_TYPES[dtype])


def _limits(dtype: Quantised, scale: ov.Output, zero_point: ov.Output) -> tuple[ov.Node, ...]:
    """Return the smallest and the largest number of a quantised type, dequantised, as constants."""
    factor, zero = (tensor.get_node().data.astype(np.float32) for tensor in (scale, zero_point))
    return tuple(op.constant((np.float32(limit) - zero) * factor) for limit in _RANGES[dtype])


def _dequantize(inputs: Inputs, attributes: Mapping[str, Any]) -> ov.Node:
    quanta, scale, zero_point = inputs
    made = quanta.get_node()
    if made.get_type_name() == "Convert" and made.input_value(0).get_node().get_type_name() == "FakeQuantize":
        # The Quantize before it, which now gives f32.
        dtype = next(dtype for dtype in _RANGES if ELEMENT_TYPES[dtype] == quanta.get_element_type())
        x, low, high, *_ = made.input_value(0).get_node().input_values()
        return op.fake_quantize(x, low, high, *_limits(dtype, scale, zero_point), _LEVELS)
    shape = [1] * len(quanta.get_partial_shape())
    if len(scale.get_shape()) == 1:
        shape[attributes.get("axis", 1)] = -1
    factor, zero = (_reshaped(tensor, shape) for tensor in (scale, zero_point))
    return op.multiply(op.subtract(op.convert(quanta, ov.Type.f32), op.convert(zero, ov.Type.f32)), factor)


def _reshaped(constant: ov.Output, shape: Sequence[int]) -> ov.Node:
    return op.constant(constant.get_node().data.reshape(shape))


def _conv(inputs: Inputs, _: Mapping[str, Any]) -> ov.Node:
    rank = len(inputs[1].get_shape()) - 2
    ones, zeros = [1] * rank, [0] * rank
    return op.convolution(*inputs, ones, zeros, zeros, ones)


def _resize(inputs: Inputs, attributes: Mapping[str, Any]) -> ov.Node:
    axes = [axis for axis, scale in enumerate(attributes["scales"]) if scale != 1] or [2]
    return op.interpolate(
        inputs[0],
        op.constant(np.array([attributes["scales"][axis] for axis in axes], np.float32)),
        "nearest",
        "scales",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
        axes=op.constant(np.array(axes)),
    )


def _slice(inputs: Inputs, attributes: Mapping[str, Any]) -> ov.Node:
    starts, ends, axes = (np.array(attributes[name]) for name in ("starts", "ends", "axes"))
    return op.slice(inputs[0], *map(op.constant, (starts, ends, np.ones_like(starts), axes)))


def _prelu(inputs: Inputs, _: Mapping[str, Any]) -> ov.Node:
    # The page has a slope for each channel as a vector.
    return op.prelu(inputs[0], _reshaped(inputs[1], [-1]))


def _constant(values: Any) -> ov.Node:  # noqa: ANN401 - integers or floats, one or many
    return op.constant(np.array(values))


_MAKERS: Mapping[str, Callable[[Inputs, Mapping[str, Any]], ov.Node]] = {
    "Add": lambda inputs, _: op.add(*inputs),
    "Sub": lambda inputs, _: op.subtract(*inputs),
    "Mul": lambda inputs, _: op.multiply(*inputs),
    "Div": lambda inputs, _: op.divide(*inputs),
    "Max": lambda inputs, _: op.maximum(*inputs),
    "Relu": lambda inputs, _: op.relu(*inputs),
    "Clip": lambda inputs, attributes: op.clamp(inputs[0], attributes["min"], attributes["max"]),
    "LeakyRelu": lambda inputs, attributes: op.prelu(inputs[0], _constant([np.float32(attributes["alpha"])])),
    "HardSigmoid": lambda inputs, attributes: op.hard_sigmoid(
        inputs[0], *(_constant(np.float32(attributes[name])) for name in ("alpha", "beta"))
    ),
    "PRelu": _prelu,
    "Sigmoid": lambda inputs, _: op.sigmoid(*inputs),
    "Tanh": lambda inputs, _: op.tanh(*inputs),
    "Elu": lambda inputs, attributes: op.elu(inputs[0], attributes["alpha"]),
    "HardSwish": lambda inputs, _: op.hswish(*inputs),
    "BatchNormalization": lambda inputs, attributes: op.batch_norm_inference(*inputs, attributes["epsilon"]),
    "Conv": _conv,
    "Pad": lambda inputs, attributes: op.pad(
        inputs[0], _constant(attributes["begin"]), _constant(attributes["end"]), "constant", _constant(np.float32(0))
    ),
    "Resize": _resize,
    "Slice": _slice,
    "Split": lambda inputs, attributes: op.variadic_split(
        inputs[0], _constant(attributes["axis"]), _constant(attributes["sizes"])
    ),
    "Cast": lambda inputs, attributes: op.convert(inputs[0], ELEMENT_TYPES[DType(attributes["to"])]),
    "Concat": lambda inputs, attributes: op.concat(inputs, attributes["axis"]),
    "Transpose": lambda inputs, attributes: op.transpose(inputs[0], _constant(attributes["axes"])),
    "Reshape": lambda inputs, attributes: op.reshape(inputs[0], _constant(attributes["shape"]), special_zero=False),
    "Quantize": _quantize,
    "Dequantize": _dequantize,
}
OPERATIONS = frozenset(_MAKERS)

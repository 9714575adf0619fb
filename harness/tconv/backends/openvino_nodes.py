"""OpenVINO's own operations ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1: a call's model, inferred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import openvino as ov
from openvino import opset1

from tconv.backends.openvino import GROUPED
from tconv.cases.layouts import inverse, permutation
from tconv.vocabulary import DataFormat, DType, FilterFormat, Quantised

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.cases.call import Call, Input
    from tconv.cases.case import Shapes
    from tconv.vocabulary import Array

_ELEMENT_TYPES: dict[DType | Quantised, ov.Type] = {
    DType.F32: ov.Type.f32,
    DType.F16: ov.Type.f16,
    DType.BF16: ov.Type.bf16,
    DType.F64: ov.Type.f64,
}


def model_of(call: Call, arrays: Mapping[str, Array]) -> ov.Model:
    """Return the model of a call.

    Raises:
        RuntimeError: the runtime refuses it.
    """
    operands = call.operands(arrays)
    parameters = []
    nodes = {}
    for tensor in call.inputs:
        if tensor.constant:
            # opset1.constant does not accept an empty list, as output_shape may be.
            nodes[tensor.role] = ov.op.Constant(_tensor(operands[tensor.name]))
        else:
            nodes[tensor.role] = _parameter(tensor, call.shapes)
            parameters.append(nodes[tensor.role])
    x = nodes["x"]
    if call.data_format is not DataFormat.NCX:
        x = opset1.transpose(x, opset1.constant(np.array(permutation(call.data_format, call.rank))))
    y = _operation(call, x, _canonical(call, nodes["w"]), nodes.get("output_shape"))
    if call.data_format is not DataFormat.NCX:
        y = opset1.transpose(y, opset1.constant(np.array(inverse(permutation(call.data_format, call.rank)))))
    return ov.Model([y], parameters, "tconv")


def _canonical(call: Call, w: ov.Node) -> ov.Node:
    if call.filter_format not in {FilterFormat.IOX, FilterFormat.GIOX}:
        w = opset1.transpose(w, opset1.constant(np.array(permutation(call.filter_format, call.rank))))
    # Only the grouped operation has the groups as an axis of the filter.
    if (call.dialect.name == GROUPED) == (call.filter_format is FilterFormat.GIOX):
        return w
    channels, out_channels, *kernel = call.written.w.shape
    grouped = [call.groups, channels // call.groups, out_channels, *kernel]
    shape = grouped if call.dialect.name == GROUPED else [channels, out_channels, *kernel]
    return opset1.reshape(w, opset1.constant(np.array(shape)), special_zero=False)


def _operation(call: Call, x: ov.Node, w: ov.Node, output_shape: ov.Node | None) -> ov.Node:
    grouped = call.dialect.name == GROUPED
    operation = opset1.group_convolution_backprop_data if grouped else opset1.convolution_backprop_data
    attributes: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in call.attributes.items()
    }
    strides = attributes.pop("strides", [])
    return operation(x, w, strides, output_shape, **attributes)


def _parameter(tensor: Input, shapes: Shapes) -> ov.Node:
    # The number of axes is no symbol, and so the length of output_shape is none.
    symbolic = shapes == "symbolic" and tensor.role != "output_shape"
    sizes = [-1] * len(tensor.shape) if symbolic else list(tensor.shape)
    shape = ov.PartialShape.dynamic() if shapes == "unranked" else ov.PartialShape(sizes)
    return opset1.parameter(shape, ov.Type.i64 if tensor.dtype is None else _ELEMENT_TYPES[tensor.dtype])


def _tensor(array: Array) -> ov.Tensor:
    """Return an array as OpenVINO takes it."""
    # ascontiguousarray would give a scalar an axis.
    array = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    if array.dtype == ml_dtypes.bfloat16:
        return ov.Tensor(array.view(np.uint16), ov.Shape(array.shape), ov.Type.bf16)
    return ov.Tensor(array.copy())


def inferred(compiled: ov.CompiledModel, fed: Iterable[Array]) -> Array:
    """Return the output of a compiled model.

    Raises:
        RuntimeError: the runtime refuses what it is fed.
    """
    request, output = compiled.create_infer_request(), compiled.outputs[0]
    for index, array in enumerate(fed):
        request.set_input_tensor(index, _tensor(array))
    if output.get_partial_shape().is_static:
        request.set_output_tensor(0, _nan_filled(output))
    request.infer()
    return _array(request.get_output_tensor(0))


def _nan_filled(output: ov.ConstOutput) -> ov.Tensor:
    """Return an output full of NaN, so that elements which the runtime does not write are noticed."""
    tensor = ov.Tensor(output.get_element_type(), output.get_shape())
    tensor.data.view(np.uint8)[...] = 0xFF
    return tensor


def _array(tensor: ov.Tensor) -> Array:
    if tensor.element_type == ov.Type.bf16:
        bits = np.array(tensor.data).tobytes()
        return np.frombuffer(bits, dtype=ml_dtypes.bfloat16).reshape(tuple(tensor.shape))
    return np.array(tensor.data)

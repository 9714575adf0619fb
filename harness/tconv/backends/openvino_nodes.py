"""OpenVINO's own operations ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1: a call's model, inferred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import openvino as ov
from openvino import opset1

from tconv.backends.openvino import GROUPED
from tconv.backends.openvino_graph import ELEMENT_TYPES, outputs_of
from tconv.cases.layouts import inverse, permutation
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.cases.call import Call, Input
    from tconv.cases.case import Shapes
    from tconv.cases.graph import Graph
    from tconv.vocabulary import Array

_NOT_EXECUTED = frozenset({"Input", "Output", "Const"})


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
    if call.graph is not None:
        return ov.Model(_surrounded(call.graph, nodes), parameters, "tconv")
    x = nodes["x"]
    if call.data_format is not DataFormat.NCX:
        x = opset1.transpose(x, opset1.constant(np.array(permutation(call.data_format, call.rank))))
    y = _operation(call, x, _canonical(call, nodes["w"]), nodes.get("output_shape"))
    if call.data_format is not DataFormat.NCX:
        y = opset1.transpose(y, opset1.constant(np.array(inverse(permutation(call.data_format, call.rank)))))
    return ov.Model([y], parameters, "tconv")


def _surrounded(graph: Graph, tensors: Mapping[str, ov.Node]) -> list[ov.Output]:
    """Return the outputs of a graph, the one that is compared first.

    Args:
        graph: the graph.
        tensors: its inputs and constants by name.
    """
    outputs: dict[str, ov.Output] = {name: node.output(0) for name, node in tensors.items()}
    for node in graph.nodes:
        inputs = [outputs[name] for name in node.inputs]
        made = outputs_of(node, inputs) if node.call is None else _operator(node.call, *inputs).outputs()
        outputs.update(zip(node.outputs, made, strict=True))
    return [outputs[name] for name in (graph.output, *graph.also)]


def _operator(call: Call, x: ov.Output, w: ov.Output) -> ov.Node:
    """Return the operator itself, in a graph: its output_shape is a constant."""
    sizes = [opset1.constant(np.array(part.values)) for part in call.inputs if part.role == "output_shape"]
    return _operation(call, x, _canonical(call, w), *(sizes or [None]))


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
    return opset1.parameter(shape, ov.Type.i64 if tensor.dtype is None else ELEMENT_TYPES[tensor.dtype])


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


def executed(compiled: ov.CompiledModel) -> tuple[str, ...]:
    """Return the nodes that are executed, each with the element type that its kernel computes in."""
    nodes = [node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops()]
    found = [(info["layerType"].astype(str), info["primitiveType"].astype(str)) for info in nodes]
    # Such as brgconv_avx512_i8. The precision that the runtime names is that of the filter, whatever the kernel is.
    return tuple(f"{kind} {kernel.rpartition('_')[2].lower()}" for kind, kernel in found if kind not in _NOT_EXECUTED)


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

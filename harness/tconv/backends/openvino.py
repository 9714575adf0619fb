"""OpenVINO's own operations ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1 on its CPU plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import openvino as ov
from openvino import opset1

from tconv.backends import BackendInfo
from tconv.backends.openvino_device import Device, simd, version
from tconv.backends.outcome import Broke, Produced, Refused, Unsupported
from tconv.cases.layouts import inverse, permutation
from tconv.shown_texts import beginning, one_line
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call, Input
    from tconv.cases.case import Shapes
    from tconv.vocabulary import Array

_PLAIN = "openvino/ConvolutionBackpropData-1"
_GROUPED = "openvino/GroupConvolutionBackpropData-1"
_ELEMENT_TYPES = {DType.F32: ov.Type.f32, DType.F16: ov.Type.f16, DType.BF16: ov.Type.bf16, DType.F64: ov.Type.f64}
_NOT_IMPLEMENTED = ("Unsupported operation of type", "CPU plug-in doesn't support")
_REPETITIONS = 8


class OpenVino:
    """A model of one operation, with Transpose and Reshape for layouts that the operation does not have.

    Args:
        options: values of `OPTIONS`, by name.
    """

    OPTIONS = Device.OPTIONS

    def __init__(self, **options: str) -> None:
        self._device = Device(**options)

    def info(self) -> BackendInfo:
        """Return OpenVINO's version and how it is set up."""
        return BackendInfo("openvino", version(), (_PLAIN, _GROUPED), self._device.environment, simd=simd())

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Build the model, compile it, infer. An exception while building or compiling is a refusal."""
        if call.shapes != "static" and 0 in call.inputs[0].shape:
            # Some of these calls write outside their memory, and the process dies of it during a later case, which
            # would be blamed. Run several times, it dies during this one.
            for _ in range(_REPETITIONS):
                self._run(call, arrays)
        return self._run(call, arrays)

    def _run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        try:
            result, parameters = _result(call, arrays)
            model = ov.Model([result], parameters, "tconv")
        except RuntimeError as error:
            return Refused(said(error))
        return outcome(self._device, model, call, arrays)


def outcome(device: Device, model: ov.Model, call: Call, arrays: Mapping[str, Array]) -> Outcome:
    """Compile a call's model for the device, infer, and return what came of it."""
    try:
        compiled = device.compiled(model)
    except RuntimeError as error:
        message = said(error)
        return (Unsupported if any(words in message for words in _NOT_IMPLEMENTED) else Refused)(message)
    try:
        return Produced(_inferred(compiled, call.feeds(arrays).values()))
    except RuntimeError as error:
        # Sizes that the model does not have are not known before: what is wrong with them is refused here.
        return Broke(said(error)) if _has_sizes(call) else Refused(said(error))


def _inferred(compiled: ov.CompiledModel, fed: Iterable[Array]) -> Array:
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


def _has_sizes(call: Call) -> bool:
    """Return whether the model has all sizes: those that are declared, and output_shape as a constant."""
    return call.shapes == "static" and all(tensor.constant for tensor in call.inputs if tensor.role == "output_shape")


def said(error: Exception) -> str:
    """Return the beginning of an exception's message in one line: it has the check that failed, which waivers name."""
    return beginning(one_line(str(error)), 500)


def _result(call: Call, arrays: Mapping[str, Array]) -> tuple[ov.Node, list[ov.Node]]:
    """Return the node with a call's output, and the parameters that it is computed from."""
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
        x = opset1.transpose(x, opset1.constant(np.array(permutation(call.rank, call.data_format))))
    y = _operation(call, x, _canonical(call, nodes["w"]), nodes.get("output_shape"))
    if call.data_format is not DataFormat.NCX:
        y = opset1.transpose(y, opset1.constant(np.array(inverse(permutation(call.rank, call.data_format)))))
    return y, parameters


def _canonical(call: Call, w: ov.Node) -> ov.Node:
    if call.filter_format is FilterFormat.XOI:
        w = opset1.transpose(w, opset1.constant(np.array([call.rank + 1, call.rank, *range(call.rank)])))
    # Only the grouped operation has the groups as an axis of the filter.
    if (call.dialect.name == _GROUPED) == (call.filter_format is FilterFormat.GIOX):
        return w
    channels, out_channels, *kernel = call.written.w.shape
    grouped = [call.groups, channels // call.groups, out_channels, *kernel]
    shape = grouped if call.dialect.name == _GROUPED else [channels, out_channels, *kernel]
    return opset1.reshape(w, opset1.constant(np.array(shape)), special_zero=False)


def _operation(call: Call, x: ov.Node, w: ov.Node, output_shape: ov.Node | None) -> ov.Node:
    grouped = call.dialect.name == _GROUPED
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
    # ascontiguousarray would give a scalar an axis.
    array = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    if array.dtype == ml_dtypes.bfloat16:
        return ov.Tensor(array.view(np.uint16), ov.Shape(array.shape), ov.Type.bf16)
    return ov.Tensor(array.copy())


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

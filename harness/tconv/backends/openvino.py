"""OpenVINO's own operations ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1 on its CPU plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import openvino as ov
from openvino import opset1

from tconv.backends import BackendInfo
from tconv.backends.outcome import Broke, Produced, Refused, Unsupported
from tconv.cases.layouts import inverse, permutation
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call, Input
    from tconv.vocabulary import Array

_PLAIN = "openvino/ConvolutionBackpropData-1"
_GROUPED = "openvino/GroupConvolutionBackpropData-1"
_ELEMENTS = {DType.F32: ov.Type.f32, DType.F16: ov.Type.f16, DType.BF16: ov.Type.bf16, DType.F64: ov.Type.f64}
_NO_NODE = "Unsupported operation of type"
_TIMES = 8
# The default hint is bf16 on processors that have it; a case names the precision that it wants.
_SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}


class OpenVino:
    """One operation a model; layouts that it does not have go through its Transpose."""

    def __init__(self) -> None:
        self._core = ov.Core()

    def info(self) -> BackendInfo:
        """Return OpenVINO's version and how it is set up."""
        return BackendInfo("openvino", version(), (_PLAIN, _GROUPED), environment(self._core))

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Build the model, compile it, infer. What building or compiling throws is a refusal."""
        if call.symbolic and 0 in call.inputs[0].shape:
            # Some of these write outside their memory, and the process dies of it in a later case that has no part in
            # it. Asked several times, it dies in this one.
            for _ in range(_TIMES):
                self._run(call, arrays)
        return self._run(call, arrays)

    def _run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        try:
            model = _model(call, arrays)
        except RuntimeError as error:
            return Refused(one_line(error))
        made = compiled(self._core, model)
        if not isinstance(made, ov.CompiledModel):
            return made
        return inferred(made, [arrays[one.role] for one in call.inputs if not one.constant], call)


def version() -> str:
    """Return the release, without the build that follows it."""
    return str(ov.__version__).partition("-")[0]


def environment(core: ov.Core) -> dict[str, str]:
    """Return what a result may depend on: the device, its precision, threads."""
    device = str(core.get_property("CPU", "FULL_DEVICE_NAME"))
    return {"device": device, "build": str(ov.__version__)} | {
        name.lower(): str(value) for name, value in _SETTINGS.items()
    }


def compiled(core: ov.Core, model: ov.Model) -> ov.CompiledModel | Refused | Unsupported:
    """Return the model compiled for the CPU, or why it is not."""
    try:
        return core.compile_model(model, "CPU", _SETTINGS)
    except RuntimeError as error:
        message = one_line(error)
        return Unsupported(message) if _NO_NODE in message else Refused(message)


def inferred(made: ov.CompiledModel, feeds: Sequence[Array], call: Call) -> Produced | Broke | Refused:
    """Return the output for the arrays that are fed, in the order of the model's inputs."""
    try:
        request = made.create_infer_request()
        for index, array in enumerate(feeds):
            request.set_input_tensor(index, _tensor(array))
        if made.output(0).get_partial_shape().is_static:
            request.set_output_tensor(0, _unwritten(made.output(0)))
        request.infer()
        return Produced(_array(request.get_output_tensor(0)))
    except RuntimeError as error:
        # With symbolic sizes the shapes are first seen here, and what they break is refused here.
        return Refused(one_line(error)) if call.symbolic else Broke(one_line(error))


def one_line(error: Exception) -> str:
    """Return an exception's message in one line of bearable length."""
    return " ".join(str(error).split())[:500]


def _model(call: Call, arrays: Mapping[str, Array]) -> ov.Model:
    fed = []
    nodes = {}
    for one in call.inputs:
        if one.role == "output_shape":
            # opset1.constant takes no empty list.
            nodes[one.role] = ov.op.Constant(ov.Tensor(np.array(one.values, dtype=np.int64)))
        elif one.constant:
            nodes[one.role] = ov.op.Constant(_tensor(arrays[one.role]))
        else:
            nodes[one.role] = _parameter(one, symbolic=call.symbolic)
            fed.append(nodes[one.role])
    x = nodes["x"]
    if call.data_format is not DataFormat.NCX:
        x = opset1.transpose(x, opset1.constant(np.array(permutation(call.rank, call.data_format))))
    y = _operation(call, x, _canonical(call, nodes["w"]), nodes.get("output_shape"))
    if call.data_format is not DataFormat.NCX:
        y = opset1.transpose(y, opset1.constant(np.array(inverse(permutation(call.rank, call.data_format)))))
    return ov.Model([y], fed, "tconv")


def _canonical(call: Call, w: ov.Node) -> ov.Node:
    if call.filter_format is FilterFormat.XOI:
        taps = call.rank
        w = opset1.transpose(w, opset1.constant(np.array([taps + 1, taps, *range(taps)])))
    # The grouped operation alone wants the groups as a dimension of their own.
    if (call.dialect.name == _GROUPED) == (call.filter_format is FilterFormat.GIOX):
        return w
    channels, out_channels, *kernel = call.written.w.shape
    grouped = [call.groups, channels // call.groups, out_channels, *kernel]
    shape = grouped if call.dialect.name == _GROUPED else [channels, out_channels, *kernel]
    return opset1.reshape(w, opset1.constant(np.array(shape)), special_zero=False)


def _operation(call: Call, x: ov.Node, w: ov.Node, output_shape: ov.Node | None) -> ov.Node:
    make = opset1.group_convolution_backprop_data if call.dialect.name == _GROUPED else opset1.convolution_backprop_data
    words: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in call.attributes.items()
    }
    strides = words.pop("strides", [])
    return make(x, w, strides, output_shape, **words)


def _parameter(one: Input, *, symbolic: bool) -> ov.Node:
    shape = ov.PartialShape([-1] * len(one.shape)) if symbolic else ov.PartialShape(list(one.shape))
    return opset1.parameter(shape, _ELEMENTS[one.dtype or DType.F32])


def _tensor(array: Array) -> ov.Tensor:
    # Of a scalar numpy would make a list of one.
    array = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    if array.dtype == ml_dtypes.bfloat16:
        return ov.Tensor(array.view(np.uint16), ov.Shape(array.shape), ov.Type.bf16)
    return ov.Tensor(array.copy())


def _unwritten(output: ov.ConstOutput) -> ov.Tensor:
    """Return an output full of NaN, so that memory that is not written is seen, whatever was there before."""
    tensor = ov.Tensor(output.get_element_type(), output.get_shape())
    tensor.data.view(np.uint8)[...] = 0xFF
    return tensor


def _array(tensor: ov.Tensor) -> Array:
    if tensor.element_type == ov.Type.bf16:
        raw = np.array(tensor.data).tobytes()
        return np.frombuffer(raw, dtype=ml_dtypes.bfloat16).reshape(tuple(tensor.shape))
    return np.array(tensor.data)

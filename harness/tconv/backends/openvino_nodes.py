"""OpenVINO's own operations ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1: a call's model, inferred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import openvino as ov
import openvino.opset1
import openvino.opset13

from tconv.backends.openvino import model_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_NOT_EXECUTED = frozenset({"Input", "Output", "Const"})


def model_of(call: Call, arrays: Mapping[str, Array]) -> ov.Model:
    """Return the model of a call, made by the exported lines.

    Raises:
        RuntimeError: the runtime refuses it.
    """
    names: dict[str, Any] = {"np": np, "openvino": ov, "tensor": _tensor, **call.operands(arrays)}
    exec("\n".join(model_lines(call)), names)  # noqa: S102 - no text in them is from outside
    model: ov.Model = names["ov_model"]
    return model


def _tensor(array: Array) -> ov.Tensor:
    """Return an array as a tensor of OpenVINO."""
    # ascontiguousarray would add an axis to a scalar.
    array = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    if array.dtype == ml_dtypes.bfloat16:
        return ov.Tensor(array.view(np.uint16), ov.Shape(array.shape), ov.Type.bf16)
    return ov.Tensor(array.copy())


def inferred(compiled: ov.CompiledModel, fed: Iterable[Array]) -> Array:
    """Return the output of a compiled model.

    Raises:
        RuntimeError: the runtime refuses the inputs.
    """
    request, output = compiled.create_infer_request(), compiled.outputs[0]
    for index, array in enumerate(fed):
        request.set_input_tensor(index, _tensor(array))
    if output.get_partial_shape().is_static:
        request.set_output_tensor(0, _nan_filled(output))
    request.infer()
    return _array(request.get_output_tensor(0))


def executed(compiled: ov.CompiledModel) -> tuple[str, ...]:
    """Return the executed nodes, each with the element type of its kernel."""
    nodes = [node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops()]
    found = [(info["layerType"].astype(str), info["primitiveType"].astype(str)) for info in nodes]
    # For example brgconv_avx512_i8. The precision that the runtime reports is always that of the filter.
    return tuple(f"{kind} {kernel.rpartition('_')[2].lower()}" for kind, kernel in found if kind not in _NOT_EXECUTED)


def _nan_filled(output: ov.ConstOutput) -> ov.Tensor:
    """Return an output full of NaN, so that elements which the runtime does not write show."""
    tensor = ov.Tensor(output.get_element_type(), output.get_shape())
    tensor.data.view(np.uint8)[...] = 0xFF
    return tensor


def _array(tensor: ov.Tensor) -> Array:
    if tensor.element_type == ov.Type.bf16:
        bits = np.array(tensor.data).tobytes()
        return np.frombuffer(bits, dtype=ml_dtypes.bfloat16).reshape(tuple(tensor.shape))
    return np.array(tensor.data)

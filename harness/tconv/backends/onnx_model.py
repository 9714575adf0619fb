"""The ONNX model of a call: one ConvTranspose, and a Transpose or Reshape where a layout is not ONNX's."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import onnx
from onnx import AttributeProto, TensorProto, helper

from tconv.cases.layouts import inverse, permutation
from tconv.dialects import DIALECTS
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from tconv.cases.call import Call, Input, Value
    from tconv.cases.case import Shapes

ELEMENT_TYPES = {
    DType.F32: TensorProto.FLOAT,
    DType.F16: TensorProto.FLOAT16,
    DType.BF16: TensorProto.BFLOAT16,
    DType.F64: TensorProto.DOUBLE,
}

ONNX_DIALECT_NAMES = tuple(name for name, dialect in reversed(DIALECTS.items()) if dialect.opset is not None)
"""The newest first."""

# The first opset whose Reshape has `allowzero`: without it, a size of 0 stands for the input's size.
_ALLOWZERO_OPSET = 14
# Before IR 4 an initializer is an input that may be overridden, and so no constant.
_CONSTANTS_IR_VERSION = 4


def build(call: Call, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> onnx.ModelProto:
    """Return the model of a call in an ONNX dialect.

    Constant inputs become initializers, the others inputs of the graph, in their order. Of the output at most the rank
    is declared: the runtime has to find the shape.

    Args:
        call: in the words of `onnx/ConvTranspose-*`.
        arrays: the operands by role, in the call's layouts.
    """
    nodes, names = [], []
    for tensor in call.inputs:
        conversion = _canonical(tensor, call)
        nodes += conversion
        names.append(conversion[-1].output[0] if conversion else tensor.name)
    plain = call.data_format is DataFormat.NCX
    node = helper.make_node("ConvTranspose", names, ["Y" if plain else "Y_ncx"])
    node.attribute.extend(_attribute(name, value) for name, value in call.attributes.items())
    nodes.append(node)
    if not plain:
        axes = inverse(permutation(call.rank, call.data_format))
        nodes.append(helper.make_node("Transpose", ["Y_ncx"], ["Y"], perm=axes))
    inputs = [_value_info(tensor, call.shapes) for tensor in call.inputs if not tensor.constant]
    constants = [_constant(tensor, arrays[tensor.role]) for tensor in call.inputs if tensor.constant]
    constants += [_iox_shape(tensor) for tensor in call.inputs if _is_giox(tensor, call)]
    sizes = None if call.shapes == "unranked" else [None] * len(call.inputs[0].shape)
    output = helper.make_tensor_value_info("Y", ELEMENT_TYPES[call.dtype], sizes)
    graph = helper.make_graph(nodes, "tconv", inputs, [output], constants)
    opsets = [helper.make_opsetid("", _opset(call))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_ir_version(_opset(call)), producer_name="tconv")


def _opset(call: Call) -> int:
    if call.dialect.opset is None:
        raise ValueError(f"a model must be of a dialect of ONNX (got {call.dialect.name})")
    return call.dialect.opset


@cache
def _ir_version(opset: int) -> int:
    return int(max(_CONSTANTS_IR_VERSION, helper.find_min_ir_version_for([helper.make_opsetid("", opset)])))


def _canonical(tensor: Input, call: Call) -> list[onnx.NodeProto]:
    """Return the nodes that convert an input to NCX or IOX; none where it has that layout."""
    name = f"{tensor.name}_canonical"
    if _is_giox(tensor, call):
        return _without_groups(tensor, name, _opset(call))
    if tensor.role == "x" and call.data_format is not DataFormat.NCX:
        axes = permutation(call.rank, call.data_format)
    elif tensor.role == "w" and call.filter_format is FilterFormat.XOI:
        rank = len(tensor.shape) - 2
        axes = [rank + 1, rank, *range(rank)]
    else:
        return []
    return [helper.make_node("Transpose", [tensor.name], [name], perm=axes)]


def _without_groups(w: Input, name: str, opset: int) -> list[onnx.NodeProto]:
    """Return the nodes that convert a GIOX filter to IOX; the output of the last is `name`."""
    if 0 not in w.shape:
        return [helper.make_node("Reshape", [w.name, f"{w.name}_shape"], [name])]
    if opset >= _ALLOWZERO_OPSET:
        return [helper.make_node("Reshape", [w.name, f"{w.name}_shape"], [name], allowzero=1)]
    parts, filters = ([f"{w.name}_{word}_{group}" for group in range(w.shape[0])] for word in ("part", "filter"))
    return [
        helper.make_node("Split", [w.name], parts, axis=0),
        *(helper.make_node("Squeeze", [part], [iox], axes=[0]) for part, iox in zip(parts, filters, strict=True)),
        helper.make_node("Concat", filters, [name], axis=0),
    ]


def _is_giox(tensor: Input, call: Call) -> bool:
    return tensor.role == "w" and call.filter_format is FilterFormat.GIOX


def _iox_shape(w: Input) -> onnx.TensorProto:
    """Return the constant from which Reshape reads the IOX shape of a GIOX filter."""
    groups, channels, *rest = w.shape
    shape = [groups * channels, *rest]
    return helper.make_tensor(f"{w.name}_shape", TensorProto.INT64, [len(shape)], shape)


def _attribute(name: str, value: Value) -> AttributeProto:
    if isinstance(value, tuple):
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=value)
    if isinstance(value, int):
        return AttributeProto(name=name, type=AttributeProto.INT, i=value)
    return AttributeProto(name=name, type=AttributeProto.STRING, s=value.encode())


def _value_info(tensor: Input, shapes: Shapes) -> onnx.ValueInfoProto:
    symbols = [f"{tensor.name}{axis}" for axis in range(len(tensor.shape))]
    declared: dict[Shapes, Sequence[int | str] | None]
    declared = {"static": tensor.shape, "symbolic": symbols, "unranked": None}
    shape = declared[shapes]
    return helper.make_tensor_value_info(tensor.name, ELEMENT_TYPES[tensor.dtype or DType.F32], shape)


def _constant(tensor: Input, array: np.ndarray[Any, np.dtype[Any]]) -> onnx.TensorProto:
    data_type = ELEMENT_TYPES[tensor.dtype or DType.F32]
    return TensorProto(name=tensor.name, data_type=data_type, dims=tensor.shape, raw_data=array.tobytes())

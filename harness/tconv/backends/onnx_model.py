"""The ONNX model of a call: one ConvTranspose, and a Transpose or Reshape where a layout is not ONNX's."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import starmap
from typing import TYPE_CHECKING

from onnx import (
    AttributeProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    helper,
)

from tconv.backends.wire_format import field
from tconv.cases.layouts import inverse, permutation
from tconv.dialects import DIALECTS
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call, Input, Value
    from tconv.cases.case import Shapes
    from tconv.vocabulary import Array, Ints

ELEMENT_TYPES = {
    DType.F32: TensorProto.FLOAT,
    DType.F16: TensorProto.FLOAT16,
    DType.BF16: TensorProto.BFLOAT16,
    DType.F64: TensorProto.DOUBLE,
}

ONNX_DIALECT_NAMES = tuple(name for name, dialect in reversed(DIALECTS.items()) if dialect.opset is not None)
"""The newest first."""

# Numbers of fields in ONNX's onnx.proto: of ModelProto, GraphProto, NodeProto and TensorProto.
_GRAPH = 7
_NODE, _NAME, _CONSTANT, _INPUT, _OUTPUT = 1, 2, 5, 11, 12
_ATTRIBUTE = 5
_RAW_DATA = 9

# The first opset whose Reshape has `allowzero`: without it, a size of 0 stands for the input's size.
_ALLOWZERO_OPSET = 14
# Before IR 4 an initializer is an input that may be overridden, and so no constant.
_CONSTANTS_IR_VERSION = 4


def build(call: Call, arrays: Mapping[str, Array]) -> ModelProto:
    """Return the model of a call in an ONNX dialect.

    Constant inputs become initializers, the others inputs of the graph, in their order. Of the output at most the rank
    is declared: the runtime has to find the shape.

    Args:
        call: in the words of `onnx/ConvTranspose-*`.
        arrays: the operands by role, in the call's layouts.
    """
    model: ModelProto = ModelProto.FromString(serialized(call, arrays))
    return model


def serialized(call: Call, arrays: Mapping[str, Array]) -> bytes:
    """Return the model of `build` in bytes: what models have in common is serialized once and kept."""
    beginning, end = _around(_opset(call))
    return b"".join((beginning, field(_GRAPH, _graph(call, arrays)), end))


def _graph(call: Call, arrays: Mapping[str, Array]) -> bytes:
    """Return the fields of a call's graph."""
    nodes: list[bytes] = []
    names = []
    for tensor in call.inputs:
        conversion = _canonical(tensor, call)
        nodes += conversion
        names.append(f"{tensor.name}_canonical" if conversion else tensor.name)
    names += [""] if call.unnamed_bias else []
    plain = call.data_format is DataFormat.NCX
    node = _node("ConvTranspose", tuple(names), "Y" if plain else "Y_ncx")
    nodes.append(field(_NODE, node + b"".join(starmap(_attribute, call.attributes.items()))))
    if not plain:
        nodes.append(_transpose("Y_ncx", "Y", tuple(inverse(permutation(call.rank, call.data_format)))))
    constants = [_constant(tensor, arrays[tensor.role]) for tensor in call.inputs if tensor.constant]
    constants += [_iox_shape(tensor) for tensor in call.inputs if _is_giox(tensor, call)]
    inputs = [_value_info(tensor, call.shapes) for tensor in call.inputs if not tensor.constant]
    sizes = None if call.shapes == "unranked" else (None,) * len(call.inputs[0].shape)
    output = _declared(_OUTPUT, "Y", ELEMENT_TYPES[call.dtype], sizes)
    return b"".join((*nodes, field(_NAME, b"tconv"), *constants, *inputs, output))


@cache
def _around(opset: int) -> tuple[bytes, bytes]:
    """Return what a model has before its graph and behind it."""
    opsets = [OperatorSetIdProto(domain="", version=opset)]
    before = ModelProto(ir_version=_ir_version(opset), producer_name="tconv")
    return before.SerializeToString(), ModelProto(opset_import=opsets).SerializeToString()


def _opset(call: Call) -> int:
    if call.dialect.opset is None:
        raise ValueError(f"a model must be of a dialect of ONNX (got {call.dialect.name})")
    return call.dialect.opset


def _ir_version(opset: int) -> int:
    return int(max(_CONSTANTS_IR_VERSION, helper.find_min_ir_version_for([helper.make_opsetid("", opset)])))


def _canonical(tensor: Input, call: Call) -> list[bytes]:
    """Return the nodes that convert an input to NCX or IOX; none if it has that layout."""
    target = f"{tensor.name}_canonical"
    if _is_giox(tensor, call):
        return [field(_NODE, node.SerializeToString()) for node in _without_groups(tensor, target, _opset(call))]
    if tensor.role == "x" and call.data_format is not DataFormat.NCX:
        axes = permutation(call.rank, call.data_format)
    elif tensor.role == "w" and call.filter_format is FilterFormat.XOI:
        rank = len(tensor.shape) - 2
        axes = [rank + 1, rank, *range(rank)]
    else:
        return []
    return [_transpose(tensor.name, target, tuple(axes))]


@lru_cache(maxsize=4096)
def _transpose(source: str, target: str, axes: Ints) -> bytes:
    return field(_NODE, _node("Transpose", (source,), target) + _attribute("perm", axes))


@lru_cache(maxsize=4096)
def _node(kind: str, inputs: tuple[str, ...], output: str) -> bytes:
    """Return a node without its attributes, which are its last field."""
    return bytes(NodeProto(op_type=kind, input=inputs, output=[output]).SerializeToString())


def _without_groups(w: Input, name: str, opset: int) -> list[NodeProto]:
    """Return the nodes that convert a GIOX filter to IOX; the output of the last is `name`."""
    source = w.name
    if 0 not in w.shape:
        return [helper.make_node("Reshape", [source, f"{source}_shape"], [name])]
    if opset >= _ALLOWZERO_OPSET:
        return [helper.make_node("Reshape", [source, f"{source}_shape"], [name], allowzero=1)]
    parts, filters = ([f"{source}_{word}_{group}" for group in range(w.shape[0])] for word in ("part", "filter"))
    return [
        helper.make_node("Split", [source], parts, axis=0),
        *(helper.make_node("Squeeze", [part], [iox], axes=[0]) for part, iox in zip(parts, filters, strict=True)),
        helper.make_node("Concat", filters, [name], axis=0),
    ]


def _is_giox(tensor: Input, call: Call) -> bool:
    return tensor.role == "w" and call.filter_format is FilterFormat.GIOX


def _iox_shape(w: Input) -> bytes:
    """Return the constant from which Reshape reads the IOX shape of a GIOX filter."""
    groups, channels, *rest = w.shape
    shape = [groups * channels, *rest]
    tensor = helper.make_tensor(f"{w.name}_shape", TensorProto.INT64, [len(shape)], shape)
    return field(_CONSTANT, tensor.SerializeToString())


@lru_cache(maxsize=4096)
def _attribute(name: str, value: Value) -> bytes:
    if isinstance(value, tuple):
        attribute = AttributeProto(name=name, type=AttributeProto.INTS, ints=value)
    elif isinstance(value, int):
        attribute = AttributeProto(name=name, type=AttributeProto.INT, i=value)
    else:
        attribute = AttributeProto(name=name, type=AttributeProto.STRING, s=value.encode())
    return field(_ATTRIBUTE, attribute.SerializeToString())


def _value_info(tensor: Input, shapes: Shapes) -> bytes:
    sizes: tuple[int | str, ...] | None = None if shapes == "unranked" else tensor.shape
    if shapes == "symbolic":
        sizes = tuple(f"{tensor.name}{axis}" for axis in range(len(tensor.shape)))
    return _declared(_INPUT, tensor.name, ELEMENT_TYPES[tensor.dtype or DType.F32], sizes)


@lru_cache(maxsize=4096)
def _declared(number: int, name: str, element_type: int, shape: tuple[int | str | None, ...] | None) -> bytes:
    """Return the declaration of an input or output."""
    return field(number, helper.make_tensor_value_info(name, element_type, shape).SerializeToString())


def _constant(tensor: Input, array: Array) -> bytes:
    described = _described(tensor.name, ELEMENT_TYPES[tensor.dtype or DType.F32], tensor.shape)
    return field(_CONSTANT, described + field(_RAW_DATA, array.tobytes()))


@lru_cache(maxsize=4096)
def _described(name: str, data_type: int, dims: Ints) -> bytes:
    """Return a tensor without its elements, which are its last field."""
    return bytes(TensorProto(name=name, data_type=data_type, dims=dims).SerializeToString())

"""The ONNX model of a call: one ConvTranspose, and a Transpose or Reshape where a layout is not ONNX's."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

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
    from collections.abc import Mapping, Sequence

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
    return _model([_graph(call, arrays)], _opset(call))


def serialized_together(calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]) -> bytes:
    """Return one model of several calls of a dialect, the names of each begin with `prefix` of its place.

    Args:
        calls: as of `build`.
        arrays: the operands of each.
    """
    graphs = [
        _graph(call, operands, prefix(place)) for place, (call, operands) in enumerate(zip(calls, arrays, strict=True))
    ]
    return _model(graphs, _opset(calls[0]))


def prefix(place: int) -> str:
    """Return what the names of a call's nodes and tensors begin with in a model of several."""
    return f"call{place}_"


def fed_together(calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Return what is fed to a model of several calls, by the names of its inputs."""
    fed = ((prefix(place), call.feeds(arrays[place])) for place, call in enumerate(calls))
    return {f"{start}{name}": array for start, feeds in fed for name, array in feeds.items()}


class _Graph(NamedTuple):
    """The parts of a graph, each serialized as a field of it."""

    nodes: list[bytes]
    constants: list[bytes]
    inputs: list[bytes]
    output: bytes


def _graph(call: Call, arrays: Mapping[str, Array], start: str = "") -> _Graph:
    """Return the graph of a call; where names begin with something, the nodes have names too."""
    nodes: list[bytes] = []
    names = []
    for tensor in call.inputs:
        conversion = _canonical(tensor, call, start, len(nodes))
        nodes += conversion
        names.append(f"{start}{tensor.name}_canonical" if conversion else start + tensor.name)
    plain = call.data_format is DataFormat.NCX
    result = f"{start}Y" if plain else f"{start}Y_ncx"
    node = _node("ConvTranspose", tuple(names), result, _name(start, len(nodes)))
    nodes.append(field(_NODE, node + b"".join(starmap(_attribute, call.attributes.items()))))
    if not plain:
        axes = tuple(inverse(permutation(call.rank, call.data_format)))
        nodes.append(_transpose(result, f"{start}Y", axes, _name(start, len(nodes))))
    constants = [_constant(tensor, arrays[tensor.role], start) for tensor in call.inputs if tensor.constant]
    constants += [_iox_shape(tensor, start) for tensor in call.inputs if _is_giox(tensor, call)]
    inputs = [_value_info(tensor, call.shapes, start) for tensor in call.inputs if not tensor.constant]
    sizes = None if call.shapes == "unranked" else (None,) * len(call.inputs[0].shape)
    return _Graph(nodes, constants, inputs, _declared(_OUTPUT, f"{start}Y", ELEMENT_TYPES[call.dtype], sizes))


def _model(graphs: Sequence[_Graph], opset: int) -> bytes:
    parts = (
        *(node for graph in graphs for node in graph.nodes),
        field(_NAME, b"tconv"),
        *(constant for graph in graphs for constant in graph.constants),
        *(value_info for graph in graphs for value_info in graph.inputs),
        *(graph.output for graph in graphs),
    )
    beginning, end = _around(opset)
    return b"".join((beginning, field(_GRAPH, b"".join(parts)), end))


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


def _name(start: str, number: int) -> str:
    """Return the name of a node: of a model of several calls alone, in which a refusal may name it."""
    return f"{start}{number}" if start else ""


def _canonical(tensor: Input, call: Call, start: str, number: int) -> list[bytes]:
    """Return the nodes that convert an input to NCX or IOX, from this number on; none where it has that layout."""
    source, target = start + tensor.name, f"{start}{tensor.name}_canonical"
    if _is_giox(tensor, call):
        nodes = _without_groups(tensor, target, _opset(call), start)
        for place, node in enumerate(nodes if start else (), start=number):
            node.name = _name(start, place)
        return [field(_NODE, node.SerializeToString()) for node in nodes]
    if tensor.role == "x" and call.data_format is not DataFormat.NCX:
        axes = permutation(call.rank, call.data_format)
    elif tensor.role == "w" and call.filter_format is FilterFormat.XOI:
        rank = len(tensor.shape) - 2
        axes = [rank + 1, rank, *range(rank)]
    else:
        return []
    return [_transpose(source, target, tuple(axes), _name(start, number))]


@lru_cache(maxsize=4096)
def _transpose(source: str, target: str, axes: Ints, name: str) -> bytes:
    return field(_NODE, _node("Transpose", (source,), target, name) + _attribute("perm", axes))


@lru_cache(maxsize=4096)
def _node(kind: str, inputs: tuple[str, ...], output: str, name: str) -> bytes:
    """Return a node without its attributes, which are its last field."""
    node = NodeProto(op_type=kind, input=inputs, output=[output])
    if name:
        node.name = name
    return bytes(node.SerializeToString())


def _without_groups(w: Input, name: str, opset: int, start: str) -> list[NodeProto]:
    """Return the nodes that convert a GIOX filter to IOX; the output of the last is `name`."""
    source = start + w.name
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


def _iox_shape(w: Input, start: str) -> bytes:
    """Return the constant from which Reshape reads the IOX shape of a GIOX filter."""
    groups, channels, *rest = w.shape
    shape = [groups * channels, *rest]
    tensor = helper.make_tensor(f"{start}{w.name}_shape", TensorProto.INT64, [len(shape)], shape)
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


def _value_info(tensor: Input, shapes: Shapes, start: str) -> bytes:
    sizes: tuple[int | str, ...] | None = None if shapes == "unranked" else tensor.shape
    if shapes == "symbolic":
        sizes = tuple(f"{start}{tensor.name}{axis}" for axis in range(len(tensor.shape)))
    return _declared(_INPUT, start + tensor.name, ELEMENT_TYPES[tensor.dtype or DType.F32], sizes)


@lru_cache(maxsize=4096)
def _declared(number: int, name: str, element_type: int, shape: tuple[int | str | None, ...] | None) -> bytes:
    """Return the declaration of an input or output."""
    return field(number, helper.make_tensor_value_info(name, element_type, shape).SerializeToString())


def _constant(tensor: Input, array: Array, start: str) -> bytes:
    described = _described(start + tensor.name, ELEMENT_TYPES[tensor.dtype or DType.F32], tensor.shape)
    return field(_CONSTANT, described + field(_RAW_DATA, array.tobytes()))


@lru_cache(maxsize=4096)
def _described(name: str, data_type: int, dims: Ints) -> bytes:
    """Return a tensor without its elements, which are its last field."""
    return bytes(TensorProto(name=name, data_type=data_type, dims=dims).SerializeToString())

"""The ONNX model of a call: one ConvTranspose, and a Transpose or Reshape where a layout is not ONNX's."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    ValueInfoProto,
    helper,
)

from tconv.cases.layouts import inverse, permutation
from tconv.dialects import DIALECTS
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.call import Call, Input, Value
    from tconv.cases.case import Shapes
    from tconv.vocabulary import Array

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


def build(call: Call, arrays: Mapping[str, Array]) -> ModelProto:
    """Return the model of a call in an ONNX dialect.

    Constant inputs become initializers, the others inputs of the graph, in their order. Of the output at most the rank
    is declared: the runtime has to find the shape.

    Args:
        call: in the words of `onnx/ConvTranspose-*`.
        arrays: the operands by role, in the call's layouts.
    """
    return _model(_graph(call, arrays), _opset(call))


def build_together(calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]) -> ModelProto:
    """Return one model of several calls of a dialect, the names of each begin with `prefix` of its place.

    Args:
        calls: as of `build`.
        arrays: the operands of each.
    """
    together = GraphProto()
    for place, (call, operands) in enumerate(zip(calls, arrays, strict=True)):
        part = _graph(call, operands, prefix(place))
        together.MergeFrom(part)
    together.name = "tconv"
    return _model(together, _opset(calls[0]))


def prefix(place: int) -> str:
    """Return what the names of a call's nodes and tensors begin with in a model of several."""
    return f"call{place}_"


def fed_together(calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Return what is fed to a model of several calls, by the names of its inputs."""
    fed = ((prefix(place), call.feeds(arrays[place])) for place, call in enumerate(calls))
    return {f"{start}{name}": array for start, feeds in fed for name, array in feeds.items()}


def _graph(call: Call, arrays: Mapping[str, Array], start: str = "") -> GraphProto:
    """Return the graph of a call; where names begin with something, the nodes have names too."""
    nodes, names = [], []
    for tensor in call.inputs:
        conversion = _canonical(tensor, call, start)
        nodes += conversion
        names.append(conversion[-1].output[0] if conversion else start + tensor.name)
    plain = call.data_format is DataFormat.NCX
    node = NodeProto(op_type="ConvTranspose", input=names, output=[f"{start}Y" if plain else f"{start}Y_ncx"])
    node.attribute.extend(_attribute(name, value) for name, value in call.attributes.items())
    nodes.append(node)
    if not plain:
        axes = inverse(permutation(call.rank, call.data_format))
        nodes.append(_transpose(f"{start}Y_ncx", f"{start}Y", axes))
    if start:
        for number, part in enumerate(nodes):
            part.name = f"{start}{number}"
    constants = [_constant(tensor, arrays[tensor.role], start) for tensor in call.inputs if tensor.constant]
    constants += [_iox_shape(tensor, start) for tensor in call.inputs if _is_giox(tensor, call)]
    sizes = None if call.shapes == "unranked" else (None,) * len(call.inputs[0].shape)
    return GraphProto(
        name="tconv",
        node=nodes,
        input=[_value_info(tensor, call.shapes, start) for tensor in call.inputs if not tensor.constant],
        output=[_declared(f"{start}Y", ELEMENT_TYPES[call.dtype], sizes)],
        initializer=constants,
    )


def _model(graph: GraphProto, opset: int) -> ModelProto:
    opsets = [OperatorSetIdProto(domain="", version=opset)]
    return ModelProto(ir_version=_ir_version(opset), producer_name="tconv", graph=graph, opset_import=opsets)


def _opset(call: Call) -> int:
    if call.dialect.opset is None:
        raise ValueError(f"a model must be of a dialect of ONNX (got {call.dialect.name})")
    return call.dialect.opset


@cache
def _ir_version(opset: int) -> int:
    return int(max(_CONSTANTS_IR_VERSION, helper.find_min_ir_version_for([helper.make_opsetid("", opset)])))


def _canonical(tensor: Input, call: Call, start: str) -> list[NodeProto]:
    """Return the nodes that convert an input to NCX or IOX; none where it has that layout."""
    name = f"{start}{tensor.name}_canonical"
    if _is_giox(tensor, call):
        return _without_groups(tensor, name, _opset(call), start)
    if tensor.role == "x" and call.data_format is not DataFormat.NCX:
        axes = permutation(call.rank, call.data_format)
    elif tensor.role == "w" and call.filter_format is FilterFormat.XOI:
        rank = len(tensor.shape) - 2
        axes = [rank + 1, rank, *range(rank)]
    else:
        return []
    return [_transpose(start + tensor.name, name, axes)]


def _transpose(source: str, target: str, axes: list[int]) -> NodeProto:
    return NodeProto(op_type="Transpose", input=[source], output=[target], attribute=[_attribute("perm", tuple(axes))])


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


def _iox_shape(w: Input, start: str) -> TensorProto:
    """Return the constant from which Reshape reads the IOX shape of a GIOX filter."""
    groups, channels, *rest = w.shape
    shape = [groups * channels, *rest]
    return helper.make_tensor(f"{start}{w.name}_shape", TensorProto.INT64, [len(shape)], shape)


def _attribute(name: str, value: Value) -> AttributeProto:
    if isinstance(value, tuple):
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=value)
    if isinstance(value, int):
        return AttributeProto(name=name, type=AttributeProto.INT, i=value)
    return AttributeProto(name=name, type=AttributeProto.STRING, s=value.encode())


def _value_info(tensor: Input, shapes: Shapes, start: str) -> ValueInfoProto:
    symbols = tuple(f"{start}{tensor.name}{axis}" for axis in range(len(tensor.shape)))
    declared: dict[Shapes, tuple[int | str, ...] | None]
    declared = {"static": tensor.shape, "symbolic": symbols, "unranked": None}
    return _declared(start + tensor.name, ELEMENT_TYPES[tensor.dtype or DType.F32], declared[shapes])


@lru_cache(maxsize=4096)
def _declared(name: str, element_type: int, shape: tuple[int | str | None, ...] | None) -> ValueInfoProto:
    """Return the declaration of a tensor; those of a model are few that come again and again."""
    return helper.make_tensor_value_info(name, element_type, shape)


def _constant(tensor: Input, array: Array, start: str) -> TensorProto:
    data_type = ELEMENT_TYPES[tensor.dtype or DType.F32]
    return TensorProto(name=start + tensor.name, data_type=data_type, dims=tensor.shape, raw_data=array.tobytes())

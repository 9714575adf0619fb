"""The ONNX model of a call: one ConvTranspose, with a Transpose or Reshape if a layout is not ONNX's."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from tconv.backends.onnx_graph import ELEMENT_TYPES, OPSET, made_type, nodes_of
from tconv.cases.layouts import inverse, permutation
from tconv.dialects import DIALECTS
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.call import Call, Input, Value
    from tconv.cases.case import Shapes
    from tconv.cases.graph import Graph
    from tconv.vocabulary import Array

ONNX_DIALECT_NAMES = tuple(name for name, dialect in reversed(DIALECTS.items()) if dialect.opset is not None)
"""The newest first."""

# The first opset whose Reshape has `allowzero`: without it, a size of 0 stands for the input's size.
_ALLOWZERO_OPSET = 14
# Before IR 4 an initializer is an input that may be overridden, not a constant.
_CONSTANTS_IR_VERSION = 4


def build(call: Call, arrays: Mapping[str, Array]) -> ModelProto:
    """Return the model of a call in an ONNX dialect.

    Constant inputs become initializers, the others inputs of the graph, in their order. At most the rank of the output
    is declared: the runtime must find its shape.

    Args:
        call: a call in the words of `onnx/ConvTranspose-*`.
        arrays: the operands by role, in the call's layouts.
    """
    if call.model:
        whole = ModelProto()
        whole.ParseFromString(call.model)
        return whole
    opset = _opset(call)
    model = ModelProto(ir_version=_ir_version(opset), producer_name="tconv")
    model.opset_import.add(domain="", version=opset)
    # Made inside the model: to add a graph copies it, with all its constants.
    graph = model.graph
    graph.name = "tconv"
    if call.graph is not None:
        _add_surroundings(graph, call, call.graph, arrays)
        return model
    names = []
    for tensor in call.inputs:
        conversion = _canonical(tensor, call)
        graph.node.extend(conversion)
        names.append(f"{tensor.name}_canonical" if conversion else tensor.name)
        data_type = ELEMENT_TYPES[tensor.dtype or DType.F32]
        if tensor.constant:
            raw_data = arrays[tensor.role].tobytes()
            graph.initializer.add(name=tensor.name, data_type=data_type, dims=tensor.shape, raw_data=raw_data)
        else:
            graph.input.append(_declared(tensor.name, data_type, _sizes(tensor, call.shapes)))
    graph.initializer.extend(_iox_shape(tensor) for tensor in call.inputs if _is_giox(tensor, call))
    plain = call.data_format is DataFormat.NCX
    graph.node.add(
        op_type="ConvTranspose",
        input=[*names, ""] if call.unnamed_bias else names,
        output=["Y" if plain else "Y_ncx"],
        attribute=[_attribute(name, value) for name, value in call.attributes.items()],
    )
    if not plain:
        graph.node.append(_transpose("Y_ncx", "Y", inverse(permutation(call.data_format, call.rank))))
    rank = None if call.shapes == "unranked" else (None,) * len(call.inputs[0].shape)
    graph.output.append(_declared("Y", ELEMENT_TYPES[call.dtype], rank))
    return model


def _add_surroundings(proto: GraphProto, call: Call, graph: Graph, arrays: Mapping[str, Array]) -> None:
    """Add the nodes and tensors of a graph around the operator."""
    in_nodes = {node.inputs[0] for node in graph.nodes if node.kind == "Constant"}
    for tensor in call.inputs:
        data_type = ELEMENT_TYPES[tensor.dtype or DType.F32]
        if not tensor.constant:
            proto.input.append(_declared(tensor.name, data_type, _sizes(tensor, call.shapes)))
        elif tensor.name not in in_nodes:
            raw_data = arrays[tensor.name].tobytes()
            proto.initializer.add(name=tensor.name, data_type=data_type, dims=tensor.shape, raw_data=raw_data)
    for part in nodes_of(graph, arrays):
        if isinstance(part, NodeProto):
            proto.node.append(part)
        else:
            proto.initializer.append(part)
    types = {name: made_type(node) for node in graph.nodes for name in node.outputs}
    is_flat = any(node.kind == "Reshape" and -1 in node.attributes["shape"] for node in graph.nodes)
    rank = None if call.shapes == "unranked" else (None,) * (call.rank + 2)
    proto.output.append(_declared(graph.output, types[graph.output], (None, None) if rank and is_flat else rank))
    proto.output.extend(_declared(name, types[name], rank) for name in graph.also)


def _opset(call: Call) -> int:
    if call.dialect.opset is None:
        raise ValueError(f"a model must be of a dialect of ONNX (got {call.dialect.name})")
    return call.dialect.opset if call.graph is None else max(call.dialect.opset, OPSET)


@cache
def _ir_version(opset: int) -> int:
    return int(max(_CONSTANTS_IR_VERSION, helper.find_min_ir_version_for([helper.make_opsetid("", opset)])))


def _canonical(tensor: Input, call: Call) -> list[NodeProto]:
    """Return the nodes that convert an input to NCX or IOX; none if it has that layout."""
    target = f"{tensor.name}_canonical"
    if _is_giox(tensor, call):
        return _without_groups(tensor, target, _opset(call))
    if tensor.role == "x" and call.data_format is not DataFormat.NCX:
        return [_transpose(tensor.name, target, permutation(call.data_format, call.rank))]
    if tensor.role == "w" and call.filter_format is not FilterFormat.IOX:
        return [_transpose(tensor.name, target, permutation(call.filter_format, len(tensor.shape) - 2))]
    return []


def _transpose(source: str, target: str, axes: Sequence[int]) -> NodeProto:
    return NodeProto(op_type="Transpose", input=[source], output=[target], attribute=[_attribute("perm", tuple(axes))])


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


def _iox_shape(w: Input) -> TensorProto:
    """Return the constant from which Reshape reads the IOX shape of a GIOX filter."""
    groups, channels, *rest = w.shape
    shape = [groups * channels, *rest]
    return helper.make_tensor(f"{w.name}_shape", TensorProto.INT64, [len(shape)], shape)


# Parts that other models need too are kept, which saves a quarter of a model's time.
@lru_cache(maxsize=4096)
def _attribute(name: str, value: Value) -> AttributeProto:
    # The type of an empty list could not be inferred.
    return helper.make_attribute(name, value, attr_type=AttributeProto.INTS if isinstance(value, tuple) else None)


def _sizes(tensor: Input, shapes: Shapes) -> tuple[int | str, ...] | None:
    """Return the declared shape of an input."""
    if shapes == "symbolic":
        return tuple(f"{tensor.name}{axis}" for axis in range(len(tensor.shape)))
    return None if shapes == "unranked" else tensor.shape


@lru_cache(maxsize=4096)
def _declared(name: str, data_type: int, sizes: tuple[int | str | None, ...] | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, data_type, sizes)

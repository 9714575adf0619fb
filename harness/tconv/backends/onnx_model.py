"""The ONNX model of a call: one ConvTranspose, and a Transpose or Reshape where a layout is not ONNX's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
from onnx import AttributeProto, TensorProto, helper

from tconv.cases.layouts import inverse, permutation
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tconv.cases.call import Call, Input, Value

ELEMENT_TYPES = {
    DType.F32: TensorProto.FLOAT,
    DType.F16: TensorProto.FLOAT16,
    DType.BF16: TensorProto.BFLOAT16,
    DType.F64: TensorProto.DOUBLE,
}

OPSETS = {"onnx/ConvTranspose-1": 7, "onnx/ConvTranspose-11": 11, "onnx/ConvTranspose-22": 22}
"""The lowest opset that runtimes take for each version of the operator."""

_ZEROS_SINCE = 14
"""The opset whose Reshape can be told that a size of 0 is one, and not that of the input."""
# Before IR 4 an initializer is an input that may be overridden, and so no constant.
_CONSTANTS_SINCE = 4


_IR_VERSIONS = {
    name: max(_CONSTANTS_SINCE, helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))
    for name, opset in OPSETS.items()
}


def build(call: Call, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> onnx.ModelProto:
    """Return the model of a call in an ONNX dialect.

    Constant inputs are initializers, the others are fed in their order. The output is declared by its rank alone:
    its shape is the runtime's to find.

    Args:
        call: in the words of `onnx/ConvTranspose-*`.
        arrays: the operands by role, in the call's layouts.
    """
    nodes, names = [], []
    for one in call.inputs:
        before = _canonical(one, call)
        nodes += before
        names.append(before[-1].output[0] if before else one.name)
    plain = call.data_format is DataFormat.NCX
    node = helper.make_node("ConvTranspose", names, ["Y" if plain else "Y_ncx"])
    node.attribute.extend(_attribute(name, value) for name, value in call.attributes.items())
    nodes.append(node)
    if not plain:
        back = inverse(permutation(call.rank, call.data_format))
        nodes.append(helper.make_node("Transpose", ["Y_ncx"], ["Y"], perm=back))
    fed = [_declared(one, symbolic=call.symbolic) for one in call.inputs if not one.constant]
    constants = [_constant(one, arrays[one.role]) for one in call.inputs if one.constant]
    constants += [_merged(one) for one in call.inputs if _is_grouped(one, call)]
    output = helper.make_tensor_value_info("Y", ELEMENT_TYPES[call.dtype], [None] * len(call.inputs[0].shape))
    graph = helper.make_graph(nodes, "tconv", fed, [output], constants)
    opset = helper.make_opsetid("", OPSETS[call.dialect.name])
    return helper.make_model(
        graph, opset_imports=[opset], ir_version=_IR_VERSIONS[call.dialect.name], producer_name="tconv"
    )


def _canonical(one: Input, call: Call) -> list[onnx.NodeProto]:
    """Return the node that makes NCX or IOX of an input, none where it is there already."""
    name = f"{one.name}_canonical"
    if _is_grouped(one, call):
        return _without_groups(one, name, OPSETS[call.dialect.name])
    if one.role == "x" and call.data_format is not DataFormat.NCX:
        axes = permutation(call.rank, call.data_format)
    elif one.role == "w" and call.filter_format is FilterFormat.XOI:
        taps = len(one.shape) - 2
        axes = [taps + 1, taps, *range(taps)]
    else:
        return []
    return [helper.make_node("Transpose", [one.name], [name], perm=axes)]


def _without_groups(one: Input, name: str, opset: int) -> list[onnx.NodeProto]:
    """Return the nodes that make IOX of a GIOX filter; the last of them gives `name`."""
    if 0 not in one.shape:
        return [helper.make_node("Reshape", [one.name, f"{one.name}_shape"], [name])]
    if opset >= _ZEROS_SINCE:
        return [helper.make_node("Reshape", [one.name, f"{one.name}_shape"], [name], allowzero=1)]
    parts, filters = ([f"{one.name}_{word}_{group}" for group in range(one.shape[0])] for word in ("part", "filter"))
    return [
        helper.make_node("Split", [one.name], parts, axis=0),
        *(helper.make_node("Squeeze", [part], [own], axes=[0]) for part, own in zip(parts, filters, strict=True)),
        helper.make_node("Concat", filters, [name], axis=0),
    ]


def _is_grouped(one: Input, call: Call) -> bool:
    return one.role == "w" and call.filter_format is FilterFormat.GIOX


def _merged(one: Input) -> onnx.TensorProto:
    """Return the shape of a GIOX filter without the dimension of its groups."""
    groups, channels, *rest = one.shape
    shape = [groups * channels, *rest]
    return helper.make_tensor(f"{one.name}_shape", TensorProto.INT64, [len(shape)], shape)


def _attribute(name: str, value: Value) -> AttributeProto:
    if isinstance(value, tuple):
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=value)
    if isinstance(value, int):
        return AttributeProto(name=name, type=AttributeProto.INT, i=value)
    return AttributeProto(name=name, type=AttributeProto.STRING, s=value.encode())


def _declared(one: Input, *, symbolic: bool) -> onnx.ValueInfoProto:
    shape = [f"{one.name}{axis}" for axis in range(len(one.shape))] if symbolic else list(one.shape)
    return helper.make_tensor_value_info(one.name, ELEMENT_TYPES[one.dtype or DType.F32], shape)


def _constant(one: Input, array: np.ndarray[Any, np.dtype[Any]]) -> onnx.TensorProto:
    return TensorProto(
        name=one.name, data_type=ELEMENT_TYPES[one.dtype or DType.F32], dims=one.shape, raw_data=array.tobytes()
    )

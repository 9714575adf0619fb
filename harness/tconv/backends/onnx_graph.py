"""The ONNX nodes of a graph around the operator: each operation of a context in ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tconv.vocabulary import DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.graph import Graph, Node
    from tconv.vocabulary import Array

OPSET = 16
"""The lowest opset with all of `OPERATIONS`: HardSwish is of 14, PRelu with broadcasting of 16."""
ELEMENT_TYPES = {
    DType.F32: TensorProto.FLOAT,
    DType.F16: TensorProto.FLOAT16,
    DType.BF16: TensorProto.BFLOAT16,
    DType.F64: TensorProto.DOUBLE,
    Quantised.INT8: TensorProto.INT8,
    Quantised.UINT8: TensorProto.UINT8,
    Quantised.INT32: TensorProto.INT32,
}
_NAMES = {"Quantize": "QuantizeLinear", "Dequantize": "DequantizeLinear"}
KINDS = {name: kind for kind, name in _NAMES.items()}
"""The operations of a graph with other names in ONNX, by ONNX's names."""


def nodes_of(graph: Graph, arrays: Mapping[str, Array]) -> Iterator[NodeProto | TensorProto]:
    """Yield the nodes of a graph, and constants for attributes that are inputs in ONNX.

    Args:
        graph: the graph.
        arrays: its tensors by name.
    """
    for node in graph.nodes:
        inputs, attributes = list(node.inputs), dict(node.attributes)
        if node.call is not None:
            attributes = dict(node.call.attributes)
        elif node.kind == "Constant":
            inputs, attributes = [], {"value": numpy_helper.from_array(arrays[node.inputs[0]])}
        else:
            constants = [
                numpy_helper.from_array(values, f"{node.outputs[0]}_{name}") for name, values in _constants(node)
            ]
            yield from constants
            inputs += [constant.name for constant in constants]
            attributes = _attributes(node)
        inputs += [""] if node.call is not None and node.call.unnamed_bias else []
        yield helper.make_node(_NAMES.get(node.kind, node.kind), inputs, list(node.outputs), **attributes)


def made_type(node: Node) -> int:
    """Return the element type of a node's output."""
    dtype: DType | Quantised = DType.F32
    if node.kind == "Quantize":
        dtype = Quantised(node.attributes["dtype"])
    elif node.kind == "Cast":
        dtype = DType(node.attributes["to"])
    return ELEMENT_TYPES[dtype]


def _constants(node: Node) -> Iterator[tuple[str, Array]]:
    """Yield the attributes of a node that are inputs in ONNX, in their order."""
    attributes = node.attributes
    match node.kind:
        case "Clip":
            yield from ((name, np.array(attributes[name], np.float32)) for name in ("min", "max"))
        case "Pad":
            yield "pads", np.array([*attributes["begin"], *attributes["end"]], np.int64)
        case "Slice":
            yield from ((name, np.array(attributes[name], np.int64)) for name in ("starts", "ends", "axes"))
        case "Split":
            yield "sizes", np.array(attributes["sizes"], np.int64)
        case "Reshape":
            yield "shape", np.array(attributes["shape"], np.int64)
        case "Resize":
            # The second input, a region of interest, is empty.
            yield "roi", np.array([], np.float32)
            yield "scales", np.array(attributes["scales"], np.float32)


def _attributes(node: Node) -> dict[str, Any]:
    attributes = node.attributes
    match node.kind:
        case "Concat" | "Split" | "Dequantize":
            return {"axis": attributes["axis"]} if "axis" in attributes else {}
        case "Transpose":
            return {"perm": list(attributes["axes"])}
        case "Cast":
            return {"to": ELEMENT_TYPES[DType(attributes["to"])]}
        case "LeakyRelu" | "Elu" | "HardSigmoid" | "BatchNormalization":
            return dict(attributes)
        case "Resize":
            return {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return {}

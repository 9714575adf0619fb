"""oneDNN Graph's operations for the operations of a context.

Numbers of kinds and data types are from the library's headers, `dnnl_graph_types.h` and `dnnl_types.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tconv.vocabulary import DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.graph import Node
    from tconv.vocabulary import Array

Attribute = str | bool | int | float | tuple[int, ...] | tuple[float, ...]

KINDS: Mapping[str, int] = {
    "Add": 2,
    "BatchNormalization": 7,
    "Cast": 77,
    "Clip": 10,
    "Concat": 12,
    "Conv": 13,
    "ConvTranspose": 16,
    "ConvolutionBackwardData": 14,
    "Dequantize": 19,
    "Div": 20,
    "Elu": 23,
    "End": 25,
    "HardSigmoid": 79,
    "HardSwish": 29,
    "Identity": 60,
    "LeakyRelu": 35,
    "Max": 40,
    "Mul": 46,
    "PRelu": 47,
    "Quantize": 49,
    "Relu": 58,
    "Reshape": 72,
    "Resize": 31,
    "Sigmoid": 62,
    "Sub": 74,
    "Tanh": 75,
    "Transpose": 73,
}
"""dnnl_graph_op_kind_t, by the name in a context; Identity is Reorder there, and Resize is Interpolate."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a graph.

    Attributes:
        kind: a name of `KINDS`.
        inputs: the names of its inputs, in order.
        output: the name of its output; None if it has none.
        dtype: the output's element type.
        attributes: by the names of `onednn_graph.ATTRIBUTES`.
    """

    kind: str
    inputs: tuple[str, ...]
    output: str | None = None
    dtype: DType | Quantised = DType.F32
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


def written(node: Node, arrays: Mapping[str, Array]) -> Operation:
    """Return the operation for a node that is not the operator.

    Args:
        node: the node.
        arrays: the tensors of its graph by name. Scales and zero points are attributes here.
    """
    dtype = Quantised(node.attributes["dtype"]) if node.kind == "Quantize" else DType(node.attributes.get("to", "f32"))
    inputs = node.inputs[:1] if node.kind in {"Quantize", "Dequantize"} else node.inputs
    return Operation(node.kind, inputs, node.outputs[0], dtype, _attributes(node, arrays))


def _attributes(node: Node, arrays: Mapping[str, Array]) -> Mapping[str, Attribute]:
    attributes = node.attributes
    match node.kind:
        case "Quantize" | "Dequantize":
            scale, zero_point = (arrays[name] for name in node.inputs[1:])
            return {
                "qtype": "per_channel" if scale.ndim else "per_tensor",
                "axis": attributes.get("axis", 1),
                "scales": tuple(map(float, scale.reshape(-1))),
                "zps": tuple(map(int, zero_point.reshape(-1))),
            }
        case "Concat":
            return {"axis": attributes["axis"]}
        case "Transpose":
            return {"order": tuple(attributes["axes"])}
        case "Reshape":
            return {"shape": tuple(attributes["shape"]), "special_zero": False}
        case "Clip" | "LeakyRelu" | "Elu" | "HardSigmoid":
            return {name: float(value) for name, value in attributes.items()}
        case "BatchNormalization":
            return {"epsilon": float(attributes["epsilon"]), "data_format": "NCX"}
        case "PRelu":
            return {"data_format": "NCX"}
        case "Resize":
            scales = tuple(map(float, attributes["scales"][2:]))
            return {"mode": "nearest", "scales": scales, "data_format": "NCX"}
        case "Conv":
            rank = arrays[node.inputs[1]].ndim - 2
            lists = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0}
            formats = {"data_format": "NCX", "weights_format": "OIX"}
            return {name: (value,) * rank for name, value in lists.items()} | formats
    return {}

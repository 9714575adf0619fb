"""oneDNN Graph's operations for those of a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends.onednn_graph import Operation, quanta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.onednn_graph import Attribute
    from tconv.cases.graph import Node
    from tconv.vocabulary import Array


def written(node: Node, arrays: Mapping[str, Array]) -> Operation:
    """Return the operation for a node that is not the operator.

    Args:
        node: the node.
        arrays: the tensors of its graph by name. Scales and zero points are attributes here, and left out if there are
            none.
    """
    dtype = str(node.attributes["dtype"] if node.kind == "Quantize" else node.attributes.get("to", "f32"))
    inputs = node.inputs[:1] if node.kind in {"Quantize", "Dequantize"} else node.inputs
    return Operation(node.kind, inputs, node.outputs[0], dtype, _attributes(node, arrays))


def _attributes(node: Node, arrays: Mapping[str, Array]) -> Mapping[str, Attribute]:
    attributes = node.attributes
    match node.kind:
        case "Quantize" | "Dequantize":
            _, scale, zero_point = node.inputs
            return quanta(arrays[scale], arrays[zero_point], attributes.get("axis", 1)) if arrays else {}
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
            rank = attributes["rank"]
            lists = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0}
            formats = {"data_format": "NCX", "weights_format": "OIX"}
            return {name: (value,) * rank for name, value in lists.items()} | formats
    return {}

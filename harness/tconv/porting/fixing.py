"""A model with its unsafe nodes written differently, so that runtimes compute what the text says of the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tconv.backends.onnx_graph import ELEMENT_TYPES
from tconv.backends.outcome import Produced, in_words
from tconv.cases.call import express
from tconv.cases.operands import make_operands
from tconv.errors import UsageError
from tconv.execution.whole_models import run_model
from tconv.expectation.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.execution.asking import Asking
    from tconv.porting.model import Model
    from tconv.porting.port import Port, PortedCase

_PADS_ARE_INPUTS = 11


def write_fixed(model: Model, recipes: Mapping[str, Port]) -> onnx.ModelProto:
    """Return a model with nodes written as their recipes say.

    Args:
        model: the model; weights in files next to it are read.
        recipes: the recipes, by the names of the nodes' outputs.

    Raises:
        UsageError: a recipe depends on sizes that the model leaves open.
        FileError: a weight cannot be read.
    """
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model.proto)
    for tensor in fixed.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.CopyFrom(model.read(tensor))
    for output, port in recipes.items():
        if model.symbolic and port.case.attributes.output_shape is not None:
            must = "a node that is fixed must not have output_shape and sizes that the model leaves open"
            raise UsageError(f"{must} (got {output!r}); declare the sizes in the model")
        _replace(fixed.graph, output, port, model.version)
    return fixed


def _replace(graph: onnx.GraphProto, output: str, port: Port, version: int) -> None:
    nodes = list(graph.node)
    for at, node in enumerate(nodes):
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _replace(attribute.g, output, port, version)
        if output in node.output and port.written is not None:
            added = list(rewritten_nodes(node, port, port.written, version))
            graph.initializer.extend(part for part in added if isinstance(part, onnx.TensorProto))
            del graph.node[:]
            graph.node.extend(
                [*nodes[:at], *(part for part in added if isinstance(part, onnx.NodeProto)), *nodes[at + 1 :]]
            )


def rewritten_nodes(
    node: onnx.NodeProto, port: Port, way: PortedCase, version: int
) -> Iterator[onnx.NodeProto | onnx.TensorProto]:
    """Yield the nodes, and their constants, that replace a node.

    Args:
        node: the node.
        port: its recipe.
        way: how to write it.
        version: the model's operator set.
    """
    attributes: dict[str, Any] = dict(express(way.case, port.target).attributes)
    y, padded = node.output[0], max((*way.before, *way.behind), default=0) > 0
    inner = y if way.complete else f"{y}_inner"
    inputs = [name for name in node.input if name]
    bias = inputs[2] if len(inputs) > 2 and padded else ""  # noqa: PLR2004 - X, W and B
    made = helper.make_node("ConvTranspose", inputs[:2] if bias else inputs, [inner], name=node.name, **attributes)
    yield made
    if way.complete:
        return
    rank = len(way.before)
    if padded:
        pads = np.array([0, 0, *way.before, 0, 0, *way.behind], np.int64)
        behind = f"{y}_padded" if bias else y
        if version < _PADS_ARE_INPUTS:
            yield helper.make_node("Pad", [inner], [behind], pads=pads.tolist())
        else:
            yield numpy_helper.from_array(pads, f"{y}_pads")
            yield helper.make_node("Pad", [inner, f"{y}_pads"], [behind])
        if bias:
            yield numpy_helper.from_array(np.array([1, -1, *[1] * rank], np.int64), f"{y}_bias_shape")
            yield helper.make_node("Reshape", [bias, f"{y}_bias_shape"], [f"{y}_bias"])
            yield helper.make_node("Add", [behind, f"{y}_bias"], [y])
        return
    ends = [number or np.iinfo(np.int64).max for number in way.behind]
    lists = {"starts": [-number for number in way.before], "ends": ends, "axes": list(range(2, 2 + rank))}
    for name, numbers in lists.items():
        yield numpy_helper.from_array(np.array(numbers, np.int64), f"{y}_{name}")
    yield helper.make_node("Slice", [inner, *(f"{y}_{name}" for name in lists)], [y])


def prove(port: Port, version: int, askings: Sequence[Asking]) -> str:
    """Return why runtimes do not compute what the text says of the old node; empty if they do, exactly, on integers."""
    if port.written is None:
        return port.refused
    case = port.case
    operands = make_operands(case.x, case.w, case.b)
    names = [role for role in ("x", "w", "b") if role in operands]
    parts = list(rewritten_nodes(helper.make_node("ConvTranspose", names, ["y"]), port, port.written, version))
    inputs = [helper.make_tensor_value_info("x", ELEMENT_TYPES[case.x.dtype], case.x.shape)]
    output = helper.make_tensor_value_info("y", ELEMENT_TYPES[case.x.dtype], [None] * len(case.x.shape))
    constants = [numpy_helper.from_array(operands[name], name) for name in names[1:]]
    constants += [part for part in parts if isinstance(part, onnx.TensorProto)]
    graph = helper.make_graph(
        [part for part in parts if isinstance(part, onnx.NodeProto)], "fixed", inputs, [output], constants
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    expected = Truth(operands, case.x.dtype).compute_values(port.geometry)
    for asking in askings:
        outcome = run_model(asking, model.SerializeToString(), {"x": operands["x"]}, port.target.name)
        if not isinstance(outcome, Produced):
            return f"{asking.backend}: {in_words(outcome)}"
        if outcome.array.shape != expected.shape or not np.array_equal(outcome.array.astype(np.float64), expected):
            return f"{asking.backend} gives another output of the fixed node"
    return ""

"""The graph of a call in a context: its nodes, in order. Its tensors are the inputs of the call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call

OPERATOR = "ConvTranspose"
"""The kind of a node that is the operator itself."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a graph.

    Attributes:
        kind: its name, as `expectation.operations` has it, or `OPERATOR`.
        inputs: the names of its inputs.
        outputs: the names of its outputs.
        attributes: by name, in ONNX's meaning; sizes and axes are of NCX and IOX.
        call: of the operator, how the dialect writes it; its attributes count, and its inputs by their order.
    """

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    call: Call | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of its inputs, of the operator without an output_shape that is computed."""
        return self.inputs if self.call is None or "sizes" not in self.attributes else self.inputs[:-1]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, each behind those that make its inputs.

    Attributes:
        nodes: the nodes.
        output: the name of the graph's output.
        also: names of further tensors that are outputs of the graph, which nobody compares.
    """

    nodes: tuple[Node, ...]
    output: str
    also: tuple[str, ...] = ()

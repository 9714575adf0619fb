"""The graph of a call in a context: its nodes, in order. The inputs of the call are its tensors."""

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
        kind: its name, as in `expectation.operations`, or `OPERATOR`.
        inputs: the names of its inputs.
        outputs: the names of its outputs.
        attributes: the attributes by name, with ONNX's meaning; sizes and axes are of NCX and IOX.
        call: for an operator, its call; the attributes and the order of the inputs are used.
    """

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    call: Call | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of its inputs; for an operator, without a computed output_shape."""
        return self.inputs if self.call is None or "sizes" not in self.attributes else self.inputs[:-1]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, each after the nodes that make its inputs.

    Attributes:
        nodes: the nodes.
        output: the name of the graph's output.
        also: the names of further outputs of the graph, which are not compared.
    """

    nodes: tuple[Node, ...]
    output: str
    also: tuple[str, ...] = ()

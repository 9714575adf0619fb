"""A call in its context: the graph with its arrays, and the reference for the output of the graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.cases.context import LIMITS
from tconv.errors import Invalid
from tconv.expectation.expected import Values, expect_of_signature
from tconv.expectation.operations import evaluate
from tconv.expectation.reference import definition
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.call import Call
    from tconv.cases.graph import Graph, Node
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.operations import Nudge
    from tconv.vocabulary import Array, Float64s, Ints


WIDE = 16.0
"""The factor of every other filter, if filters have a wide range. One scale is then not enough for both."""


class Range(NamedTuple):
    """The smallest and the largest number that is allowed for each element."""

    low: Float64s
    high: Float64s


@dataclass(frozen=True)
class Surrounded:
    """A call in its context, and the reference's answers for it, each geometry computed once.

    Every element of the output is exact, with three exceptions. A tie of the last Quantize may be rounded either way.
    An activation without an accuracy may be off by a part of a step. A normalization with an exporter's epsilon may be
    off by its bound. Such an element has a range.

    Attributes:
        call: the call, with its graph.
        arrays: inputs and constants of the graph by name.
        operator: the name of the operator's output tensor.
        steps: the steps by which each element of a quantised output may be off.
    """

    call: Call
    arrays: Mapping[str, Array]
    operator: str
    steps: int = 0
    _values: dict[tuple[Geometry, Nudge], Array] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def graph(self) -> Graph:
        """The graph."""
        assert self.call.graph is not None  # noqa: S101 - it is made with one
        return self.call.graph

    @cached_property
    def reach(self) -> tuple[int, int] | None:
        """The range of output channels in quanta, see `reach_of_quanta`; None if each channel has its own scale."""
        scale = self.arrays.get("w_scale")
        if scale is None or scale.ndim:
            return None
        return reach_of_quanta(self.arrays["W"].astype(np.float64) - float(self.arrays["w_zero_point"]))

    @property
    def dtype(self) -> str:
        """The element type of the graph's output, by numpy's name if it is quantised."""
        last = self.graph.nodes[-1]
        return str(last.attributes["dtype"]) if last.kind == "Quantize" else DType.F32

    @cached_property
    def operands(self) -> dict[str, Float64s]:
        """The operator's inputs, by role: they do not depend on its output."""
        tensors = evaluate(self.graph, self.arrays, output_of_another)
        return dict(zip(("x", "w", "b"), (tensors[name] for name in self._node.operands), strict=False))

    @property
    def _node(self) -> Node:
        return next(node for node in self.graph.nodes if node.outputs[0] == self.operator)

    def shape(self, geometry: Geometry) -> Ints:
        """Return the shape of the graph's output."""
        return tuple(map(int, self.compute_values(geometry).shape))

    def compute_values(self, geometry: Geometry, nudge: Nudge = 0) -> Array:
        """Return the graph's output by the text, if the operator has this geometry."""
        key = geometry, nudge
        if key not in self._values:
            self._values[key] = self.compute(geometry, nudge)
        return self._values[key]

    def compute_range(self, geometry: Geometry) -> Range:
        """Return the range of each element."""
        values = np.stack([self.compute_values(geometry, nudge) for nudge in (-1, 0, 1)])
        return Range(values.min(axis=0), values.max(axis=0))

    def exact(self, geometry: Geometry) -> bool:
        """Return whether only one number is allowed for each element."""
        low, high = self.compute_range(geometry)
        return bool((low == high).all())

    def tensors(
        self,
        geometry: Geometry,
        nudge: Nudge = 0,
        operate: Callable[[Sequence[Float64s]], Float64s] | None = None,
        quantize: Callable[[Sequence[Float64s], Nudge], Float64s] | None = None,
    ) -> dict[str, Float64s]:
        """Return every tensor of the graph by name.

        Args:
            geometry: the geometry of the operator.
            nudge: the direction of roundings that may go either way.
            operate: replaces the operator.
            quantize: replaces the last Quantize.
        """
        operator = self._node.call

        def convolve(node: Node, inputs: Sequence[Float64s]) -> Float64s:
            # A second operator with the same call has the same geometry.
            if node.call is not operator:
                return output_of_another(node, inputs)
            if operate is not None and node.outputs[0] == self.operator:
                return operate(inputs)
            x, w, *b = inputs
            return definition(x, w, b[0] if b else None, geometry)

        return evaluate(self.graph, self.arrays, convolve, nudge, quantize)

    def compute(
        self,
        geometry: Geometry,
        nudge: Nudge = 0,
        operate: Callable[[Sequence[Float64s]], Float64s] | None = None,
        quantize: Callable[[Sequence[Float64s], Nudge], Float64s] | None = None,
    ) -> Float64s:
        """Return the graph's output, see `tensors`."""
        if not self.steps:
            return self.tensors(geometry, nudge, operate, quantize)[self.graph.output]
        y = self.tensors(geometry, 0, operate, quantize)[self.graph.output]
        return np.clip(y + nudge * self.steps, *LIMITS[self.graph.nodes[-1].attributes["dtype"]])


def reach_of_quanta(w: Float64s) -> tuple[int, int] | None:
    """Return the least and the most of the largest quanta of output channels; None if one scale is enough for both.

    Args:
        w: the quanta of a filter with one scale, less their zero point, (C, O/G, K...).
    """
    largest = np.abs(w).max(axis=(0, *range(2, w.ndim)), initial=0.0)
    most = largest.max(initial=0.0)
    least = largest[largest > 0].min(initial=most)
    return (round(least), round(most)) if 0 < least * WIDE <= most else None


def output_of_another(node: Node, inputs: Sequence[Float64s]) -> Float64s:
    """Return the output of another operator of the graph, under the primary readings."""
    assert node.call is not None  # noqa: S101 - of an operator
    x, w, *b = inputs
    return definition(x, w, b[0] if b else None, geometry_of(node.call, x.shape))


def geometry_of(call: Call, shape: Ints) -> Geometry:
    """Return the geometry for data of a shape, which may depend on the reading of the operator before it."""
    written = replace(call.written, x=replace(call.written.x, shape=shape))
    expected = expect_of_signature(written, call.dialect)
    if not isinstance(expected, Values):
        violation = expected.violation
        raise Invalid(violation)
    return expected.primary.geometry

"""A runtime in float32 for benches that computes graphs of contexts, in one of the ways that a runtime may choose.

It shares no formula with `expectation.operations`, which computes in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.context import LIMITS
from tconv.cases.graph import OPERATOR
from tconv.dialects import find_dialect
from tconv.expectation.expected import Values, expect_of_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from tconv.cases.graph import Node
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.problem import Problem
    from tconv.expectation.surrounded import Surrounded
    from tconv.vocabulary import Array

DIALECT = find_dialect("onnx/ConvTranspose-22")


@dataclass
class Play:
    """A graph that a compiler may rewrite.

    Attributes:
        nodes: its nodes, each after the nodes that make its inputs; the geometry is an attribute of an operator.
        arrays: inputs and constants by name.
        fed: the names of the inputs.
        output: the name of the output.
        operator: the name of the output of the tested operator.
    """

    nodes: list[Node]
    arrays: dict[str, Array]
    fed: frozenset[str]
    output: str
    operator: str

    def maker(self, name: str) -> Node | None:
        """Return the node that makes a tensor; None for an input or a constant."""
        return next((node for node in self.nodes if name in node.outputs), None)

    def only_consumer(self, name: str) -> Node | None:
        """Return the only node that uses a tensor, once; None for more uses, and for the graph's output."""
        users = [node for node in self.nodes if name in node.inputs]
        is_alone = name != self.output and len(users) == 1 and users[0].inputs.count(name) == 1
        return users[0] if is_alone else None

    def put(self, old: Node, *new: Node) -> None:
        """Replace a node by other nodes, or by none."""
        at = next(number for number, node in enumerate(self.nodes) if node.outputs == old.outputs)
        self.nodes[at : at + 1] = new

    def copy(self) -> Play:
        """Return a copy; rewriting it does not change this graph."""
        return Play(list(self.nodes), dict(self.arrays), self.fed, self.output, self.operator)

    def rename(self, old: str, new: str) -> None:
        """Let all users of a tensor use another one."""
        self.nodes = [
            replaced(node, inputs=tuple(new if name == old else name for name in node.inputs)) for node in self.nodes
        ]
        self.output = new if self.output == old else self.output

    @property
    def main(self) -> Node:
        """The tested operator."""
        found = self.maker(self.operator)
        assert found is not None
        return found


def replaced(node: Node, **changes: Any) -> Node:  # noqa: ANN401 - fields by their names
    """Return a node with changed fields; new `attributes` are added to the old ones."""
    if "attributes" in changes:
        changes["attributes"] = {**node.attributes, **changes["attributes"]}
    fields = {name: getattr(node, name) for name in ("kind", "inputs", "outputs", "attributes", "call")}
    return type(node)(**{**fields, **changes})


def play_of(problem: Problem) -> Play:
    """Return the graph of a case in a context, under the primary readings."""
    surrounded: Surrounded | None = problem.surrounded
    assert surrounded is not None
    assert problem.values is not None
    main = problem.values.primary.geometry
    nodes = [
        replaced(node, attributes={"geometry": main if node.outputs[0] == surrounded.operator else _geometry(node)})
        if node.kind == OPERATOR
        else node
        for node in surrounded.graph.nodes
    ]
    fed = frozenset(tensor.name for tensor in problem.call.inputs if not tensor.constant)
    return Play(nodes, dict(surrounded.arrays), fed, surrounded.graph.output, surrounded.operator)


def _geometry(node: Node) -> Geometry:
    assert node.call is not None
    expected = expect_of_signature(node.call.written, node.call.dialect)
    assert isinstance(expected, Values)
    return expected.primary.geometry


@dataclass
class Runtime:
    """A way to compute graphs.

    Attributes:
        random: chooses the order of each sum and a formula for each activation; None means one fixed way.
    """

    random: Random | None = None

    def run(self, play: Play) -> Array:
        """Return the output of a graph."""
        tensors: dict[str, Array] = dict(play.arrays)
        for node in play.nodes:
            results = self.compute(node, [tensors[name] for name in node.inputs])
            if (mask := node.attributes.get("only")) is not None:
                results = [np.where(mask, results[0], tensors[node.attributes["else"]])]
            tensors.update(zip(node.outputs, results, strict=True))
            if (other := node.attributes.get("overwrites")) is not None:
                tensors[other] = results[0]
        return tensors[play.output]

    def compute(self, node: Node, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the outputs of a node."""
        with np.errstate(all="ignore"):
            if node.kind == OPERATOR:
                return [self._convolved(inputs, node.attributes)]
            if node.kind == "Split":
                bounds = np.cumsum(node.attributes["sizes"])[:-1]
                return np.split(inputs[0], bounds, axis=node.attributes["axis"])
            if node.kind in _SMOOTH:
                formulas = _SMOOTH[node.kind]
                return [(self.random.choice(formulas) if self.random else formulas[0])(inputs[0])]
            return [_OPERATIONS[node.kind](inputs, node.attributes)]

    def _convolved(self, inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
        """Return the sums in float32, or in int64 for integers: tap by tap, some channels at a time."""
        x, w, *bias = inputs
        geometry: Geometry = attributes["geometry"]
        dtype = np.int64 if x.dtype == np.int64 else np.float32
        full = [max(size, 0) for size in geometry.full]
        groups, channels = geometry.groups, x.shape[1] // geometry.groups
        data = x.reshape(len(x), groups, channels, *x.shape[2:])
        taps = w.reshape(groups, channels, *w.shape[1:])
        y = np.zeros((len(x), groups, w.shape[1], *full), dtype)
        order = [(channel, tap) for channel in _blocks(channels, self.random) for tap in np.ndindex(*w.shape[2:])]
        if self.random:
            self.random.shuffle(order)
        for block, tap in order:
            index = tuple(
                slice(at * d, at * d + (size - 1) * s + 1, s)
                for at, d, s, size in zip(tap, geometry.dilations, geometry.strides, x.shape[2:], strict=True)
            )
            part = data[:, :, block].reshape(len(x), groups, len(block), prod(x.shape[2:]))
            made = np.matmul(taps[(..., *tap)][:, block].swapaxes(1, 2), part)
            y[(..., *index)] += made.reshape(*made.shape[:3], *x.shape[2:])
        cut = _cut(y.reshape(len(x), -1, *full), geometry)
        return cut + bias[0].reshape(-1, *[1] * len(full)) if bias else cut


def _blocks(channels: int, random: Random | None) -> list[list[int]]:
    """Return the channels as blocks."""
    order = list(range(channels))
    if random is None:
        return [order]
    random.shuffle(order)
    size = random.choice([1, 2, 4, channels])
    return [order[first : first + size] for first in range(0, channels, size)]


def _cut(full: Array, geometry: Geometry) -> Array:
    y = np.zeros((*full.shape[:2], *geometry.output), full.dtype)
    source, target = [], []
    for size, begin, output in zip(full.shape[2:], geometry.pads_begin, geometry.output, strict=True):
        low, high = max(begin, 0), max(min(begin + output, size), begin, 0)
        source.append(slice(low, high))
        target.append(slice(low - begin, high - begin))
    y[(..., *target)] = full[(..., *source)]
    return y


def along(vector: Array, x: Array, axis: int) -> Array:
    """Return a vector along an axis; a vector of another length is repeated, a scalar stays."""
    if vector.ndim == 0:
        return vector
    return np.resize(vector, x.shape[axis]).reshape([-1 if place == axis % x.ndim else 1 for place in range(x.ndim)])


def quantize(inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    """Return quanta. `rounding` and `ties` choose the rounding; `wraps` means that they do not saturate."""
    x, scale, zero_point = inputs
    axis = attributes.get("axis", 1)
    low, high = LIMITS[attributes["dtype"]]
    steps = along(scale, x, axis)
    scaled = (x * (np.float32(1) / steps) if attributes.get("multiplies") else x / steps).astype(np.float32)
    rounded = _ROUNDINGS[attributes.get("rounding", "even")](scaled)
    quanta = rounded + along(zero_point, x, axis).astype(np.float32)
    if attributes.get("wraps"):
        return quanta.astype(np.int64).astype(attributes["dtype"])
    return np.clip(quanta, low, high).astype(attributes["dtype"])


_ROUNDINGS: Mapping[str, Callable[[Array], Array]] = {
    "even": np.rint,
    "away": lambda x: np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x),
    "up": lambda x: np.floor(x + np.float32(0.5)),
    "down": lambda x: np.ceil(x - np.float32(0.5)),
    "truncated": np.trunc,
    "floor": np.floor,
    "ceiling": np.ceil,
}


def _dequantize(inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    q, scale, *zero_point = inputs
    axis = attributes.get("axis", 1)
    zero = along(zero_point[0], q, axis).astype(np.float32) if zero_point else np.float32(0)
    return (q.astype(np.float32) - zero) * along(scale, q, axis)


def _batch_normalization(inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    x, scale, shift, mean, variance = inputs
    axis = attributes.get("axis", 1)
    factor = scale / np.sqrt(variance + np.float32(attributes["epsilon"]))
    return (x - along(mean, x, axis)) * along(factor, x, axis) + along(shift, x, axis)


def _pad(inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    sides = list(zip(attributes["begin"], attributes["end"], strict=True))
    return np.pad(inputs[0], sides, attributes.get("mode", "constant"))


def _resize(inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    x = inputs[0]
    if attributes.get("tiles"):
        return np.tile(x, attributes["scales"])
    for axis, scale in enumerate(attributes["scales"]):
        x = x.take(np.arange(x.shape[axis] * scale) // scale, axis=axis)
    return x


def _slice(inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    index = [slice(None)] * inputs[0].ndim
    for axis, start, end in zip(attributes["axes"], attributes["starts"], attributes["ends"], strict=True):
        index[axis] = slice(start, end)
    return inputs[0][tuple(index)]


def _scale_filter(inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    """Return a filter whose output channels are multiplied by factors."""
    w, factor = inputs
    groups = attributes["groups"]
    factors = np.broadcast_to(factor.reshape(-1), (groups * w.shape[1],)).reshape(groups, 1, -1, *[1] * (w.ndim - 2))
    return (w.reshape(groups, -1, *w.shape[1:]) * factors).reshape(w.shape).astype(np.float32)


_OPERATIONS: Mapping[str, Callable[[Sequence[Array], Mapping[str, Any]], Array]] = {
    "Add": lambda inputs, _: np.add(*inputs),
    "Sub": lambda inputs, _: np.subtract(*inputs),
    "Mul": lambda inputs, _: np.multiply(*inputs),
    "Div": lambda inputs, _: np.divide(*inputs),
    "Max": lambda inputs, _: np.maximum(*inputs),
    "Relu": lambda inputs, _: inputs[0] * (inputs[0] > 0),
    "Clip": lambda inputs, a: np.minimum(np.maximum(inputs[0], np.float32(a["min"])), np.float32(a["max"])),
    "LeakyRelu": lambda inputs, a: np.maximum(inputs[0], 0) + np.float32(a["alpha"]) * np.minimum(inputs[0], 0),
    "PRelu": lambda inputs, _: np.maximum(inputs[0], 0) + inputs[1] * np.minimum(inputs[0], 0),
    "HardSigmoid": lambda inputs, a: np.clip(inputs[0] * np.float32(a["alpha"]) + np.float32(a["beta"]), 0, 1),
    "BatchNormalization": _batch_normalization,
    "Conv": lambda inputs, _: np.einsum("nc...,oc->no...", inputs[0], inputs[1].reshape(inputs[1].shape[:2])),
    "Pad": _pad,
    "Resize": _resize,
    "Slice": _slice,
    "Cast": lambda inputs, a: inputs[0].astype({"f16": np.float16, "f32": np.float32}[a["to"]]),
    "Concat": lambda inputs, a: np.concatenate(inputs, axis=a["axis"]),
    "Transpose": lambda inputs, a: inputs[0].transpose(a["axes"]),
    "Reshape": lambda inputs, a: inputs[0].reshape(a["shape"]),
    "Identity": lambda inputs, _: inputs[0],
    "Constant": lambda inputs, _: inputs[0],
    "Quantize": quantize,
    "Dequantize": _dequantize,
    "ScaleFilter": _scale_filter,
    "Integers": lambda inputs, a: inputs[0].astype(np.int64) - along(*inputs[::-1], a.get("axis", 1)).astype(np.int64),
    "Float": lambda inputs, _: inputs[0].astype(np.float32),
}
"""The operations of contexts, and operations that a compiler makes from them."""

_ONE = np.float32(1)
_SMOOTH: Mapping[str, Sequence[Callable[[Array], Array]]] = {
    "Sigmoid": (
        lambda y: _ONE / (_ONE + np.exp(-y)),
        lambda y: np.float32(0.5) * np.tanh(np.float32(0.5) * y) + np.float32(0.5),
    ),
    "Tanh": (
        np.tanh,
        lambda y: np.float32(2) / (_ONE + np.exp(-2 * y)) - _ONE,
    ),
    "Elu": (
        lambda y: np.where(y < 0, np.expm1(np.minimum(y, 0)), y),
        lambda y: np.where(y < 0, np.exp(np.minimum(y, 0)) - _ONE, y),
    ),
    "HardSwish": (
        lambda y: y * np.clip(y / np.float32(6) + np.float32(0.5), 0, 1),
        lambda y: y * np.clip(y + np.float32(3), 0, 6) / np.float32(6),
        lambda y: y * np.clip(y * np.float32(1 / 6) + np.float32(0.5), 0, 1),
    ),
}

"""The operations of a context, computed in float64 as ONNX's text defines them.

The texts of oneDNN Graph and OpenVINO use other names for some operations. The operations that a backend chooses for
these have the same meaning. Source: `onnx.defs.get_schema(KIND)`; Quantize is QuantizeLinear, Dequantize is
DequantizeLinear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.context import LIMITS
from tconv.expectation.normalization import bound_normalization, is_exact, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.graph import Graph, Node
    from tconv.vocabulary import Array, Float64s

_NEAR = 3 / 8
"""The largest error of a smooth activation, as a part of the step to the nearer of f(y - 1) and f(y + 1). So the result
is nearer to f(y) than to these, by a quarter of a step.
"""
_ROUNDINGS = 2.0**-16
"""The largest error of an activation by roundings of f32, relative to 1 and to its value. This is far more than real
roundings, and far less than a step if the values are small integers.
"""
_NEAR_TIE = 2.0**-13
"""Within this distance to a tie, in steps, Quantize may round an inexact value either way. Its quotient and its sum
with the zero point have at most four roundings of f32, of numbers below 2^9 if it does not saturate.
"""

Nudge = int
"""-1, 0 or 1: a rounded or approximated number goes down, follows the text's first rounding, or goes up."""


def evaluate(
    graph: Graph,
    arrays: Mapping[str, Array],
    convolve: Callable[[Node, Sequence[Float64s]], Float64s],
    nudge: Nudge = 0,
    quantize: Callable[[Sequence[Float64s], Nudge], Float64s] | None = None,
) -> dict[str, Float64s]:
    """Return every tensor of a graph by its name, in float64.

    Args:
        graph: the graph.
        arrays: its inputs and constants by name.
        convolve: computes a node that is the operator, from its inputs.
        nudge: the direction of roundings at the end of the graph that may go either way, and of activations without an
            accuracy.
        quantize: replaces the last Quantize.
    """
    tensors: dict[str, Float64s] = {name: array.astype(np.float64) for name, array in arrays.items()}
    near_tie = 0.0
    for node in graph.nodes:
        inputs = [tensors[name] for name in node.operands]
        if node.call is not None:
            results: Sequence[Float64s] = [convolve(node, inputs)]
        elif node.kind == "Split":
            results = _split(inputs[0], node.attributes)
        else:
            is_last = node.outputs[0] == graph.output
            compute = _SMOOTH.get(node.kind)
            if compute is not None:
                results = [_nudged(compute, inputs[0], nudge)]
            elif node.kind == "Quantize" and is_last and quantize is not None:
                results = [quantize(inputs, nudge)]
            elif node.kind == "Quantize":
                results = [_quantized(inputs, node.attributes, nudge if is_last else 0, near_tie)]
            elif node.kind == "BatchNormalization" and nudge and not is_exact(inputs, node.attributes):
                near_tie = _NEAR_TIE
                off = bound_normalization(graph, node, tensors, convolve)
                results = [normalize(inputs, node.attributes) + nudge * off]
            else:
                results = [_COMPUTE[node.kind](inputs, node.attributes)]
        tensors.update(zip(node.outputs, results, strict=True))
    return tensors


def _along(vector: Float64s, ndim: int, axis: int) -> Float64s:
    """Return a scale or a zero point along an axis of an array; a scalar stays as it is."""
    return vector if vector.ndim == 0 else vector.reshape([-1 if place == axis else 1 for place in range(ndim)])


def _quantized(inputs: Sequence[Float64s], attributes: Mapping[str, Any], nudge: Nudge, near: float) -> Float64s:
    x, scale, zero_point = inputs
    low, high = LIMITS[attributes["dtype"]]
    scaled = x / _along(scale, x.ndim, attributes.get("axis", 1))
    rounded = np.rint(scaled)
    if nudge:
        down = np.floor(scaled)
        ties = np.abs(scaled - down - 1 / 2) <= near
        rounded = np.where(ties, down + (nudge > 0), rounded)
    return np.clip(rounded + _along(zero_point, x.ndim, attributes.get("axis", 1)), low, high)


def _dequantized(inputs: Sequence[Float64s], attributes: Mapping[str, Any]) -> Float64s:
    q, scale, *zero_point = (array for array in inputs)
    axis = attributes.get("axis", 1)
    zero = _along(zero_point[0], q.ndim, axis) if zero_point else 0.0
    dequantized: Float64s = (q - zero) * _along(scale, q.ndim, axis)
    return dequantized


def _nudged(compute: Callable[[Float64s], Float64s], y: Float64s, nudge: Nudge) -> Float64s:
    value = compute(y)
    if not nudge:
        return value
    steps = np.minimum(np.abs(compute(y + 1) - value), np.abs(value - compute(y - 1)))
    moved: Float64s = value + nudge * np.maximum(_NEAR * steps, _ROUNDINGS * (1 + np.abs(value)))
    return moved


def _split(x: Float64s, attributes: Mapping[str, Any]) -> list[Float64s]:
    return list(np.split(x, np.cumsum(attributes["sizes"])[:-1], axis=attributes["axis"]))


def _slice(inputs: Sequence[Float64s], attributes: Mapping[str, Any]) -> Float64s:
    index = [slice(None)] * inputs[0].ndim
    for axis, start, end in zip(attributes["axes"], attributes["starts"], attributes["ends"], strict=True):
        index[axis] = slice(start, end)
    return inputs[0][tuple(index)]


def _pad(inputs: Sequence[Float64s], attributes: Mapping[str, Any]) -> Float64s:
    return np.pad(inputs[0], list(zip(attributes["begin"], attributes["end"], strict=True)))


def _resize(inputs: Sequence[Float64s], attributes: Mapping[str, Any]) -> Float64s:
    """Repeat each element: with a whole scale, nearest neighbour does this for every choice of coordinates."""
    x = inputs[0]
    for axis, scale in enumerate(attributes["scales"]):
        x = np.repeat(x, scale, axis=axis)
    return x


def _conv(inputs: Sequence[Float64s], _: Mapping[str, Any]) -> Float64s:
    """Return a convolution with a filter of one tap."""
    x, w = inputs
    y: Float64s = np.einsum("nc...,oc->no...", x, w.reshape(w.shape[:2]))
    return y


def _prelu(inputs: Sequence[Float64s], _: Mapping[str, Any]) -> Float64s:
    return np.where(inputs[0] < 0, inputs[0] * inputs[1], inputs[0])


def _cast(inputs: Sequence[Float64s], attributes: Mapping[str, Any]) -> Float64s:
    with np.errstate(over="ignore"):
        return inputs[0].astype({"f16": np.float16, "f32": np.float32}[attributes["to"]]).astype(np.float64)


_COMPUTE: Mapping[str, Callable[[Sequence[Float64s], Mapping[str, Any]], Float64s]] = {
    "Add": lambda inputs, _: inputs[0] + inputs[1],
    "Sub": lambda inputs, _: inputs[0] - inputs[1],
    "Mul": lambda inputs, _: inputs[0] * inputs[1],
    "Div": lambda inputs, _: inputs[0] / inputs[1],
    "Max": lambda inputs, _: np.maximum(inputs[0], inputs[1]),
    "Relu": lambda inputs, _: np.maximum(inputs[0], 0.0),
    "Clip": lambda inputs, attributes: np.clip(inputs[0], attributes["min"], attributes["max"]),
    "LeakyRelu": lambda inputs, attributes: np.where(inputs[0] < 0, inputs[0] * attributes["alpha"], inputs[0]),
    "HardSigmoid": lambda inputs, attributes: np.clip(inputs[0] * attributes["alpha"] + attributes["beta"], 0.0, 1.0),
    "PRelu": _prelu,
    "BatchNormalization": normalize,
    "Conv": _conv,
    "Pad": _pad,
    "Resize": _resize,
    "Slice": _slice,
    "Cast": _cast,
    "Concat": lambda inputs, attributes: np.concatenate(inputs, axis=attributes["axis"]),
    "Transpose": lambda inputs, attributes: inputs[0].transpose(attributes["axes"]),
    "Reshape": lambda inputs, attributes: inputs[0].reshape(attributes["shape"]),
    "Shape": lambda inputs, _: np.array(inputs[0].shape, np.float64),
    "Identity": lambda inputs, _: inputs[0],
    "Constant": lambda inputs, _: inputs[0],
    "Dequantize": _dequantized,
}

_SMOOTH: Mapping[str, Callable[[Float64s], Float64s]] = {
    "Sigmoid": lambda y: 1 / (1 + np.exp(-y)),
    "Tanh": np.tanh,
    "Elu": lambda y: np.where(y < 0, np.expm1(np.minimum(y, 0.0)), y),
    "HardSwish": lambda y: y * np.clip(y / 6 + 0.5, 0.0, 1.0),
}

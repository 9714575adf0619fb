"""BatchNormalization, y = f * (x - mean) + shift with f = scale / sqrt(variance + epsilon), and its bound.

It is exact in f32 if variance + epsilon is a square of a power of two. With an exporter's epsilon, 1e-5, it is rounded,
and a runtime may compute it in several ways. Let x be the sum of n terms t in front of it. In each way y is a sum of
f * t, f * mean and shift, and each of these takes part in so many roundings at most:

- f: 5. One of variance + epsilon, which the root halves; one of the root; one of the reciprocal; one of the product
  with scale. One is to spare, for an approximated root.
- Directly: each t in n - 1 additions of x and in one of x - mean, and then one product and the sum with shift.
- As a product and a sum, y = f * x + (shift - f * mean): one product, one sum of constants, the sum of both.
- Folded into filter and bias: t = x_i * w_i, so a product f * w_i, one with x_i, and n additions, as the bias is one
  more term. That bias is f * (b - mean) + shift: three roundings.
- With integers: the scales of data and filter are two products more.

So none has more than n + 12. Therefore |error| <= gamma_(n + 12)(2^-24) * (|f| * (sum |t| + |mean|) + |shift|). The
reference's own error, in float64, is below a millionth of that. Source: Higham, as in `bound`, lemma 3.1.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.expectation.bound import UNIT_ROUNDOFF, gamma
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.graph import Graph, Node
    from tconv.vocabulary import Float64s

_ROUNDINGS = 12


def normalize(inputs: Sequence[Float64s], attributes: Mapping[str, Any]) -> Float64s:
    """Return a batch normalized along the channels, (N, C, ...).

    Args:
        inputs: the batch, and scale, shift, mean and variance, (C,).
        attributes: with `epsilon`.
    """
    x, *vectors = inputs
    scale, shift, mean, variance = (vector.reshape(-1, *[1] * (x.ndim - 2)) for vector in vectors)
    y: Float64s = (x - mean) / np.sqrt(variance + attributes["epsilon"]) * scale + shift
    return y


def is_exact(inputs: Sequence[Float64s], attributes: Mapping[str, Any]) -> bool:
    """Return whether variance + epsilon is a square of a power of two in each channel, see `normalize`."""
    mantissas, _ = np.frexp(np.sqrt(inputs[-1] + attributes["epsilon"]))
    return bool((mantissas == 1 / 2).all())


def bound_normalization(
    graph: Graph,
    node: Node,
    tensors: Mapping[str, Float64s],
    convolve: Callable[[Node, Sequence[Float64s]], Float64s],
) -> Float64s:
    """Return how far each element of a normalization may be off, (N, C, ...).

    Args:
        graph: the graph.
        node: the normalization.
        tensors: those before it, by name.
        convolve: what computes a node that is the operator, from its inputs.
    """
    terms: dict[str, Float64s] = {}
    count = _ROUNDINGS
    for before in takewhile(lambda other: other is not node, graph.nodes):
        operands = [np.abs(tensors[name]) for name in before.operands]
        if before.call is not None:
            w = operands[1]
            count += w.size // (w.shape[1] * before.call.groups) + (len(operands) > 2)  # noqa: PLR2004 - with a bias
            # Who misreads the operator may give a sum of its own.
            terms[before.outputs[0]] = np.abs(convolve(before, operands))
        elif before.kind in {"Add", "Sub"}:
            count += 1
            first, second = (terms.get(name, operand) for name, operand in zip(before.operands, operands, strict=True))
            terms[before.outputs[0]] = first + second
    x, *constants = node.inputs
    scale, shift, mean, variance = (np.abs(tensors[name]) for name in constants)
    magnitude = normalize((terms[x], scale, shift, -mean, variance), node.attributes)
    return gamma(np.array(float(count)), UNIT_ROUNDOFF[DType.F32]) * magnitude

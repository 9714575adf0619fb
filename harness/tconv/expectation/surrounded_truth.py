"""The reference of a case in a context: the output of the graph around the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.surrounded import Surrounded
    from tconv.vocabulary import Array, Float64s, Ints


class Range(NamedTuple):
    """The smallest and the largest number that is allowed for each element."""

    low: Float64s
    high: Float64s


class SurroundedTruth:
    """The reference's answers for one call in its context, each geometry computed once.

    Every element is exact, with three exceptions. A tie of the last Quantize may be rounded either way. An activation
    without an accuracy may be off by a part of a step. A normalization with an exporter's epsilon may be off by its
    bound. Such an element has a range.

    Args:
        surrounded: the call in its context.

    Attributes:
        dtype: the element type of the graph's output, by numpy's name if it is quantised.
        operands: the operator's inputs.
    """

    def __init__(self, surrounded: Surrounded) -> None:
        self._surrounded = surrounded
        last = surrounded.graph.nodes[-1]
        self.dtype: str = str(last.attributes["dtype"]) if last.kind == "Quantize" else DType.F32
        self._values: dict[tuple[Geometry, int], Array] = {}

    @property
    def steps(self) -> int:
        """The steps by which each element of a quantised output may be off."""
        return self._surrounded.steps

    @property
    def operands(self) -> dict[str, Float64s]:
        """The operator's inputs, by role."""
        return self._surrounded.operands

    def shape(self, geometry: Geometry) -> Ints:
        """Return the shape of the graph's output."""
        return tuple(map(int, self.compute_values(geometry).shape))

    def compute_values(self, geometry: Geometry) -> Array:
        """Return the graph's output by the text, if the operator has this geometry."""
        return self._computed(geometry, 0)

    def compute_range(self, geometry: Geometry) -> Range:
        """Return the range of each element."""
        values = np.stack([self._computed(geometry, nudge) for nudge in (-1, 0, 1)])
        return Range(values.min(axis=0), values.max(axis=0))

    def exact(self, geometry: Geometry) -> bool:
        """Return whether only one number is allowed for each element."""
        low, high = self.compute_range(geometry)
        return bool((low == high).all())

    def _computed(self, geometry: Geometry, nudge: int) -> Array:
        key = geometry, nudge
        if key not in self._values:
            self._values[key] = self._surrounded.compute(geometry, nudge)
        return self._values[key]

"""The reference's answers for one set of operands."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import EXACT_BITS
from tconv.expectation.bound import SMALLEST_NORMAL, Terms, is_subnormal
from tconv.expectation.reference import definition, met, products
from tconv.expectation.underflow import subnormal_products

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, DType, Mask


class Truth:
    """The reference's answers for one set of operands, each geometry computed once.

    Args:
        operands: x, w and perhaps b, in NCX and IOX and in their own types.
        dtype: the element type of the output.

    Attributes:
        operands: the same in float64.
        dtype: the element type of the output.
        values: the output, (N, O, Y...), under a geometry.
        terms: what the bound under a geometry is made of.
        integral: whether all operands are finite integers.
        subnormal: whether an operand has subnormal numbers.
    """

    def __init__(self, operands: Mapping[str, Array], dtype: DType) -> None:
        with np.errstate(invalid="ignore"):
            self.operands = {role: array.astype(np.float64) for role, array in operands.items()}
        self._x, self._w, self._b = self.operands["x"], self.operands["w"], self.operands.get("b")
        self.dtype = dtype
        self.values = lru_cache(maxsize=32)(self._values)
        self.terms = lru_cache(maxsize=2)(self._terms)
        self.integral = self._integral()
        self.subnormal = any(is_subnormal(a, dtype).any() for a in (self._x, self._w, self._b) if a is not None)
        # At least every element's magnitude: all input channels and taps, each product as large as can be.
        terms = self._w.size // max(self._w.shape[1], 1) if self._w.ndim > 1 else 0
        self._magnitude_limit = _largest(self._x) * _largest(self._w) * terms + _largest(self._b)

    def shape(self, geometry: Geometry) -> tuple[int, ...]:
        """Return the output's shape in NCX."""
        return (self._x.shape[0], self._w.shape[1] * geometry.groups, *geometry.output)

    def _values(self, geometry: Geometry) -> Array:
        return definition(self._x, self._w, self._b, geometry)

    def _terms(self, geometry: Geometry) -> Terms:
        with np.errstate(invalid="ignore"):
            bias = None if self._b is None else np.abs(self._b)
            magnitude = definition(np.abs(self._x), np.abs(self._w), bias, geometry)
        count = products(geometry, self._x.shape[1] // geometry.groups) + (self._b is not None)
        bias = None if self._b is None else self._b.reshape(-1, *(1,) * len(geometry.output))
        return Terms(self.values(geometry), magnitude, count, bias)

    def exact(self, geometry: Geometry) -> bool:
        """Whether every order of summation gives the same bits: integers whose absolute terms stay within 2^p."""
        if not self.integral:
            return False
        limit = 2.0 ** EXACT_BITS[self.dtype]
        if self._magnitude_limit <= limit:
            return True
        return _largest(self.terms(geometry).magnitude) <= limit

    def _integral(self) -> bool:
        return all(np.isfinite(a).all() and not np.any(a % 1) for a in (self._x, self._w, self._b) if a is not None)

    def flushable(self, geometry: Geometry, accumulator: DType) -> Array | None:
        """Return the most that a sum loses whose subnormal products are taken for zero, (N, O, Y...).

        Args:
            geometry: the geometry.
            accumulator: the type that the products are added in.

        Returns:
            The sum of their magnitudes; None where no product is subnormal.
        """
        return subnormal_products(self._x, self._w, geometry, SMALLEST_NORMAL[accumulator])

    def poisoned(self, geometry: Geometry) -> Mask:
        """Return where, (O, Y...), a tap that is NaN or infinity meets no element of the data.

        A runtime that inserts zeros between the data's elements, and pads with zeros, multiplies that tap with one.
        """
        groups, (inputs, outputs) = geometry.groups, self._w.shape[:2]
        finite = np.isfinite(self._w).reshape(groups, inputs // groups, outputs, *geometry.kernel)
        bad: Array = ~finite.all(axis=1).reshape(groups * outputs, *geometry.kernel)
        mask = np.zeros((len(bad), *geometry.output), dtype=bool)
        for k in np.ndindex(*geometry.kernel):
            channels = bad[:, *k]
            if channels.any():
                mask |= channels.reshape(-1, *(1,) * len(k)) & ~met(k, geometry)
        return mask


def _largest(array: Array | None) -> float:
    return 0.0 if array is None or not array.size else float(np.abs(array).max())

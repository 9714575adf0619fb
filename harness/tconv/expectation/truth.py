"""The reference's answers for one set of operands."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.operands import EXACT_BITS
from tconv.expectation.bound import SMALLEST_NORMAL, Terms, is_subnormal
from tconv.expectation.reference import count_products, definition, meet
from tconv.expectation.underflow import subnormal_products
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Float64s, Ints, Mask

_SMALLER = 540
"""Operands are scaled down by this power of two: then 2^50 products of the largest numbers do not overflow."""

_OF_AN_ELEMENT = 64
"""The bound of an element and its comparison take as long as so many products."""


class Truth:
    """The reference's answers for one set of operands, each geometry computed once.

    Args:
        operands: x, w and perhaps b, in NCX and IOX and in their own types. Arrays in float64 are not copied and must
            not change.
        dtype: the element type of the output.

    Attributes:
        operands: the operands in float64.
        dtype: the element type of the output.
    """

    def __init__(self, operands: Mapping[str, Array], dtype: DType) -> None:
        with np.errstate(invalid="ignore"):
            self.operands = {role: array.astype(np.float64, copy=False) for role, array in operands.items()}
        self._x, self._w, self._b = self.operands["x"], self.operands["w"], self.operands.get("b")
        self.dtype = dtype
        self._values: dict[Geometry, Array] = {}
        self._terms: dict[Geometry, Terms] = {}

    @cached_property
    def integral(self) -> bool:
        """Whether all operands are finite integers."""
        return all(((array == np.rint(array)) & np.isfinite(array)).all() for array in self.operands.values())

    @cached_property
    def subnormal(self) -> bool:
        """Whether an operand has subnormal numbers."""
        return any(is_subnormal(array, self.dtype).any() for array in self.operands.values())

    @cached_property
    def _special(self) -> bool:
        """Whether an operand has NaN or an infinity."""
        return not all(np.isfinite(array).all() for array in self.operands.values())

    @cached_property
    def _numbers(self) -> dict[str, Float64s]:
        """The operands with zeros instead of NaN and infinities."""
        return {role: np.where(np.isfinite(array), array, 0.0) for role, array in self.operands.items()}

    def shape(self, geometry: Geometry) -> tuple[int, ...]:
        """Return the output's shape in NCX."""
        return (self._x.shape[0], self._w.shape[1] * geometry.groups, *geometry.output)

    def compute_values(self, geometry: Geometry) -> Array:
        """Return the output, (N, O, Y...), under a geometry."""
        if geometry not in self._values:
            y = self._in_range(definition(self._x, self._w, self._b, geometry), geometry)
            _remember(self._values, geometry, y, most=32)
        return self._values[geometry]

    def _in_range(self, y: Float64s, geometry: Geometry) -> Float64s:
        """Return the output; sums with an overflow of float64 in a partial sum are computed again without overflow.

        Such a sum may itself be a number. The operands are scaled down by a power of two: numbers that then underflow
        are negligible compared with terms that overflow together.
        """
        if self.dtype is not DType.F64 or np.isfinite(y).all():
            return y
        numbers = self._numbers if self._special else self.operands
        x, w, b = numbers["x"], numbers["w"], numbers.get("b")
        smaller = definition(
            np.ldexp(x, -_SMALLER), np.ldexp(w, -_SMALLER), None if b is None else np.ldexp(b, -2 * _SMALLER), geometry
        )
        with np.errstate(over="ignore"):
            added = np.where(np.isfinite(y), y, np.ldexp(smaller, 2 * _SMALLER))
        if not self._special:
            return added
        # If operands have infinities or NaN, their results depend only on the signs of the other numbers.
        signs = {role: np.where(np.isfinite(array), np.sign(array), array) for role, array in self.operands.items()}
        special = definition(signs["x"], signs["w"], signs.get("b"), geometry)
        return np.where(np.isfinite(special), added, special)

    def compute_terms(self, geometry: Geometry) -> Terms:
        """Return the terms for the bound under a geometry."""
        if geometry not in self._terms:
            _remember(self._terms, geometry, self._made_terms(geometry), most=2)
        return self._terms[geometry]

    def _made_terms(self, geometry: Geometry) -> Terms:
        b = None if self._b is None else np.abs(self._b)
        magnitude = definition(np.abs(self._x), np.abs(self._w), b, geometry)
        bias = None if self._b is None else self._b.reshape(-1, *(1,) * len(geometry.output))
        numbers = Truth(self._numbers, self.dtype).compute_terms(geometry) if self._special else None
        return Terms(self.compute_values(geometry), magnitude, self.count(geometry), bias, numbers)

    def steps(self, geometry: Geometry) -> int:
        """Return the steps to compute an output and its bound, the same on every machine; a product is one step."""
        return len(self._x) * prod(geometry.spatial) * int(self._w.size) + _OF_AN_ELEMENT * prod(self.shape(geometry))

    def part(self, geometry: Geometry, place: Ints, edge: int) -> tuple[tuple[slice, ...], Truth, Geometry]:
        """Return a part of an output around an element: a box in one item, and in channels of one group.

        Args:
            geometry: the geometry of the whole output.
            place: the element, (N, O, Y...).
            edge: the largest size of the box, in channels and along each spatial axis.

        Returns:
            The slices of the box, the reference for the operands that reach it, and its geometry.
        """
        inputs, outputs = self._w.shape[0] // geometry.groups, self._w.shape[1]
        group, channel = divmod(place[1], outputs)
        item, channels = slice(place[0], place[0] + 1), _around(channel, outputs, edge)
        own = slice(group * outputs + channels.start, group * outputs + channels.stop)
        box, data, begins = [item, own], [item, slice(group * inputs, (group + 1) * inputs)], []
        axes = (geometry.spatial, geometry.kernel, geometry.strides, geometry.dilations, geometry.pads_begin)
        for at, output, size, k, s, d, begin in zip(place[2:], geometry.output, *axes, strict=True):
            points = _around(at, output, edge)
            start = begin + points.start
            # The data between the first element that the last tap brings to the box, and the last of the first tap.
            first = min(max(-(((k - 1) * d - start) // s), 0), size)
            last = max(min((begin + points.stop - 1) // s + 1, size), first)
            box.append(points)
            data.append(slice(first, last))
            begins.append(start - first * s)
        operands = {"x": self._x[tuple(data)], "w": self._w[data[1], channels]}
        if self._b is not None:
            operands["b"] = self._b[own]
        sizes = (tuple(along.stop - along.start for along in slices[2:]) for slices in (data, box))
        spatial, output = sizes
        part = replace(geometry, spatial=spatial, pads_begin=tuple(begins), output=output, groups=1)
        return tuple(box), Truth(operands, self.dtype), part

    def count(self, geometry: Geometry) -> Float64s:
        """Return n, the number of products that reach each element, and one more with a bias, (Y...)."""
        return count_products(geometry, self._x.shape[1] // geometry.groups) + (self._b is not None)

    def exact(self, geometry: Geometry) -> bool:
        """Whether all orders of summation give the same bits: integers, and sums of absolute terms within 2^p."""
        if not self.integral:
            return False
        limit = 2.0 ** EXACT_BITS[self.dtype]
        # An upper limit for the magnitude of every element: all input channels and taps, with the largest product.
        terms = self._w.size // max(self._w.shape[1], 1) if self._w.ndim > 1 else 0
        if _largest(self._x) * _largest(self._w) * terms + _largest(self._b) <= limit:
            return True
        return _largest(self.compute_terms(geometry).magnitude) <= limit

    def flushable(self, geometry: Geometry, accumulator: DType) -> Array | None:
        """Return the largest loss of a sum if subnormal products become zero, (N, O, Y...).

        Args:
            geometry: the geometry.
            accumulator: the type that the products are added in.

        Returns:
            The sum of their magnitudes; None if no product is subnormal.
        """
        return subnormal_products(self._x, self._w, geometry, SMALLEST_NORMAL[accumulator])

    def poisoned(self, geometry: Geometry) -> Mask:
        """Return a mask, (O, Y...), of points at which a tap that is NaN or infinity meets no element of the data.

        A runtime that inserts zeros between the data's elements, or pads with zeros, multiplies that tap by zero.
        """
        groups, (inputs, outputs) = geometry.groups, self._w.shape[:2]
        finite = np.isfinite(self._w).reshape(groups, inputs // groups, outputs, *geometry.kernel)
        bad: Array = ~finite.all(axis=1).reshape(groups * outputs, *geometry.kernel)
        mask = np.zeros((len(bad), *geometry.output), dtype=bool)
        for k in np.ndindex(*geometry.kernel):
            channels = bad[:, *k]
            if channels.any():
                met = np.zeros(geometry.output, dtype=bool)
                if meeting := meet(k, geometry):
                    met[meeting[1]] = True
                mask |= channels.reshape(-1, *(1,) * len(k)) & ~met
        return mask


def _around(place: int, size: int, edge: int) -> slice:
    """Return at most `edge` places of an axis around one place."""
    first = max(min(place - edge // 2, size - edge), 0)
    return slice(first, min(first + edge, size))


def _remember(cache: dict[Geometry, Any], geometry: Geometry, value: object, *, most: int) -> None:
    """Store a value, and remove the oldest one if there are too many.

    A cache on the method would keep the arrays until garbage collection.
    """
    if len(cache) >= most:
        cache.pop(next(iter(cache)))
    cache[geometry] = value


def _largest(array: Array | None) -> float:
    """Return the largest absolute value; 0 without values, NaN if there is one."""
    return 0.0 if array is None or not array.size else max(float(array.max()), -float(array.min()))

"""A short proof that an output conforms, for the many that do: so near that no limit has to be computed exactly.

The bound and the lines of the notes are multiples of n, A and |y|. In units of

    s = u * sqrt((n + 1) / 3) * (A + |y|) / 2,

the largest root mean square that random roundings have, the bound is n * sqrt(3 / (n + 1)) or more, because |y| <= A,
and the line of an element's reduced precision 7 or more. So an output is within all of them where every |actual - y| is
within the smaller multiple of s, and their root mean square is within s. Smaller values of s prove it too. So an A in
float32 is enough, which comes with the value in one pass: it is made smaller by more than its roundings may be.

What underflows in that A is at most n * 2^-149 * (1 + |x| + |w|). Weighed by u it is less than what the limits allow
for underflow: `stream` gives no such A where |x| or |w| is too large for that.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.expectation.bound import UNIT_ROUNDOFF
from tconv.expectation.meetings import along, axes
from tconv.expectation.tiles import steps
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.stream import Sums
    from tconv.vocabulary import Array, Float64s, Mask

_ROOM = 2**15
"""So many elements are looked at at once: the arrays that are made of them stay in the L2 cache."""
_MOST = 2.0**18
"""Up to so many terms gamma_n is at most 1.02 * n*u, and an A in float32 of some use."""
_NEARLY_ONE = 1 - 2.0**-30
"""More than the roundings of the limits themselves."""
_FLOOR = {DType.F32: 2.0**-100, DType.F64: 2.0**-900}
"""Beside numbers of this size what underflows is nothing."""
_LEAST = 5e-324
"""Makes a distance of nothing in units of nothing zero, and any other one too large."""


class _Part(NamedTuple):
    """A part of the spatial axes, with what distances there are measured in, each (Y...).

    Attributes:
        where: the part.
        unit: s is so many times A + |y|.
        multiple: a distance may be so many times s.
        error: the bound is at most so many times A.
    """

    where: tuple[slice, ...]
    unit: Float64s
    multiple: Float64s
    error: Float64s


class Composition(NamedTuple):
    """What an output of one geometry is a sum of: C/G channels, perhaps a bias, and the type of the result."""

    geometry: Geometry
    channels: int
    bias: bool
    dtype: DType


def conforms(actual: Array, made: Sums, of: Composition) -> Mask:
    """Return which outputs of a stack are known to conform, without a note, and to be tested by more than zeros.

    An output of which that is not known may conform all the same: the bound tells.

    Args:
        actual: the outputs, (S, N, O, Y...).
        made: the reference's sums of the same shape.
        of: what they are sums of.
    """
    count = len(actual)
    near, tested, squares = np.ones(count, dtype=bool), np.zeros(count, dtype=bool), np.zeros(count)
    if made.magnitude is None or not actual.size or of.dtype not in _FLOOR or _most(of) > _MOST:
        return tested
    if of.dtype is DType.F64 and made.magnitude.dtype != np.float64:
        return tested
    shape = count, prod(actual.shape[1:3]), *of.geometry.output
    arrays = [array.reshape(shape) for array in (actual, made.y, made.magnitude)]
    step = tuple(steps(shape[1:], max(_ROOM // count, 1)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for part in (_kept_parts if step == shape[1:] else _parts)(of, step[1:]):
            for first in range(0, shape[1], step[0]):
                got, y, magnitude = (array[:, first : first + step[0], *part.where] for array in arrays)
                size = np.abs(y)
                if not tested.all():
                    tested |= (size > magnitude * part.error + _FLOOR[of.dtype]).reshape(count, -1).any(axis=1)
                distance = _distance(got, y, size, magnitude, part, _FLOOR[of.dtype])
                near &= (distance <= part.multiple).reshape(count, -1).all(axis=1)
                if not near.any():
                    return near
                squares += np.vecdot(*[distance.reshape(count, -1)] * 2)
    known: Mask = near & tested & (squares <= prod(shape[1:]))
    return known


def _distance(actual: Array, y: Float64s, size: Float64s, magnitude: Array, part: _Part, floor: float) -> Float64s:
    """Return |actual - y| in units of s, infinite where |y| is so small that the bound may be vacuous."""
    distance: Float64s = actual - y
    np.abs(distance, out=distance)
    unit: Float64s = magnitude + size
    unit *= part.unit
    if size.min() < floor:
        unit += _LEAST
        unit[(size < floor) & (size > 0)] = 0.0
    distance /= unit
    return distance


@lru_cache(maxsize=1024)
def _most(of: Composition) -> float:
    """Return no less than the number of products of any element."""
    most = [along(axis).max(initial=0.0) for axis in axes(of.geometry)]
    return of.channels * float(prod(most)) + of.bias


def _parts(of: Composition, step: tuple[int, ...]) -> Iterator[_Part]:
    """Yield parts of the spatial axes: what is known of each element is never kept for a large output."""
    counts = [along(axis) for axis in axes(of.geometry)]
    u = UNIT_ROUNDOFF[of.dtype]
    smaller = (1 - 1.1 * (_most(of) + 8) * UNIT_ROUNDOFF[DType.F32]) * _NEARLY_ONE
    cuts = [
        [slice(at, at + size) for at in range(0, len(count), size)] for count, size in zip(counts, step, strict=True)
    ]
    for where in product(*cuts):
        start = np.full((), float(of.channels))
        n = reduce(np.multiply.outer, (count[cut] for count, cut in zip(counts, where, strict=True)), start) + of.bias
        root = np.sqrt((n + 1) / 3)
        yield _Part(where, u * smaller / 2 * root, np.minimum(n / root * _NEARLY_ONE, 7.0), 1.2 * u * n)


@lru_cache(maxsize=256)
def _kept_parts(of: Composition, step: tuple[int, ...]) -> list[_Part]:
    """Return the one part of an output that is small enough, kept for the next output of its geometry."""
    return list(_parts(of, step))

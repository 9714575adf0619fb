"""A short proof that an output conforms, for the many that do: so near that no limit has to be computed exactly.

The bound and the lines of the notes are multiples of n and A. In units of

    s = u * sqrt((n + 1) / 3) * A / 2, and twice that for one term alone,

which is at most the root mean square that random roundings have, the bound is n*u*A/s or more, and the line of an
element's reduced precision 6*sqrt(n)*u*A/s or more. So an output is within all of them where every |actual - y| is
within the smaller multiple of s, and their root mean square is within s. A smaller A proves it too. So one in float32
of some of the channels is enough, which comes with the value in one pass: it is made smaller by more than its roundings
may be.

Elements whose A is nearly nothing prove nothing: what underflows is no longer small beside it. There zero must stand
where zero is owed.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.expectation.bound import UNIT_ROUNDOFF, WARNING_FACTOR
from tconv.expectation.meetings import along, axes, products
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
_NEARLY_ONE = 1 - 2.0**-16
"""Makes up for the roundings of distances and limits, in float32 too."""
_FLOOR = {DType.F32: 2.0**-80, DType.F64: 2.0**-900}
"""Beside an A of this size what underflows is nothing."""
_SMALL = 2**13
"""Up to so many elements the time of an output is that of numpy's calls."""
_NOTHING = 2.0**-160
"""Two dozen times it, the most that a distance may be in units of s, is nothing beside half of the smallest float32."""
_LARGEST = {DType.F32: 2.0**100, DType.F64: 2.0**1000}
_ENOUGH = 0.99
"""Makes up for the roundings of a sum of squares in float32."""
PROVABLE: dict[DType, np.dtype[Any]] = {DType.F32: np.dtype(np.float32), DType.F64: np.dtype(np.float64)}
"""The types that the proof is for, and what distances are compared in: half the time in float32."""


class _Part(NamedTuple):
    """A part of the spatial axes, with what distances there are measured in, each (Y...).

    Attributes:
        where: the part.
        unit: s is so many times A.
        multiple: a distance may be so many times s.
    """

    where: tuple[slice, ...]
    unit: Array
    multiple: Array


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
    if made.magnitude is None or not actual.size or of.dtype not in PROVABLE:
        return tested
    if of.dtype is DType.F32 and made.magnitude.dtype == np.float64 and actual[0].size <= _SMALL:
        y, magnitude = made.y.reshape(count, -1), made.magnitude.reshape(count, -1)
        return _conforms_at_once(actual.reshape(count, -1), y, magnitude, _elements(of, prod(actual.shape[1:3])))
    if _most(of) > _MOST:
        return tested
    if made.magnitude.dtype.itemsize < PROVABLE[of.dtype].itemsize or _most(of) * made.term > _LARGEST[of.dtype]:
        return tested
    shape = count, prod(actual.shape[1:3]), *of.geometry.output
    arrays = [array.reshape(shape) for array in (actual, made.y, made.magnitude)]
    step = tuple(steps(shape[1:], max(_ROOM // count, 1)))
    # No bound is larger than this, so that zero is not within it.
    least = 1.2 * UNIT_ROUNDOFF[of.dtype] * _most(of) ** 2 * made.term + _FLOOR[of.dtype]
    with np.errstate(all="ignore"):
        for part in (_kept_parts if step == shape[1:] else _parts)(of, step[1:]):
            for first in range(0, shape[1], step[0]):
                got, y, magnitude = (array[:, first : first + step[0], *part.where] for array in arrays)
                if not tested.all():
                    tested |= np.abs(y).reshape(count, -1).max(axis=1) > least
                distance, nothing = _distance(got, y, magnitude, part.unit, of.dtype)
                near &= nothing & (distance <= part.multiple).reshape(count, -1).all(axis=1)
                if not near.any():
                    return near
                squares += np.vecdot(*[distance.reshape(count, -1)] * 2)
    known: Mask = near & tested & (squares <= _ENOUGH * prod(shape[1:]))
    return known


class _Elements(NamedTuple):
    """What is known of the elements of a small output in float32.

    Attributes:
        unit: s is so many times A, (N*O*Y,).
        multiple: a distance may be so many times s, (N*O*Y,).
        passed: no bound is more than so many times the largest A.
    """

    unit: Float64s
    multiple: Float64s
    passed: float


@lru_cache(maxsize=256)
def _elements(of: Composition, planes: int) -> _Elements:
    """Return what is known of the elements of an output of so many planes, kept for the next of its geometry."""
    most = _most(of)
    n = np.tile(products(of.geometry, of.channels).ravel() + of.bias, planes)
    return _Elements(*_lines(n, DType.F32), 1.2 * UNIT_ROUNDOFF[DType.F32] * most if most <= _MOST else inf)


def _lines(n: Float64s, dtype: DType) -> tuple[Float64s, Float64s]:
    """Return s in units of A, and how many times s a distance may be, for sums of n terms."""
    root = np.sqrt((n + 1) / 3)
    u, unit = UNIT_ROUNDOFF[dtype], UNIT_ROUNDOFF[dtype] * np.where(n == 1, root, root / 2)
    return unit, u * np.minimum(n, WARNING_FACTOR * np.sqrt(n)) / unit * _NEARLY_ONE


def _conforms_at_once(actual: Array, y: Float64s, magnitude: Float64s, elements: _Elements) -> Mask:
    """Return the same as `conforms` for small outputs in float32, all (S, N*O*Y), by few of numpy's calls.

    In float64 each distance in units of s is finite, also where A is nothing: there s is taken for `_NOTHING`.
    """
    distance = np.abs(actual - y)
    distance /= magnitude * elements.unit + _NOTHING
    near = (distance <= elements.multiple).all(axis=1)
    tested = np.abs(y).max(axis=1) > magnitude.max() * elements.passed + _FLOOR[DType.F32]
    known: Mask = near & tested & (np.vecdot(distance, distance) <= _ENOUGH * actual.shape[1])
    return known


def _distance(actual: Array, y: Float64s, magnitude: Array, unit: Array, dtype: DType) -> tuple[Array, Mask]:
    """Return |actual - y| in units of s, and for each output whether zero stands where A is nearly nothing."""
    working, floor = PROVABLE[dtype], _FLOOR[dtype]
    distance: Array = np.empty(y.shape, working)
    np.subtract(actual, y, out=distance, casting="same_kind")
    np.abs(distance, out=distance)
    scale: Array = np.multiply(magnitude, unit, dtype=working, casting="same_kind")
    nothing = np.ones(len(y), dtype=bool)
    if magnitude.min() < floor:
        low = magnitude < floor
        nothing = (~low | ((actual == 0) & (y == 0))).reshape(len(y), -1).all(axis=1)
        scale[low] = 1
    distance /= scale
    return distance, nothing


@lru_cache(maxsize=1024)
def _most(of: Composition) -> float:
    """Return no less than the number of products of any element."""
    most = [along(axis).max(initial=0.0) for axis in axes(of.geometry)]
    return of.channels * float(prod(most)) + of.bias


def _parts(of: Composition, step: tuple[int, ...]) -> Iterator[_Part]:
    """Yield parts of the spatial axes: what is known of each element is never kept for a large output."""
    counts = [along(axis).astype(np.intp) for axis in axes(of.geometry)]
    working = PROVABLE[of.dtype]
    smaller = (1 - 1.1 * (_most(of) + 8) * UNIT_ROUNDOFF[DType.F32]) * _NEARLY_ONE
    # Tables by the number of taps, of which there are few.
    n = np.arange(prod(count.max(initial=0) for count in counts) + 1.0) * of.channels + of.bias
    unit, multiple = _lines(n, of.dtype)
    units, multiples = (unit * smaller).astype(working), multiple.astype(working)
    cuts = [
        [slice(at, at + size) for at in range(0, len(count), size)] for count, size in zip(counts, step, strict=True)
    ]
    for where in product(*cuts):
        parts = (count[cut] for count, cut in zip(counts, where, strict=True))
        taps: Array = reduce(np.multiply.outer, parts, np.ones((), dtype=np.intp))
        yield _Part(where, units[taps], multiples[taps])


@lru_cache(maxsize=256)
def _kept_parts(of: Composition, step: tuple[int, ...]) -> list[_Part]:
    """Return the one part of an output that is small enough, kept for the next output of its geometry."""
    return list(_parts(of, step))

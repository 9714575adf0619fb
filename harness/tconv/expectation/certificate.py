"""A short proof that an output conforms, for the many that do: so near that no limit has to be computed exactly.

The bound and the lines of the notes are multiples of n and A. In units of

    s = u * sqrt((n + 1) / 3) * A / 2, and twice that for one term alone,

which is at most the root mean square that random roundings have, the bound is n*u*A/s or more, and the line of an
element's reduced precision 6*sqrt(n)*u*A/s or more. So an output is within all of them where every |actual - y| is
within the smaller multiple of s, and their root mean square is within s. A smaller A proves it too. So one in float32
of some of the channels is enough, which comes with the value in one pass: it is made smaller by more than its roundings
may be. So does a smaller n: what is the least in a block is tried for all of it first.

Elements whose A is nearly nothing prove nothing: what underflows is no longer small beside it. There zero must stand
where zero is owed.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tconv.expectation.bound import UNIT_ROUNDOFF, WARNING_FACTOR
from tconv.expectation.meetings import along, axes, products
from tconv.expectation.memory import scratch
from tconv.expectation.stream import Sums
from tconv.expectation.tiles import steps
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.tiles import Region
    from tconv.vocabulary import Array, Float64s, Mask

_BLOCK_ELEMENTS = 3 * 2**14
"""Elements that are compared at once: the arrays that are made of them, 12 bytes for each, stay in the L2 cache."""
_MOST_TABLES = 4
"""Tables of limits that are kept: those of the first rows, of the last rows and of the rows between are used again."""
_MOST_TERMS = 2.0**18
"""Most terms of a sum that is proven: up to here gamma_n is at most 1.02 * n*u, and an A in float32 is near enough."""
_NEARLY_ONE = 1 - 2.0**-16
"""Makes up for the roundings of distances and limits, in float32 too."""
_FLOOR = {DType.F32: 2.0**-80, DType.F64: 2.0**-900}
"""Beside an A of this size what underflows is nothing."""
_SMALL_OUTPUT = 2**13
"""Most elements of an output that is compared together with others: numpy's calls take most of its time."""
_NOTHING = 2.0**-160
"""Two dozen times it, the most that a distance may be in units of s, is nothing beside half of the smallest float32."""
_LARGEST = {DType.F32: 2.0**100, DType.F64: 2.0**1000}
_ENOUGH = 0.99
"""Makes up for the roundings of a sum of squares in float32."""
PROVABLE: dict[DType, np.dtype[Any]] = {DType.F32: np.dtype(np.float32), DType.F64: np.dtype(np.float64)}
"""The types that the proof is for, and what distances are compared in: half the time in float32."""


class Composition(NamedTuple):
    """What an output of one geometry is a sum of: C/G channels, perhaps a bias, and the type of the result."""

    geometry: Geometry
    channels: int
    bias: bool
    dtype: DType


def conforms(actual: Array, made: Sums, of: Composition) -> list[bool]:
    """Return which outputs of a stack are known to conform, without a note, and to be tested by more than zeros.

    An output of which that is not known may conform all the same: the bound tells.

    Args:
        actual: the outputs, (S, N, O, Y...).
        made: the reference's sums of the same shape.
        of: what they are sums of.
    """
    count = len(actual)
    if made.magnitude is None or not actual.size or of.dtype not in PROVABLE:
        return [False] * count
    if of.dtype is DType.F32 and made.magnitude.dtype == np.float64 and actual.size <= _SMALL_OUTPUT * count:
        shape = count, actual.size // count
        sums = Sums(made.y.reshape(shape), made.magnitude.reshape(shape), made.most)
        return _conform_at_once(actual.reshape(shape), sums, _elements(of, actual.shape[1] * actual.shape[2]))
    if made.magnitude.dtype.itemsize < PROVABLE[of.dtype].itemsize:
        return [False] * count
    return [_conforms(*planes, of, made.most) for planes in zip(actual, made.y, made.magnitude, strict=True)]


def _conforms(actual: Array, y: Float64s, magnitude: Array, of: Composition, largest: float) -> bool:
    proof = Certificate(actual, of, largest)
    grouped = actual.shape[0], of.geometry.groups, -1, *of.geometry.output
    proof.look(tuple(slice(0, size) for size in proof.shape), y.reshape(grouped), magnitude.reshape(grouped))
    return proof.found


class Certificate:
    """The proof for one output, from parts that are looked at while they are in the cache.

    Args:
        actual: the output, (N, O, Y...).
        of: what it is a sum of.
        largest: no A is larger.

    Attributes:
        shape: the output's with its groups, (N, G, O/G, Y...).
    """

    def __init__(self, actual: Array, of: Composition, largest: float) -> None:
        self._dtype, most = of.dtype, _most_terms(of)
        self.shape = actual.shape[0], of.geometry.groups, actual.shape[1] // of.geometry.groups, *of.geometry.output
        self._actual = actual.reshape(self.shape)
        # No bound is larger than this, so that zero is not within it. In float64 the reference's own error is added.
        terms = 2 * most + 1 if of.dtype is DType.F64 else most
        self._least = 1.2 * UNIT_ROUNDOFF[of.dtype] * terms * largest + _FLOOR[of.dtype]
        self._near = most <= _MOST_TERMS and largest <= _LARGEST[of.dtype]
        self._floor = _FLOOR[of.dtype]
        self._tested, self._squares, self._looked = False, 0.0, 0
        self._counts = [along(axis).astype(np.intp) for axis in axes(of.geometry)]
        # Tables by the number of taps, of which there are few.
        taps = prod(int(count.max(initial=0)) for count in self._counts)
        unit, multiple = _lines(np.arange(taps + 1.0) * of.channels + of.bias, of.dtype)
        unit *= (1 - 1.1 * (most + 8) * UNIT_ROUNDOFF[DType.F32]) * _NEARLY_ONE
        # For so many taps or more: the least s, in units of A, and the least that a distance may be.
        self._least_units = np.minimum.accumulate(unit[::-1])[::-1].tolist()
        self._least_lines = (unit * multiple).tolist()
        self._units, self._multiples = (array.astype(PROVABLE[of.dtype]) for array in (unit, multiple))
        self._limits: dict[tuple[bytes, ...], _Limits] = {}

    @property
    def found(self) -> bool:
        """Whether the output conforms, as all of it was looked at."""
        seen = self._looked == self._actual.size
        return seen and self._near and self._tested and self._squares <= _ENOUGH * self._looked

    def look(self, region: Region, y: Float64s, magnitude: Array) -> None:
        """Look at a part of the output.

        Args:
            region: where it lies.
            y: the reference's values there, (N, G, O/G, Y...).
            magnitude: no more than A there.
        """
        actual = self._actual[region]
        counts = [count[part] for count, part in zip(self._counts, region[3:], strict=True)]
        self._looked += y.size
        step = y.shape if y.size <= _BLOCK_ELEMENTS else tuple(steps(y.shape, _BLOCK_ELEMENTS))
        with np.errstate(all="ignore"):
            for corner in product(*(range(0, size, length) for size, length in zip(y.shape, step, strict=True))):
                if self._near:
                    at = tuple(slice(first, first + length) for first, length in zip(corner, step, strict=True))
                    places = [count[part] for count, part in zip(counts, at[3:], strict=True)]
                    self._compare(actual[at], y[at], magnitude[at], places)

    def _compare(self, actual: Array, y: Float64s, magnitude: Array, counts: Sequence[Array]) -> None:
        """Take the distances of a block into account.

        Mostly they are near enough even if every element had as few terms as the fewest, so that what is the
        same for all elements is compared with one number. Where they are not, each is compared with its own.
        """
        working = PROVABLE[self._dtype].type
        exact, distance = scratch("exact", y.shape, np.float64), scratch("distance", y.shape, working)
        self._tested = self._tested or bool(max(y.max(), -y.min()) > self._least)
        np.copyto(exact, actual)
        exact -= y
        np.copyto(distance, exact, casting="same_kind")
        np.abs(distance, out=distance)
        if magnitude.min() < self._floor:
            low, magnitude = magnitude < self._floor, magnitude.copy()
            self._near &= bool(((actual == 0) & (y == 0))[low].all())
            magnitude[low] = 1
        distance /= magnitude
        flat, fewest = distance.reshape(-1), prod(int(count.min()) for count in counts)
        unit = self._least_units[fewest]
        squares = float(np.vecdot(flat, flat)) / unit**2
        if not (squares <= _ENOUGH * y.size and flat.max() <= self._least_lines[fewest]):
            limits = self._limits_of(counts)
            distance /= limits.unit
            self._near &= bool(flat.max() <= limits.least) or bool((distance <= limits.multiple).all())
            squares = float(np.vecdot(flat, flat))
        self._squares += squares

    def _limits_of(self, counts: Sequence[Array]) -> _Limits:
        """Return the limits at places that so many taps of each axis reach, which are often as those before."""
        key = tuple(count.tobytes() for count in counts)
        if key not in self._limits:
            taps: Array = reduce(np.multiply.outer, counts, np.ones((), dtype=np.intp))
            if len(self._limits) == _MOST_TABLES:
                self._limits.clear()
            multiple = self._multiples[taps]
            self._limits[key] = _Limits(self._units[taps], multiple, float(multiple.min()))
        return self._limits[key]


class _Limits(NamedTuple):
    """What distances at some places are measured in.

    Attributes:
        unit: s is so many times A, (Y...).
        multiple: a distance may be so many times s, (Y...).
        least: the least of these.
    """

    unit: Array
    multiple: Array
    least: float


class _Elements(NamedTuple):
    """What is known of the elements of a small output in float32.

    Attributes:
        unit: s is so many times A, (1, N*O*Y).
        multiple: a distance may be so many times s, (1, N*O*Y).
        passed: no bound is more than so many times the largest A.
    """

    unit: Float64s
    multiple: Float64s
    passed: float


@lru_cache(maxsize=256)
def _elements(of: Composition, planes: int) -> _Elements:
    """Return what is known of the elements of an output of so many planes, kept for the next of its geometry."""
    most = _most_terms(of)
    # numpy broadcasts arrays with the same number of axes in half the time.
    n = np.tile(products(of.geometry, of.channels).ravel() + of.bias, (1, planes))
    return _Elements(*_lines(n, DType.F32), 1.2 * UNIT_ROUNDOFF[DType.F32] * most if most <= _MOST_TERMS else inf)


def _lines(n: Float64s, dtype: DType) -> tuple[Float64s, Float64s]:
    """Return s in units of A, and how many times s a distance may be, for sums of n terms."""
    root = np.sqrt((n + 1) / 3)
    u, unit = UNIT_ROUNDOFF[dtype], UNIT_ROUNDOFF[dtype] * np.where(n == 1, root, root / 2)
    return unit, u * np.minimum(n, WARNING_FACTOR * np.sqrt(n)) / unit * _NEARLY_ONE


def _conform_at_once(actual: Array, made: Sums, elements: _Elements) -> list[bool]:
    """Return the same as `conforms` for small outputs in float32, all (S, N*O*Y), by few of numpy's calls.

    What is mostly so is asked of all outputs at once, and of each only where it is not so. In float64 each distance in
    units of s is finite, also where A is nothing: `_NOTHING` is added to s where some A is small. One element that is
    beyond every bound is enough, and mostly the first is.
    """
    y, magnitude, most = made.y, cast("Float64s", made.magnitude), _ENOUGH * actual.shape[1]
    with np.errstate(invalid="ignore"):
        # A runtime may have answered with a signalling NaN.
        distance = actual.astype(np.float64)
    distance -= y
    scale = magnitude * elements.unit
    small = magnitude < _FLOOR[DType.F32]
    if has_small := bool(np.count_nonzero(small)):
        scale += _NOTHING
    distance /= scale
    known = [squares <= most for squares in np.vecdot(distance, distance).tolist()]
    within = np.abs(distance, out=distance) <= elements.multiple
    if np.count_nonzero(within) < within.size:
        known = _and(known, np.logical_and.reduce(within, axis=1))
    if has_small:
        # Of a nonzero element of such a size the bound may say nothing.
        known = _and(known, np.logical_or(~small, y == 0).all(axis=1))
    passed = made.most * elements.passed + _FLOOR[DType.F32]
    if min(map(abs, y[:, 0].tolist())) <= passed:
        passes = magnitude.max() * elements.passed + _FLOOR[DType.F32]
        known = _and(known, np.greater(np.abs(y).max(axis=1), passes))
    return known


def _and(so_far: list[bool], others: Mask) -> list[bool]:
    return [conforms_so_far and other for conforms_so_far, other in zip(so_far, others.tolist(), strict=True)]


@lru_cache(maxsize=1024)
def _most_terms(of: Composition) -> float:
    """Return how many terms the element has that has the most: its products, and one more with a bias."""
    most = [along(axis).max(initial=0.0) for axis in axes(of.geometry)]
    return of.channels * float(prod(most)) + of.bias

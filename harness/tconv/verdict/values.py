"""An output compared with the reference: exactly, or by the bound and the excuses for values beyond it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.bound import SMALLEST_NORMAL, bound_errors, bound_steps, choose_accumulator, is_subnormal, near
from tconv.expectation.surrounded import Surrounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.cases.context import Quantisation
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound, Terms
    from tconv.expectation.truth import Truth
    from tconv.verdict import kinds as ver
    from tconv.vocabulary import Array, DType, Float64s, Ints, Mask


_UNLIKELY = 6.0
_DIGITS = 16
"""Hexadecimal digits of a digest: two outputs have the same one by chance once in 10^19."""
_MOST_STEPS = 16
"""More steps of the type are not roundings; bfloat16 has only 128 steps from 1 to 2."""
_ROOM = 2**17
"""So many elements are compared together, or a line of all channels if that is more. Temporary arrays then fit into the
cache, and a large output needs little memory."""


@dataclass(frozen=True)
class _Output:
    """An output in NCX, and its reference.

    Attributes:
        actual: the output.
        truth: the reference for the operands.
        geometry: the geometry of the reference's values.
        accumulator: the type in which products of f16 or bf16 are accumulated.
    """

    actual: Array
    truth: Truth
    geometry: Geometry
    accumulator: DType

    @cached_property
    def poisoned(self) -> Mask:
        """Places, (O, Y...), at which a runtime multiplies an inserted zero with a tap that is NaN or infinite."""
        return self.truth.poisoned(self.geometry)

    @cached_property
    def flushes(self) -> bool:
        """Whether the output has no subnormal number."""
        with np.errstate(invalid="ignore"):
            return not is_subnormal(self.actual.astype(np.float64), self.truth.dtype).any()

    @cached_property
    def flushable(self) -> Array | None:
        """The largest loss of each sum if its subnormal products become zero."""
        return self.truth.flushable(self.geometry, choose_accumulator(self.truth.dtype, self.accumulator))


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an output.

    Attributes:
        index: its place in the output.
        actual: its elements in float64.
        terms: the reference's values, and their terms.
        limits: the bound.
    """

    index: tuple[slice, ...]
    actual: Float64s
    terms: Terms
    limits: Bound


def _find_inserted(part: _Part, output: _Output) -> Mask:
    """Return the elements that may be NaN, as a runtime may multiply inserted zeros with NaN or infinite taps."""
    nan: Mask = np.isnan(part.actual)
    return nan & output.poisoned[part.index[1:]] if nan.any() else nan


def _find_overflowed(part: _Part, _: _Output) -> Mask:
    """Return finite sums that may overflow to infinity, and sums that may be NaN as both infinities may meet."""
    actual, expected, limits = part.actual, part.terms.y, part.limits
    infinite = (np.isposinf(actual) & limits.rises) | (np.isneginf(actual) & limits.falls)
    upwards, downwards = limits.rises | np.isposinf(expected), limits.falls | np.isneginf(expected)
    met = np.isnan(actual) & upwards & downwards
    overflowed: Mask = (infinite & np.isfinite(expected)) | met
    return overflowed


def _find_flushed(part: _Part, output: _Output) -> Mask:
    """Return the elements that are right for a runtime that flushes subnormal numbers to zero.

    A subnormal result may be zero if operands are subnormal too. A normal result may lack its subnormal products. If
    the output has any subnormal number, the runtime does not flush, and nothing is excused.
    """
    actual, expected, truth = part.actual, part.terms.y, output.truth
    if not output.flushes:
        return np.zeros(actual.shape, dtype=bool)
    subnormal = is_subnormal(expected, truth.dtype)
    flushed: Mask = (actual == 0) & subnormal & truth.subnormal
    if output.flushable is not None:
        lost = output.flushable[part.index]
        normal = (lost > 0) & (expected != 0) & ~subnormal
        flushed |= normal & near(actual, expected, part.limits.allowed + lost)
    return flushed


_EXCUSES: dict[str, Callable[[_Part, _Output], Mask]] = {
    "nan-from-inserted-zeros": _find_inserted,
    "overflow-of-a-partial-sum": _find_overflowed,
    "flushed-subnormals": _find_flushed,
}
"""A function for each excuse, by its note; it returns the excused elements."""


class ComparedValues(NamedTuple):
    """An output compared with the values of a geometry, in NCX.

    Attributes:
        rule: how it was compared.
        wrong: a mask of the wrong elements.
        expected: the reference's values.
        notes: the notes for the verdict.
        worst: the largest distance of a wrong element, in units of its bound; None if nothing is wrong, or without one.
        untested: the number of elements that would pass as zero; 0 if the comparison shows enough.
    """

    rule: ver.Rule
    wrong: Mask
    expected: Array
    notes: tuple[str, ...] = ()
    worst: float | None = None
    untested: int = 0

    @property
    def conforms(self) -> bool:
        """Whether no element is wrong."""
        return not self.wrong.any()


@dataclass
class _Tally:
    """Sums over the parts of an output.

    Attributes:
        notes: the excuses.
        worst: as in `ComparedValues`.
        compared: the number of right elements at a finite distance.
        squares: the sum of the squares of their distances, in units of their deviation.
        is_remarkable: whether one of them is above its warning line.
        tested: whether zero would be wrong for an element that is not zero.
        passing: the number of elements that are not zero and would pass as zero.
        vacuous: the number of these whose bound is vacuous.
        loose: the number of zeros whose bound is vacuous.
    """

    notes: set[str] = field(default_factory=set)
    worst: float | None = None
    compared: int = 0
    squares: float = 0.0
    is_remarkable: bool = False
    tested: bool = False
    passing: int = 0
    vacuous: int = 0
    loose: int = 0

    @property
    def is_reduced(self) -> bool:
        """Whether an error is remarkable, or all errors together are larger than roundings of a sum.

        The root mean square of M normal errors of deviation 1 is above 1 + 6 / sqrt(M) once in 10^7 outputs. Source:
        Boucheron, Lugosi and Massart, Concentration Inequalities, theorem 5.6 (the norm of a normal vector).
        """
        if not self.compared:
            return False
        together = np.sqrt(self.squares / self.compared) > 1 + _UNLIKELY / np.sqrt(self.compared)
        return bool(together or self.is_remarkable)

    @property
    def untested(self) -> int:
        """The number of untested elements: their bound is vacuous, or zeros everywhere would pass."""
        return (self.vacuous if self.tested else self.passing) + self.loose


def compare(
    actual: Array,
    truth: Truth | Surrounded,
    geometry: Geometry,
    accumulator: DType,
    quantisation: Quantisation | None = None,
) -> ComparedValues:
    """Compare an NCX output, or the output of a graph, with the reference for a geometry.

    Args:
        actual: the output.
        truth: the reference.
        geometry: the geometry.
        accumulator: the type that products of f16 or bf16 are added in.
        quantisation: the steps of a runtime that quantises by itself.
    """
    if isinstance(truth, Surrounded):
        return _compare_range(actual, truth, geometry)
    expected = truth.compute_values(geometry)
    steps = None if quantisation is None else bound_steps(truth.operands, geometry, quantisation)
    if steps is None and truth.exact(geometry):
        with np.errstate(invalid="ignore"):
            wrong: Mask = actual.astype(np.float64) != expected
        if wrong.any():
            wrong &= ~(np.isnan(actual) & np.isnan(expected))
        return ComparedValues("exact", wrong, expected)
    output, terms = _Output(actual, truth, geometry, accumulator), truth.compute_terms(geometry)
    wrong, tally = np.zeros(actual.shape, dtype=bool), _Tally()
    for index in _split(actual.shape):
        part_terms = terms.part(index)
        limits = bound_errors(part_terms, truth.dtype, accumulator)
        limits = limits if steps is None else limits.widened(steps[index])
        with np.errstate(invalid="ignore"):
            part = _Part(index, actual[index].astype(np.float64), part_terms, limits)
        _compare(part, output, wrong[index], tally)
    notes = [note for note in _EXCUSES if note in tally.notes]
    if tally.is_reduced:
        notes.append("reduced-precision")
    return ComparedValues("bound", wrong, expected, tuple(notes), tally.worst, tally.untested)


def _compare_range(actual: Array, truth: Surrounded, geometry: Geometry) -> ComparedValues:
    """Compare the output of a graph with the range of each element."""
    low, high = truth.compute_range(geometry)
    with np.errstate(invalid="ignore"):
        values = actual.astype(np.float64)
        wrong: Mask = ~((values >= low) & (values <= high))
    rule: ver.Rule = "exact" if truth.exact(geometry) else "range"
    return ComparedValues(rule, wrong, truth.compute_values(geometry))


def count_steps(actual: Array, expected: Float64s) -> int | None:
    """Return the largest distance of numbers from others, in steps between adjacent numbers of the type.

    Args:
        actual: numbers of the type.
        expected: the expected numbers, which are rounded to the type.

    Returns:
        The number of steps; None if that is more than `_MOST_STEPS`, or if there is NaN.
    """
    size = actual.dtype.itemsize
    with np.errstate(over="ignore"):
        pair = np.stack((actual, expected.astype(actual.dtype)))
    # The bits of larger magnitudes are larger integers, beginning with 0.
    of_sign = np.uint64(2 ** (8 * size - 1))
    bits = pair.view(f"uint{8 * size}").astype(np.uint64)
    magnitudes = bits & (of_sign - np.uint64(1))
    apart = magnitudes.max(axis=0) - magnitudes.min(axis=0)
    most = int(np.where(bits[0] & of_sign == bits[1] & of_sign, apart, magnitudes.sum(axis=0)).max())
    return None if np.isnan(pair).any() or most > _MOST_STEPS else most


def digest(actual: Array, truth: Truth | Surrounded, geometry: Geometry, accumulator: DType) -> str:
    """Return a digest of a wrong output by which two runs are compared, the same on every machine.

    It depends on the element type, the shape, and the values if sums are exact; -0 equals 0, and NaN equals NaN. If
    sums are not exact, the last bits differ between machines, so the places of wrong elements count instead.

    Args:
        actual: the output, in NCX if it has that rank.
        truth: the reference.
        geometry: the geometry that the output is compared with.
        accumulator: the type in which products of f16 or bf16 are accumulated.
    """
    content: Array = np.empty(0)
    if truth.exact(geometry):
        with np.errstate(invalid="ignore"):
            values = actual.astype("<f8")
        content = np.where(np.isnan(values), np.nan, values + 0.0)
    elif actual.shape == truth.shape(geometry):
        content = compare(actual, truth, geometry, accumulator).wrong
    head = f"{actual.dtype.name} {list(actual.shape)} ".encode()
    return sha256(head + content.tobytes()).hexdigest()[:_DIGITS]


def _split(shape: Ints) -> Iterator[tuple[slice, ...]]:
    """Yield an output in parts: some images, all channels, some rows of the first axis; none if it is empty."""
    if 0 in shape:
        return
    rows = [max(_ROOM // prod(shape[1:2] + shape[3:]), 1)] if shape[2:] else []
    steps = (max(_ROOM // prod(shape[1:]), 1), shape[1], *rows)
    for corner in product(*(range(0, size, step) for size, step in zip(shape, steps, strict=False))):
        yield tuple(slice(first, first + step) for first, step in zip(corner, steps, strict=True))


def _compare(part: _Part, output: _Output, wrong: Mask, tally: _Tally) -> None:
    """Compare a part of an output: fill the mask `wrong`, and add to the tally."""
    actual, expected, limits = part.actual, part.terms.y, part.limits
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        distance = np.abs(actual - expected)
        if not (distance <= limits.allowed).all() or not np.isfinite(distance.max()):
            wrong |= (actual != expected) & ~(np.isnan(actual) & np.isnan(expected))
            wrong &= ~(near(actual, expected, limits.allowed))
            wrong &= ~(np.isinf(actual) & limits.may_overflow & (np.sign(actual) == np.sign(expected)))
            compared = ~wrong & np.isfinite(distance)
            distance[~compared] = 0
            tally.compared += int(compared.sum())
            for note, excuse in _EXCUSES.items():
                if wrong.any() and (excused := wrong & excuse(part, output)).any():
                    tally.notes.add(note)
                    wrong &= ~excused
            ratios = (np.abs(actual - expected) / limits.allowed)[wrong]
            if not np.isnan(ratios).all():
                tally.worst = max(float(np.nanmax(ratios)), tally.worst or 0.0)
        else:
            tally.compared += distance.size
        tally.is_remarkable = tally.is_remarkable or bool((distance > limits.warning).any())
        # If the deviation is 0 or NaN, the distance is 0.
        distance /= np.fmax(limits.deviation, np.finfo(np.float64).smallest_subnormal)
        tally.squares += float(np.vdot(distance, distance))
        _count_untested(part, output.truth.dtype, tally)


def _count_untested(part: _Part, dtype: DType, tally: _Tally) -> None:
    """Count the elements that would pass as zero, and note whether there are others."""
    expected, limits = part.terms.y, part.limits
    zeros = np.abs(expected) <= limits.allowed
    if not zeros.any():
        tally.tested = True
        return
    nonzero = expected.astype(NUMPY_TYPES[dtype]) != 0
    passing = nonzero & zeros & np.isfinite(expected)
    tally.tested = tally.tested or not np.array_equal(passing, nonzero)
    tally.passing += int(passing.sum())
    tally.vacuous += int((passing & limits.vacuous).sum())
    # If products only underflow, the bound of a zero allows only zero and the smallest numbers: that is not loose.
    loose = limits.vacuous & np.isfinite(expected) & ~nonzero & (limits.allowed >= SMALLEST_NORMAL[dtype])
    tally.loose += int(loose.sum())

"""The judge: an outcome against what the dialect owes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np

from tconv import outcome as out
from tconv import verdict as ver
from tconv.bound import Terms, bound, is_subnormal
from tconv.expectation import Candidate, Inexpressible, Refuse, Values
from tconv.layouts import data_shape, to_ncx
from tconv.operands import EXACT_BITS, NUMPY_TYPES
from tconv.reference import definition, met, products

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.bound import Bound
    from tconv.expectation import Expectation
    from tconv.geometry import Geometry
    from tconv.vocabulary import DataFormat, DType

Array = np.ndarray[Any, np.dtype[Any]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


class Truth:
    """The reference's answers for one set of operands, each geometry computed once.

    Args:
        operands: x, w and perhaps b, in NCX and IOX and in their own types.
        dtype: the element type of the output.
    """

    def __init__(self, operands: Mapping[str, Array], dtype: DType) -> None:
        with np.errstate(invalid="ignore"):
            self._x, self._w = operands["x"].astype(np.float64), operands["w"].astype(np.float64)
            self._b = operands["b"].astype(np.float64) if "b" in operands else None
        self.dtype = dtype
        self.values = lru_cache(maxsize=32)(self._values)
        self.terms = lru_cache(maxsize=2)(self._terms)
        self.integral = self._integral()
        self.subnormal = any(is_subnormal(a, dtype).any() for a in (self._x, self._w, self._b) if a is not None)
        # More than any element's absolute terms: all products, each as large as can be.
        terms = self._w.size // max(self._w.shape[1], 1) if self._w.ndim > 1 else 0
        self._roughly = _largest(self._x) * _largest(self._w) * terms + _largest(self._b)

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
        if self._roughly <= limit:
            return True
        return _largest(self.terms(geometry).magnitude) <= limit

    def _integral(self) -> bool:
        return all(np.isfinite(a).all() and not np.any(a % 1) for a in (self._x, self._w, self._b) if a is not None)

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


@dataclass(frozen=True, slots=True)
class Comparison:
    """An output held against one geometry's values, in NCX: where it is wrong, and what is told."""

    rule: ver.Rule
    wrong: Mask
    expected: Array
    allowed: Array | None
    notes: tuple[str, ...]


def judge(
    expected: Expectation,
    outcome: out.Outcome,
    truth: Truth | None,
    data_format: DataFormat,
    accumulates: Mapping[str, str],
) -> ver.Verdict:
    """Return the verdict.

    Args:
        expected: what the dialect owes.
        outcome: what the backend did; an array in `data_format`.
        truth: the reference for the call's operands; None where no value is owed.
        data_format: the layout of the output.
        accumulates: what the backend accumulates f16 and bf16 in.
    """
    match outcome:
        case out.Unsupported(reason):
            return ver.Unsupported(reason)
        case out.Died(cause, stderr):
            return ver.Died(cause, stderr)
        case out.TimedOut(seconds):
            return ver.TimedOut(seconds)
        case out.Broke(message):
            return ver.Broke(message)
        case out.Refused() | out.Produced() | out.ShapeOnly():
            return _answered(expected, outcome, truth, data_format, accumulates)
        case _:
            assert_never(outcome)


def _answered(
    expected: Expectation,
    outcome: out.Refused | out.Produced | out.ShapeOnly,
    truth: Truth | None,
    data_format: DataFormat,
    accumulates: Mapping[str, str],
) -> ver.Verdict:
    match expected:
        case Inexpressible():
            return ver.Inexpressible(expected.reason)
        case Refuse():
            return _refusal_owed(expected, outcome)
        case Values():
            if isinstance(outcome, out.Refused):
                if expected.refusals:
                    return ver.Disputed(expected.refusals[:1], "refusal", message=outcome.message)
                return ver.RefusedValid(outcome.message)
            if truth is None:
                raise ValueError("a value is owed, so the reference must be there")
            return _value_owed(expected, outcome, truth, data_format, accumulates)
        case _:
            assert_never(expected)


def _refusal_owed(expected: Refuse, outcome: out.Refused | out.Produced | out.ShapeOnly) -> ver.Verdict:
    if not isinstance(outcome, out.Refused):
        return ver.AcceptedInvalid(expected.broken.constraint, expected.stated)
    if expected.stated:
        return ver.Agreed("refusal")
    return ver.Disputed((f"{expected.broken.constraint}-refused",), "refusal", message=outcome.message)


def _value_owed(
    expected: Values,
    outcome: out.Produced | out.ShapeOnly,
    truth: Truth,
    data_format: DataFormat,
    accumulates: Mapping[str, str],
) -> ver.Verdict:
    shape = outcome.shape if isinstance(outcome, out.ShapeOnly) else outcome.array.shape
    candidates = (expected.primary, *expected.disputed)
    fitting = [c for c in candidates if data_shape(truth.shape(c.geometry), data_format) == tuple(shape)]
    if not fitting:
        return ver.WrongShape(data_shape(truth.shape(expected.primary.geometry), data_format), tuple(shape))
    dtype = outcome.dtype if isinstance(outcome, out.ShapeOnly) else _dtype_word(outcome.array)
    if dtype != truth.dtype:
        return ver.WrongDtype(truth.dtype, dtype)
    if isinstance(outcome, out.ShapeOnly):
        return _followed(fitting[0], "shape", ())
    actual = to_ncx(outcome.array, data_format)
    compared = (compare(actual, truth, c.geometry, accumulates) for c in fitting)
    first: Comparison | None = None
    for candidate, comparison in zip(fitting, compared, strict=True):
        if not comparison.wrong.any():
            return _followed(candidate, comparison.rule, comparison.notes)
        first = first or comparison
    assert first is not None, "an empty list of fitting candidates has returned above"  # noqa: S101
    return _differed(first, actual)


def _followed(candidate: Candidate, rule: ver.Rule, notes: tuple[str, ...]) -> ver.Verdict:
    return ver.Disputed(candidate.readings, rule, notes) if candidate.readings else ver.Agreed(rule, notes)


_WORDS = {dtype: word for word, dtype in NUMPY_TYPES.items()}


def _dtype_word(array: Array) -> str:
    return str(_WORDS.get(array.dtype, array.dtype))


def compare(actual: Array, truth: Truth, geometry: Geometry, accumulates: Mapping[str, str]) -> Comparison:
    """Hold an NCX output against the reference under one geometry."""
    expected = truth.values(geometry)
    with np.errstate(invalid="ignore"):
        got = actual.astype(np.float64)
        wrong: Mask = (got != expected) & ~(np.isnan(got) & np.isnan(expected))
    if truth.exact(geometry):
        return Comparison("exact", wrong, expected, None, ())
    limits = bound(truth.terms(geometry), truth.dtype, accumulates)
    with np.errstate(invalid="ignore"):
        distance = np.abs(got - expected)
    return _within(got, expected, distance, wrong, limits, truth, geometry)


def _within(
    got: Array, expected: Array, distance: Array, unequal: Mask, limits: Bound, truth: Truth, geometry: Geometry
) -> Comparison:
    """Take from the unequal elements those that the bound, overflow, inserted zeros or flushing account for."""
    notes = []
    infinite = np.isinf(got) & limits.may_overflow & (np.sign(got) == np.sign(expected))
    wrong = unequal & ~near(got, expected, limits.allowed) & ~infinite
    inserted = wrong & np.isnan(got)
    if inserted.any():
        inserted &= truth.poisoned(geometry)
    if inserted.any():
        notes.append("nan-from-inserted-zeros")
        wrong &= ~inserted
    flushed = _flushed(got, expected, truth)
    if flushed.any():
        notes.append("flushed-subnormals")
        wrong &= ~flushed
    if (unequal & ~wrong & ~infinite & ~inserted & ~flushed & (distance > limits.warning)).any():
        notes.append("reduced-precision")
    return Comparison("bound", wrong, expected, limits.allowed, tuple(notes))


def near(got: Array, expected: Array, allowed: Array) -> Mask:
    """Return where numbers are as near as is allowed.

    Where infinity is owed everything finite is infinitely far, and the bound is infinite too: nothing is near there.
    """
    with np.errstate(invalid="ignore"):
        # Comparing with NaN is false, so a NaN in the distance or the bound is not near.
        close: Mask = (np.abs(got - expected) <= allowed) & np.isfinite(got) & np.isfinite(expected)
    return close


def _flushed(got: Array, expected: Array, truth: Truth) -> Mask:
    """Return where a subnormal result came out as zero.

    It is excused where the operands are subnormal to begin with, and of a backend that keeps no subnormal at all: one
    that keeps some has lost the others.
    """
    flushed: Mask = (got == 0) & is_subnormal(expected, truth.dtype)
    if not flushed.any() or (truth.subnormal and not is_subnormal(got, truth.dtype).any()):
        return flushed
    return np.zeros_like(flushed)


def _differed(comparison: Comparison, actual: Array) -> ver.Differed:
    """Report the first wrong element and the worst one."""
    places = np.argwhere(comparison.wrong)
    first = tuple(int(i) for i in places[0])
    with np.errstate(invalid="ignore"):
        got = actual.astype(np.float64)
    worst = None
    if comparison.allowed is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = (np.abs(got - comparison.expected) / comparison.allowed)[comparison.wrong]
        worst = float(np.nanmax(ratios)) if not np.isnan(ratios).all() else None
    return ver.Differed(
        comparison.rule,
        len(places),
        actual.size,
        first,
        float(comparison.expected[first]),
        float(got[first]),
        worst,
    )

"""The judge: an outcome against what the dialect owes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import data_shape, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.bound import bound, is_subnormal
from tconv.expectation.owed import Candidate, Inexpressible, Refuse, Values
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Bound
    from tconv.expectation.owed import Expectation
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, DataFormat, Mask


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
        case out.Unsupported() | out.Died() | out.TimedOut() | out.Broke():
            return outcome
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

"""The judge: an outcome compared with what the dialect owes."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import data_shape, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.expected import Candidate, Inexpressible, Refuse, Values
from tconv.verdict import kinds as ver
from tconv.verdict.transform_errors import is_transform
from tconv.verdict.values import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.expected import Expectation
    from tconv.expectation.problem import Problem
    from tconv.expectation.truth import Truth
    from tconv.verdict.values import Comparison
    from tconv.vocabulary import Array, DataFormat, DType


def judge(problem: Problem, outcome: out.Outcome, accumulator: DType) -> ver.Verdict:
    """Return the verdict.

    Args:
        problem: the problem.
        outcome: what the backend did; an array in the call's data layout.
        accumulator: the type that products of f16 or bf16 are added in.
    """
    match outcome:
        case out.Unsupported() | out.Died() | out.TimedOut() | out.Broke():
            return outcome
        case out.Refused() | out.Produced() | out.ShapeOnly():
            return _verdict(problem, outcome, accumulator)
        case _:
            assert_never(outcome)


def find_geometry(verdict: ver.Verdict, expected: Expectation) -> Geometry | None:
    """Return the geometry that the backend followed by its verdict; None where it followed none."""
    if not isinstance(verdict, ver.Allowed) or not isinstance(expected, Values):
        return None
    return expected.geometry(verdict.readings if isinstance(verdict, ver.Disputed) else ())


def _verdict(problem: Problem, outcome: out.Refused | out.Produced | out.ShapeOnly, accumulator: DType) -> ver.Verdict:
    match problem.expectation:
        case Inexpressible() as expected:
            return ver.Inexpressible(expected.reason)
        case Refuse() as expected:
            return _against_refusal(expected, outcome)
        case Values() as expected:
            if not isinstance(outcome, out.Refused):
                return judge_values(expected, outcome, problem.truth, problem.call.data_format, accumulator)
            if expected.refusals:
                return ver.Disputed(tuple(map(str, expected.refusals)), "refusal", message=outcome.message)
            return ver.RefusedValid(outcome.message)
        case _:
            assert_never(problem.expectation)


def _against_refusal(expected: Refuse, outcome: out.Refused | out.Produced | out.ShapeOnly) -> ver.Verdict:
    if isinstance(outcome, out.Refused):
        return ver.Agreed("refusal")
    return ver.AcceptedInvalid(expected.violation.constraint, expected.stated)


def judge_values(
    expected: Values,
    outcome: out.Produced | out.ShapeOnly,
    truth: Truth,
    data_format: DataFormat,
    accumulator: DType,
) -> ver.Verdict:
    """Return the verdict on a value where values are owed.

    Args:
        expected: the values that the text allows.
        outcome: what was produced.
        truth: the reference of the same operands.
        data_format: the layout of what was produced.
        accumulator: the type that products of f16 or bf16 are added in.
    """
    shape = outcome.shape if isinstance(outcome, out.ShapeOnly) else outcome.array.shape
    candidates = [c for c in expected.candidates if data_shape(truth.shape(c.geometry), data_format) == tuple(shape)]
    if not candidates:
        return ver.WrongShape(data_shape(truth.shape(expected.primary.geometry), data_format), tuple(shape))
    dtype = outcome.dtype if isinstance(outcome, out.ShapeOnly) else _dtype_name(outcome.array)
    if dtype != truth.dtype:
        return ver.WrongDtype(truth.dtype, dtype)
    if isinstance(outcome, out.ShapeOnly):
        return _followed(candidates, "shape", ())
    actual = to_ncx(outcome.array, data_format)
    comparisons = []
    for number, candidate in enumerate(candidates):
        comparison = compare(actual, truth, candidate.geometry, accumulator)
        if comparison.conforms:
            notes = (*outcome.notes, *comparison.notes)
            if comparison.untested:
                return ver.Mistrusted(comparison.untested, actual.size, candidate.readings, notes)
            if not candidate.readings:
                return ver.Agreed(comparison.rule, notes)
            others = (other for other in candidates[number + 1 :] if _gives(other, actual, truth, accumulator))
            return _followed([candidate, *others], comparison.rule, notes)
        comparisons.append(comparison)
    for candidate, comparison in zip(candidates, comparisons, strict=True):
        if is_transform(actual, truth, candidate.geometry):
            return _differed(ver.ExceedsSummationBound, comparison, actual)
    return _differed(ver.Differed, comparisons[0], actual)


def _gives(candidate: Candidate, actual: Array, truth: Truth, accumulator: DType) -> bool:
    return compare(actual, truth, candidate.geometry, accumulator).conforms


def _followed(giving: Sequence[Candidate], rule: ver.Rule, notes: tuple[str, ...]) -> ver.Allowed:
    """Return the verdict on what the first of some candidates, and each of the others, gives."""
    first = giving[0]
    if not first.readings:
        return ver.Agreed(rule, notes)
    alike = tuple(name for candidate in giving for name in candidate.names)[1:]
    return ver.Disputed(first.readings, rule, notes, alike=alike)


_DTYPE_NAMES = {dtype: name for name, dtype in NUMPY_TYPES.items()}


def _dtype_name(array: Array) -> str:
    return str(_DTYPE_NAMES.get(array.dtype, array.dtype))


def _differed(kind: type[ver.WrongValues], comparison: Comparison, actual: Array) -> ver.WrongValues:
    """Return the verdict of a kind with the first wrong element and the worst one."""
    places = np.argwhere(comparison.wrong)
    first = tuple(int(i) for i in places[0])
    return kind(
        comparison.rule,
        len(places),
        actual.size,
        first,
        float(comparison.expected[first]),
        float(actual[first]),
        comparison.worst,
    )

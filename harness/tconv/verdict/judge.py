"""The judge: an outcome compared with the expectation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import data_shape, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.expected import Candidate, NotApplicable, Refuse, Values
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver
from tconv.verdict.transform_errors import is_transform
from tconv.verdict.values import compare, count_steps
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.expected import Expectation
    from tconv.expectation.problem import Problem
    from tconv.expectation.surrounded import Surrounded
    from tconv.verdict.values import ComparedValues
    from tconv.vocabulary import Array, DataFormat


def judge(problem: Problem, outcome: out.Outcome, accumulator: DType) -> ver.Verdict:
    """Return the verdict.

    Args:
        problem: the problem.
        outcome: what the backend did; an array in the call's data layout.
        accumulator: the type in which products of f16 or bf16 are accumulated.
    """
    if not isinstance(outcome, out.Refused | out.Produced | out.ShapeOnly):
        return outcome
    match problem.expectation:
        case NotApplicable() as expected:
            return ver.NotApplicable(expected.reason)
        case Refuse(violation, stated):
            refused = isinstance(outcome, out.Refused)
            return ver.Agreed("refusal") if refused else ver.AcceptedInvalid(violation.constraint, stated)
        case Values() as expected:
            if not isinstance(outcome, out.Refused):
                verdict = judge_values(expected, outcome, problem.judged, problem.call.data_format, accumulator)
                if isinstance(verdict, ver.Agreed | ver.Disputed) and _is_coarse(problem):
                    return replace(verdict, notes=(*verdict.notes, "too-few-quanta"))
                return verdict
            if expected.refusals:
                return ver.Disputed(tuple(map(str, expected.refusals)), "refusal", message=outcome.message)
            return ver.RefusedValid(outcome.message)
        case _:
            assert_never(problem.expectation)


def _is_coarse(problem: Problem) -> bool:
    """Return whether a case has quanta or scales of its own, as a model has, and one scale is too coarse for them."""
    is_own = problem.case.quantisation is not None or problem.case.w.data == "values"
    return is_own and problem.surrounded is not None and problem.surrounded.reach is not None


def find_geometry(verdict: ver.Verdict, expected: Expectation) -> Geometry | None:
    """Return the geometry that the backend followed, by its verdict; None if it followed none."""
    if not isinstance(verdict, ver.Allowed) or not isinstance(expected, Values):
        return None
    return expected.geometry(verdict.readings if isinstance(verdict, ver.Disputed) else ())


def judge_values(
    expected: Values,
    outcome: out.Produced | out.ShapeOnly,
    truth: Truth | Surrounded,
    data_format: DataFormat,
    accumulator: DType,
) -> ver.Verdict:
    """Return the verdict on an output, if values are expected.

    Args:
        expected: the values that the text allows.
        outcome: the output, or its shape.
        truth: the reference of the same operands.
        data_format: the layout of the output.
        accumulator: the type in which products of f16 or bf16 are accumulated.
    """
    shape = outcome.shape if isinstance(outcome, out.ShapeOnly) else outcome.array.shape
    candidates = [c for c in expected.candidates if data_shape(truth.shape(c.geometry), data_format) == tuple(shape)]
    if not candidates:
        return ver.WrongShape(data_shape(truth.shape(expected.primary.geometry), data_format), tuple(shape))
    if isinstance(outcome, out.ShapeOnly):
        dtype = outcome.dtype
    else:
        dtype = str(_DTYPE_NAMES.get(outcome.array.dtype, outcome.array.dtype))
    if dtype != truth.dtype:
        return ver.WrongDtype(truth.dtype, dtype, _agree_converted(expected, outcome, truth, data_format, accumulator))
    if isinstance(outcome, out.ShapeOnly):
        return _follow(candidates, "shape", ())
    actual, quantisation = to_ncx(outcome.array, data_format), outcome.quantisation
    comparisons = []
    for number, candidate in enumerate(candidates):
        comparison = compare(actual, truth, candidate.geometry, accumulator, quantisation)
        if comparison.conforms:
            notes = (*outcome.notes, *comparison.notes)
            if comparison.untested:
                return ver.Inconclusive(comparison.untested, actual.size, candidate.readings, notes)
            # The text's first reading needs no others.
            others = candidates[number + 1 :] if candidate.readings else ()
            alike = [o for o in others if compare(actual, truth, o.geometry, accumulator, quantisation).conforms]
            return _follow([candidate, *alike], comparison.rule, notes)
        comparisons.append(comparison)
    for candidate, comparison in zip(candidates, comparisons, strict=True):
        if isinstance(truth, Truth) and is_transform(actual, truth, candidate.geometry):
            return _differ(ver.Imprecise, comparison, actual)
    return _differ(ver.Differed, comparisons[0], actual)


def _agree_converted(
    expected: Values,
    outcome: out.Produced | out.ShapeOnly,
    truth: Truth | Surrounded,
    data_format: DataFormat,
    accumulator: DType,
) -> bool | None:
    """Return whether values of a wrong type are right after conversion; None if there are no real numbers."""
    if isinstance(outcome, out.ShapeOnly) or truth.dtype not in {*DType}:
        return None
    if outcome.array.dtype not in _DTYPE_NAMES and outcome.array.dtype.kind not in "biuf":
        return None
    with np.errstate(all="ignore"):
        converted = outcome.array.astype(NUMPY_TYPES[DType(truth.dtype)])
    verdict = judge_values(expected, replace(outcome, array=converted), truth, data_format, accumulator)
    return isinstance(verdict, ver.Allowed | ver.Inconclusive)


def _follow(giving: Sequence[Candidate], rule: ver.Rule, notes: tuple[str, ...]) -> ver.Allowed:
    """Return the verdict on an output that each of some candidates gives; the first one counts."""
    if not giving[0].readings:
        return ver.Agreed(rule, notes)
    _, *alike = (name for candidate in giving for name in candidate.names)
    return ver.Disputed(giving[0].readings, rule, notes, alike=tuple(alike))


_DTYPE_NAMES = {dtype: name for name, dtype in NUMPY_TYPES.items()}


def _differ(kind: type[ver.WrongValues], comparison: ComparedValues, actual: Array) -> ver.WrongValues:
    """Return the verdict of a kind with the first wrong element and the worst one."""
    places = np.argwhere(comparison.wrong)
    first = tuple(int(i) for i in places[0])
    expected, got = float(comparison.expected[first]), float(actual[first])
    worst, steps = comparison.worst, None
    if worst is None or np.isinf(worst):
        worst, steps = None, count_steps(actual[comparison.wrong], comparison.expected[comparison.wrong])
    return kind(comparison.rule, len(places), actual.size, first, expected, got, worst, steps)

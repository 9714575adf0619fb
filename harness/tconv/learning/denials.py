"""Names that other cases deny: the misreading that explains a failure would also change cases that agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.patterns import path_of
from tconv.diagnosis import single_explanations
from tconv.diagnosis.misreadings import apply, misreadings_by_name
from tconv.diagnosis.misreadings.misreading import PrecisionOtherwise
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.learning.situations import situation_of
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.diagnosis import Diagnosis
    from tconv.diagnosis.misreadings import Misreading
    from tconv.dialects.readings import Combination
    from tconv.learning.judged_calls import JudgedCalls

_SIBLINGS = 40
"""Cases that agree with the text and are looked at for each name."""


def denials(calls: JudgedCalls, failed: Mapping[str, Diagnosis]) -> Mapping[Combination, int]:
    """Return how many cases that agree deny each name of a failure, where they are more than those that it explains.

    Args:
        calls: the calls of the run, those with right answers too.
        failed: why the output of each failure is wrong, by the id of its case.
    """
    explained: dict[Combination, list[str]] = {}
    for case, name in single_explanations({case: why.explained for case, why in failed.items()}).items():
        explained.setdefault(name, []).append(case)
    misreadings_known = misreadings_by_name(calls.dialect)
    counts = {}
    for name, cases in explained.items():
        misreadings = [misreadings_known[part] for part in name.names if part in misreadings_known]
        example = calls.find(min(cases, key=len))
        if example is None or any(isinstance(part.change, PrecisionOtherwise) for part in misreadings):
            continue
        siblings = list(_siblings(example, calls))
        count = sum(changes(misreadings, Problem(case, calls.dialect)) for case in siblings)
        if count > len(cases):
            counts[name] = count
    return counts


def _siblings(example: Case, calls: JudgedCalls) -> Iterator[Case]:
    """Yield cases of the example's situation and type that agree: those of its own sweep first."""
    sweep = path_of(example.id)
    agreeing = [case for case, verdict in calls.verdicts.items() if _is_by_value(verdict)]
    count = 0
    for case_id in sorted(agreeing, key=lambda case_id: path_of(case_id) != sweep):
        case = calls.find(case_id)
        if case is not None and (situation_of(case), case.x.dtype) == (situation_of(example), example.x.dtype):
            yield case
            count += 1
        if count == _SIBLINGS:
            return


def _is_by_value(verdict: object) -> bool:
    return isinstance(verdict, ver.Agreed) and verdict.rule in ver.VALUE_RULES


def changes(misreadings: Sequence[Misreading], problem: Problem) -> bool:
    """Return whether misreadings together change what is expected beyond all rounding."""
    if problem.values is None:
        return False
    misread = apply(misreadings, problem.signature, problem.dialect, problem.truth.operands)
    if misread is None:
        return False
    geometry, otherwise = problem.values.primary.geometry, Truth(misread.operands, problem.case.x.dtype)
    # A misread stride may make an output that no memory holds: its shape says enough.
    if (*otherwise.shape(misread.geometry)[:2], *misread.output) != problem.truth.shape(geometry):
        return True
    expected, values = problem.truth.compute_values(geometry), otherwise.compute_values(misread.geometry)
    changed = misread.finish(values) if misread.finish else values
    with np.errstate(invalid="ignore"):
        return not np.allclose(changed, expected, rtol=0.1, atol=0, equal_nan=True)

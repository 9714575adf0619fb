"""Further cases for a backend: they separate misreadings, and show the rule that a failure follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.corpus.building import MOST_ELEMENTS
from tconv.diagnosis.in_context import misread as misread_in_context
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.diagnosis.misreadings.misreading import apply
from tconv.evidence.observed_geometry import situation_of
from tconv.evidence.rules import learn_rules
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.cases.case import Case
    from tconv.diagnosis.misreadings.misreading import Misreading
    from tconv.dialects import Dialect
    from tconv.evidence.rules import RuleEvidence
    from tconv.execution.asking import Asking
    from tconv.records.headers import BackendHeader
    from tconv.records.record import Record
    from tconv.vocabulary import Array

REPEAT = 3
"""The number of runs of each case: an output that changes has no explanation."""
_MOST_TELLING = 12
"""The most other cases that may be run and are evidence."""
_MOST_SILENT = 36
"""The most other cases that may be run and are no evidence: a backend may die on most cases."""
_LARGEST = 2**14
"""The most elements of data times those of the filter: a small case shows as much as a large one."""
_MOST_OF_A_KIND = 200
"""The most cases of one padding mode that are run to learn a rule."""


@dataclass(frozen=True, slots=True)
class FurtherCase:
    """A case that was run to separate the candidates.

    Attributes:
        record: its record.
        left: the remaining candidates after it.
        tells: whether its record is evidence: a death, a refusal and an output with another error are not.
    """

    record: Record
    left: tuple[str, ...]
    tells: bool = True


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The explanation of a failure, with the cases for it.

    Attributes:
        record: the record of the case that fails.
        backend: the backend.
        dialect: the dialect.
        further: further cases, in the order in which they were run.
        left: the misreadings that explain the outputs of the case and of all further cases.
    """

    record: Record
    backend: BackendHeader
    dialect: Dialect
    further: tuple[FurtherCase, ...]
    left: tuple[str, ...]


def separate(case: Case, others: Iterable[Case], asking: Asking) -> Reasoning:
    """Return the misreadings that a backend may follow, after runs of a case and of others that separate them.

    Args:
        case: the case that fails.
        others: cases to choose from.
        asking: how the backend is asked.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    with Pool(replace(asking, repeat=REPEAT)) as pool:
        first = pool.record(case)
        remaining = [single.names[0] for single in first.diagnosis if len(single.names) == 1]
        further: list[FurtherCase] = []
        # Tens of thousands of cases are made only if a choice is needed.
        small = (case for case in others if _products(case) <= _LARGEST)
        for other in sorted(small, key=_size) if len(remaining) >= _SEVERAL else ():
            telling = sum(case.tells for case in further)
            if len(remaining) < _SEVERAL or telling == _MOST_TELLING or len(further) - telling == _MOST_SILENT:
                break
            problem = Problem(other, pool.dialect)
            if problem.values is None or len({_predicted(problem, name) for name in remaining}) < _SEVERAL:
                continue
            record = pool.record(other)
            tells = isinstance(record.verdict, ver.Agreed) or any(_explains(name, record) for name in remaining)
            if tells:
                remaining = [name for name in remaining if _confirms(record, problem, name)]
            further.append(FurtherCase(record, tuple(remaining), tells))
    explained = tuple(remaining) if further or len(remaining) == 1 else tuple(map(str, first.diagnosis))
    return Reasoning(first, pool.backend, pool.dialect, tuple(further), explained)


def misread_output(problem: Problem, misreading: Misreading) -> Array | None:
    """Return the output of a backend that follows a misreading, in the call's layout and type.

    Returns:
        None if the misreading changes nothing, or gives an output larger than any case may have.
    """
    call = problem.call
    if problem.surrounded is not None:
        compute = misread_in_context(misreading, problem)
        expected = problem.output
        return (
            None
            if compute is None or expected is None
            else from_ncx(compute().astype(expected.dtype), call.data_format)
        )
    misread = apply((misreading,), call.written, call.dialect, problem.truth.operands)
    if misread is None or not misreading.playable:
        return None
    if prod(Truth(misread.operands, call.dtype).shape(misread.geometry)) > MOST_ELEMENTS:
        # For example, a stride of 2^63 - 1 is used as a dilation.
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        return from_ncx(misread.values(call.dtype).astype(NUMPY_TYPES[call.dtype]), call.data_format)


def own_rule(case: Case, record: Record, others: Iterable[Case], asking: Asking) -> RuleEvidence | None:
    """Return the rule that a wrong output follows; None if its placement is right, or if no rule is found.

    Args:
        case: the case that fails.
        record: its record.
        others: cases to choose from: those with the same padding mode, and with or without output_shape like the case.
        asking: how the backend is asked.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    if record.placement is None and record.verdict.kind != "wrong-shape":
        return None
    siblings = [
        other
        for other in others
        if other.breaks is None and other.id != case.id and _products(other) <= _LARGEST
        if situation_of(other) == situation_of(case)
    ]
    chosen = list(islice(siblings, 0, None, max(len(siblings) // _MOST_OF_A_KIND, 1)))
    with Pool(asking) as pool:
        records = [record, *pool.records(chosen).values()]
        cases = {member.id: member for member in (case, *chosen)}
        learnt = learn_rules(records, cases.get, pool.dialect, frozenset({case.id}))
    return next((evidence for evidence in learnt if case.id in evidence.cases), None)


_SEVERAL = 2


def _size(case: Case) -> tuple[int, str]:
    return _products(case), case.id


def _products(case: Case) -> int:
    return prod(case.x.shape) * prod(case.w.shape)


def _predicted(problem: Problem, name: str) -> bytes | None:
    """Return the output that a misreading gives, as bytes; None if it is the expected output."""
    array, expected = misread_output(problem, misreadings_by_name(problem.dialect)[name]), problem.output
    if array is None or expected is None or (array.shape == expected.shape and array.tobytes() == expected.tobytes()):
        return None
    return str(array.shape).encode() + array.tobytes()


def _confirms(record: Record, problem: Problem, name: str) -> bool:
    """Return whether the record of a case has the output that the misreading predicts."""
    if _predicted(problem, name) is None:
        return isinstance(record.verdict, ver.Agreed)
    return _explains(name, record)


def _explains(name: str, record: Record) -> bool:
    """Return whether the misreading gives the output, alone or together with another one."""
    return any(name in together.names for together in record.diagnosis)

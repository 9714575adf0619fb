"""Which misreading gives exactly the output that is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from time import thread_time
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.description import described
from tconv.diagnosis.faulty_products import accounted
from tconv.diagnosis.misreadings import apply, beside_readings, misreadings_of, pairs
from tconv.diagnosis.placement import placed
from tconv.dialects.readings import Combination
from tconv.expectation.bound import bound_errors, near
from tconv.expectation.truth import Truth
from tconv.verdict.values import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.diagnosis.description import Description
    from tconv.diagnosis.misreadings import MisreadCall, Misreading
    from tconv.diagnosis.placement import Placement
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.expected import Candidate
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array, DType

UNDIAGNOSED = "undiagnosed"
"""The beginning of the description of an output for which no search was completed."""
GIVEN_UP = f"{UNDIAGNOSED}, the search took too long"
"""The beginning of the description of an output whose search took longer than `BUDGET`."""
BUDGET = 2.0
"""Seconds that the search for the explanations of an output may take."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an output is wrong.

    Attributes:
        explained: misreadings that give exactly this output, each by itself or a pair together.
        described: where and how it is wrong, if nothing explains it.
        relation: what the wrong elements are beside what is expected, if nothing explains them and it is seen.
        placement: where its values lie; None where not even the channels fit, or it was not looked for.
        by_others: whether other failures explain it, and not this output alone.
    """

    explained: tuple[Combination, ...]
    described: str = ""
    relation: str = ""
    placement: Placement | None = None
    by_others: bool = False


def diagnose(problem: Problem, actual: Array, accumulator: DType, budget: float = BUDGET) -> Diagnosis:
    """Return why an output is not what a dialect expects.

    Args:
        problem: the problem; it expects a value.
        actual: the output, in NCX.
        accumulator: the type that products of f16 or bf16 are added in.
        budget: seconds of this thread's processor time, after which the search ends with what it has found.

    Raises:
        ValueError: the problem expects no value.
    """
    candidate = problem.held_against(actual.shape)
    if candidate is None:
        raise ValueError(f"a problem must expect a value to be diagnosed (got {problem.case.id})")
    ends = thread_time() + budget
    # What a misreading makes of large operands may overflow, and of special ones be no number.
    with np.errstate(over="ignore", invalid="ignore"):
        named = _named(problem, candidate, actual, accumulator, ends)
        return replace(named, placement=placed(actual, problem.truth, candidate.geometry, accumulator))


def _named(problem: Problem, candidate: Candidate, actual: Array, accumulator: DType, ends: float) -> Diagnosis:
    """Return the misreadings that give an output, searched until this thread has used `ends` seconds."""
    geometry, dtype = candidate.geometry, problem.case.x.dtype
    operands = problem.truth.operands
    explained: list[Combination] = []

    def undiagnosed(*beginning: str) -> Diagnosis:
        reading = (
            f"held against {Combination(candidate.readings)}, which gives this shape: " if candidate.readings else ""
        )
        words, relation = _where(actual, problem.truth, geometry, accumulator)
        return Diagnosis((), "".join((*beginning, reading, words)), relation)

    for misreadings in _candidates(problem):
        # Several together are tried only where no single misreading explains the output.
        if explained and len(misreadings) > 1:
            break
        if thread_time() > ends:
            return Diagnosis(tuple(explained)) if explained else undiagnosed(f"{GIVEN_UP}: ")
        if _explains(misreadings, problem, actual, accumulator):
            explained.append(Combination(tuple(misreading.name for misreading in misreadings)))
    if explained:
        return Diagnosis(tuple(explained))
    account = accounted(actual, operands, dtype, geometry, accumulator)
    return undiagnosed(f"{account}; ") if account else undiagnosed()


def explains(misreadings: Sequence[Misreading], problem: Problem, actual: Array, accumulator: DType) -> bool:
    """Return whether misreadings together give an output.

    Args:
        misreadings: the misreadings.
        problem: the problem; it expects a value.
        actual: the output, in NCX.
        accumulator: the type that products of f16 or bf16 are added in.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _explains(misreadings, problem, actual, accumulator)


def _explains(misreadings: Sequence[Misreading], problem: Problem, actual: Array, accumulator: DType) -> bool:
    misread = apply(misreadings, problem.signature, problem.dialect, problem.truth.operands)
    return misread is not None and _gives(misread, actual, problem.case.x.dtype, accumulator)


def _where(actual: Array, truth: Truth, geometry: Geometry, accumulator: DType) -> Description:
    """Return where and how an output is wrong beyond rounding."""
    fits = truth.shape(geometry) == actual.shape
    wrong = compare(actual, truth, geometry, accumulator).wrong if fits else None
    return described(actual, truth.compute_values(geometry), geometry, wrong, truth.operands.get("b"))


def _candidates(problem: Problem) -> Iterator[tuple[Misreading, ...]]:
    for misreading in misreadings_of(problem.dialect):
        yield (misreading,)
    yield from pairs()
    disputed = problem.values.disputed if problem.values else ()
    yield from beside_readings(problem.dialect, [candidate.readings for candidate in disputed])


def _gives(misread: MisreadCall, actual: Array, dtype: DType, accumulator: DType) -> bool:
    """Return whether an output is that of the misread call: exactly for integers, else within the bound."""
    truth = Truth(misread.operands, dtype)
    if (*truth.shape(misread.geometry)[:2], *misread.output) != actual.shape:
        return False
    if misread.precision is not None:
        return misread.precision.accounts(actual, truth.compute_terms(misread.geometry), dtype)
    if misread.finish is None:
        return compare(actual, truth, misread.geometry, accumulator).conforms
    unfinished = truth.compute_values(misread.geometry)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = misread.finish(unfinished)
        if np.array_equal(expected, unfinished, equal_nan=True):
            return False
        if truth.exact(misread.geometry):
            return np.array_equal(expected.astype(actual.dtype), actual, equal_nan=True)
        allowed = bound_errors(truth.compute_terms(misread.geometry), dtype, accumulator).allowed
        allowed = (misread.finish_bound or misread.finish)(allowed)
        values = actual.astype(np.float64)
    return bool(
        ((values == expected) | near(values, expected, allowed) | (np.isnan(values) & np.isnan(expected))).all()
    )


def single_explanations(diagnoses: Mapping[str, Sequence[Combination]]) -> dict[str, Combination]:
    """Return a single explanation for each case, the one that explains most cases, so that one cause has one name.

    Args:
        diagnoses: what explains each case, by id.
    """
    unexplained = {case: set(names) for case, names in diagnoses.items() if names}
    chosen: dict[str, Combination] = {}
    while unexplained:
        counts = Counter(name for names in unexplained.values() for name in names)
        # Of equally many the first in the order of the catalogue, which a diagnosis has.
        best = max(counts.values())
        name = next(n for names in diagnoses.values() for n in names if counts[n] == best)
        chosen |= {case: name for case, names in unexplained.items() if name in names}
        unexplained = {case: names for case, names in unexplained.items() if name not in names}
    return chosen

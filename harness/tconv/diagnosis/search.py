"""Which misreading gives the very output that is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import thread_time
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.accounting import accounted
from tconv.diagnosis.description import described
from tconv.diagnosis.misreadings import imagined, misreadings_of, pairs
from tconv.dialects.readings import Together
from tconv.expectation.bound import bound
from tconv.expectation.truth import Truth
from tconv.verdict.judge import compare, near

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.diagnosis.misreadings import Imagined, Misreading
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array, DType

GIVEN_UP = "undiagnosed, the search took too long"
"""What the description of an output begins with for which there was no time."""
BUDGET = 0.05
"""Seconds that the search for one explanation may take."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an output is wrong.

    Attributes:
        explained: misreadings that give this very output, each by itself or a pair together.
        described: where and how it is wrong, where nothing explains it.
    """

    explained: tuple[Together, ...]
    described: str = ""


def diagnose(problem: Problem, actual: Array, accumulates: Mapping[str, str], budget: float = BUDGET) -> Diagnosis:
    """Return why an output is not what a dialect owes.

    Args:
        problem: what was asked; it owes a value.
        actual: the output, in NCX.
        accumulates: what the backend accumulates f16 and bf16 in.
        budget: seconds of this thread's own, after which the search ends with what it has found.

    Raises:
        ValueError: the problem owes no value.
    """
    if problem.values is None:
        raise ValueError(f"a problem must owe a value to be diagnosed (got {problem.case.id})")
    ends = thread_time() + budget
    geometry, dtype = problem.values.primary.geometry, problem.case.x.dtype
    operands = problem.truth.operands
    found: list[Together] = []

    def where() -> str:
        return _where(actual, problem.truth, geometry, accumulates)

    for misreadings in _candidates(problem.dialect):
        # A pair is no explanation where a single misreading is.
        if found and len(misreadings) > 1:
            break
        if thread_time() > ends:
            return Diagnosis(tuple(found), "" if found else f"{GIVEN_UP}: {where()}")
        made = imagined(misreadings, problem.signature, problem.dialect, operands)
        if made is not None and _gives(made, actual, dtype, accumulates):
            found.append(Together(tuple(misreading.name for misreading in misreadings)))
    if found:
        return Diagnosis(tuple(found))
    account = accounted(actual, operands, dtype, geometry, accumulates)
    return Diagnosis((), f"{account}; {where()}" if account else where())


def _where(actual: Array, truth: Truth, geometry: Geometry, accumulates: Mapping[str, str]) -> str:
    """Return where an output is wrong; rounding is not."""
    fits = truth.shape(geometry) == actual.shape
    wrong = compare(actual, truth, geometry, accumulates).wrong if fits else None
    return described(actual, truth.values(geometry), geometry, wrong)


def _candidates(dialect: Dialect) -> Iterator[tuple[Misreading, ...]]:
    for misreading in misreadings_of(dialect):
        yield (misreading,)
    yield from pairs()


def _gives(made: Imagined, actual: Array, dtype: DType, accumulates: Mapping[str, str]) -> bool:
    """Return whether an output is what a misreading makes of the call: exactly, or within the bound of real data."""
    truth = Truth(made.operands, dtype)
    if truth.shape(made.geometry) != actual.shape:
        return False
    if made.precision is not None:
        return made.precision.accounts(actual, truth.terms(made.geometry), dtype)
    if made.finish is None:
        return not compare(actual, truth, made.geometry, accumulates).wrong.any()
    plain = truth.values(made.geometry)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = made.finish(plain)
        if np.array_equal(wanted, plain, equal_nan=True):
            return False
        if truth.exact(made.geometry):
            return np.array_equal(wanted.astype(actual.dtype), actual, equal_nan=True)
        # What is allowed of an element goes where it goes.
        allowed = made.finish(bound(truth.terms(made.geometry), dtype, accumulates).allowed)
        got = actual.astype(np.float64)
    return bool(((got == wanted) | near(got, wanted, allowed) | (np.isnan(got) & np.isnan(wanted))).all())


def shared(diagnoses: Mapping[str, Sequence[Together]]) -> dict[str, Together]:
    """Return the one misreading for each case that explains the most of all, so that one cause has one name.

    Args:
        diagnoses: what explains each case, by id.
    """
    left = {case: set(names) for case, names in diagnoses.items() if names}
    chosen: dict[str, Together] = {}
    while left:
        counts = Counter(name for names in left.values() for name in names)
        # The order of the catalogue, which is that of a diagnosis, breaks a tie.
        best = max(counts.values())
        name = next(n for names in diagnoses.values() for n in names if counts[n] == best)
        chosen |= {case: name for case, names in left.items() if name in names}
        left = {case: names for case, names in left.items() if name not in names}
    return chosen

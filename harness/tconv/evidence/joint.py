"""Failures that are explained with the help of other failures of the run.

A runtime with two bugs is wrong in three ways: by the first, by the second, or by both in one call. No single
misreading gives an output of the third kind, and only after the run is it known which pairs are worth a trial.

Numbers that are stored with too few bits show in few elements of some outputs. These are too few for one output alone,
but enough if many others show the same loss.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.diagnosis import Diagnosis, explains, single_explanations
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.diagnosis.misreadings.misreading import Misreading, PrecisionOtherwise
from tconv.dialects.readings import Combination
from tconv.expectation.expected import Candidate
from tconv.expectation.problem import share_problem
from tconv.records import artifacts
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from tconv.cases.case import Case
    from tconv.expectation.problem import Problem
    from tconv.records.record import Record
    from tconv.records.record_file import Run
    from tconv.vocabulary import Array

_FEWEST = 4
"""A misreading is tried on other failures only if it is the only cause of so many: a few may fit by chance."""
_MOST_NAMES = 6
"""The most misreadings that are combined, those of most failures."""
_LARGEST = 3
"""The most misreadings in one call."""
_MOST_TRIALS = 20_000
"""The most trials of sets in all: a count, not a time, so that every machine explains the same records alike."""
SHOWN_ALONE, SHOWN_ELSEWHERE = "other failures show each of these alone", "other failures show it in more elements"
"""Descriptions of an output that is explained with the help of other failures."""


def explain_by_others(run: Run, failed: Container[str], find: Callable[[str], Case | None]) -> dict[str, Diagnosis]:
    """Return the diagnoses of wrong outputs that misreadings of other failures explain, by case id.

    These are several misreadings together, or one misreading that loses bits.

    The outputs are read from the artifacts. A failure without an artifact stays as it is.

    Args:
        run: the records of the run.
        failed: the ids of the cases that failed, by the gate's decision.
        find: returns a case of the run by its id.
    """
    # A waived failure shows a misreading too.
    wrong = [record for record in run.records if isinstance(record.verdict, ver.WrongOutput)]
    counts = Counter(single_explanations({record.case: record.diagnosis for record in wrong}).values())
    single = [(name, count) for name, count in counts.most_common() if len(name.names) == 1]
    names = [name for name, count in single if count >= _FEWEST][:_MOST_NAMES]
    by_name = misreadings_by_name(run.dialect)
    named = [by_name[str(name)] for name in names if str(name) in by_name]
    if not named:
        return {}
    lossy = [(each,) for each in named if isinstance(each.change, PrecisionOtherwise) and each.change.joins]
    # One misreading comes before several: the search of a worker may have run out of time before it was found.
    sets = [*lossy, *chain.from_iterable(combinations(named, count) for count in range(1, _LARGEST + 1))]
    unnamed = (record for record in wrong if record.case in failed and set(names).isdisjoint(record.diagnosis))
    # The number of trials is limited.
    tried = islice(unnamed, _MOST_TRIALS // len(sets))
    found = ((record.case, _explain_by(sets, record, run, find(record.case))) for record in tried)
    return {case: explained for case, explained in found if explained is not None}


def _explain_by(
    sets: Sequence[tuple[Misreading, ...]], record: Record, run: Run, case: Case | None
) -> Diagnosis | None:
    """Return a diagnosis with the first set of misreadings that explains an output; None if no set does."""
    actual = artifacts.array(run.path.parent, record.artifact, "actual")
    if case is None or actual is None or case.context:
        return None
    problem = share_problem(case, run.dialect)
    with np.errstate(over="ignore", invalid="ignore"):
        actual = actual.astype(NUMPY_TYPES[case.x.dtype])
    for misreadings in sets if problem.values else ():
        explained = (*record.diagnosis, Combination(tuple(misreading.name for misreading in misreadings)))
        if explains(misreadings, problem, actual, record.accumulator):
            evidence = SHOWN_ALONE if len(misreadings) > 1 else ""
            return Diagnosis(explained, evidence, placement=record.placement, by_others=bool(evidence))
        if _joins(misreadings, problem, actual):
            return Diagnosis(explained, SHOWN_ELSEWHERE, placement=record.placement, by_others=True)
    return None


def _joins(misreadings: Sequence[Misreading], problem: Problem, actual: Array) -> bool:
    """Return whether the bits that one misreading loses explain an output: other outputs show the loss more clearly."""
    match misreadings, problem.held_against(actual.shape):
        case (Misreading(change=PrecisionOtherwise(joins=joins)),), Candidate(geometry=geometry) if joins is not None:
            fits = problem.truth.shape(geometry) == actual.shape
            return fits and joins(actual, problem.truth.compute_terms(geometry), problem.case.x.dtype)
        case _:
            return False

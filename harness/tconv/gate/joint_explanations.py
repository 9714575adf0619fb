"""Failures that are explained by what other failures of the run show: several mistakes that meet, or lost bits.

A runtime with two bugs is wrong in three ways: by the one, by the other, and by both in one call. No single misreading
gives an output of the third kind. Which pairs are worth a trial is known only after the run, from its other failures.

Numbers that are stored with too few bits show in few elements of some outputs: too few for one output alone, and enough
where many others show the same loss.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.diagnosis import Diagnosis, explains, single_explanations
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.diagnosis.misreadings.misreading import Misreading, PrecisionOtherwise
from tconv.dialects.readings import Together
from tconv.expectation.problem import shared_problem
from tconv.records import artifacts
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.expectation.problem import Problem
    from tconv.records.record import Record
    from tconv.records.record_file import Run
    from tconv.vocabulary import Array

_FEWEST = 4
"""So many failures have a misreading as their only cause before it is looked for in others: a few may fit by chance."""
_MOST = 6
"""So many misreadings are tried together, those of most failures."""
_LARGEST = 3
"""So many of them in one call, at most."""
_MOST_TRIALS = 20_000
"""So many sets of misreadings are tried in all, so that the same records are explained alike on every machine."""
SHOWN_ALONE, SHOWN_ELSEWHERE = "other failures show each of these alone", "other failures show it in more elements"
"""How an output is described that is explained by what other failures of the run show."""


def explain_by_others(run: Run, failed: Container[str], find: Callable[[str], Case | None]) -> dict[str, Diagnosis]:
    """Return, by ids, why the outputs of failures are wrong that misreadings of other failures explain.

    These are several misreadings together, or one that loses bits.

    The outputs are read from the artifacts. A failure without an artifact stays as it is.

    Args:
        run: the records of the run.
        failed: the ids of the cases that failed, as the gate says.
        find: returns a case of the run by its id.
    """
    # What is waived shows a misreading too.
    wrong = [record for record in run.records if isinstance(record.verdict, ver.WrongOutput)]
    names = _established(wrong)
    misreadings = misreadings_by_name(run.dialect)
    named = [misreadings[name] for name in names if name in misreadings]
    sets = [*_losing_bits(named), *_combinations(named)] if named else []
    trials = 0
    found: dict[str, Diagnosis] = {}
    for record in wrong:
        if record.case not in failed or not {Together((name,)) for name in names}.isdisjoint(record.diagnosis):
            continue
        if (trials := trials + len(sets)) > _MOST_TRIALS:
            break
        if (explained := _explained(record, sets, run, find(record.case))) is not None:
            found[record.case] = explained
    return found


def _established(wrong: Sequence[Record]) -> list[str]:
    """Return the names of the misreadings that many failures show one by one, those of most failures first."""
    counts = Counter(single_explanations({record.case: record.diagnosis for record in wrong}).values())
    single = [(name.names[0], count) for name, count in counts.most_common() if len(name.names) == 1]
    return [name for name, count in single if count >= _FEWEST][:_MOST]


def _losing_bits(named: Sequence[Misreading]) -> Iterator[tuple[Misreading]]:
    return (
        (misreading,)
        for misreading in named
        if isinstance(misreading.change, PrecisionOtherwise) and misreading.change.joins
    )


def _combinations(named: Sequence[Misreading]) -> Iterator[tuple[Misreading, ...]]:
    # One alone comes first: the search of a worker may have run out of time.
    return chain.from_iterable(combinations(named, count) for count in range(1, _LARGEST + 1))


def _explained(record: Record, sets: Sequence[tuple[Misreading, ...]], run: Run, case: Case | None) -> Diagnosis | None:
    """Return that the first set of misreadings that explains an output explains it; None where none does."""
    if case is None or (actual := _output(record, run, case)) is None:
        return None
    problem = shared_problem(case, run.dialect)
    if problem.values is None:
        return None
    for misreadings in sets:
        explained = (*record.diagnosis, Together(tuple(misreading.name for misreading in misreadings)))
        if explains(misreadings, problem, actual, record.accumulator):
            evidence = SHOWN_ALONE if len(misreadings) > 1 else ""
            return Diagnosis(explained, evidence, placement=record.placement)
        if _joins(misreadings, problem, actual):
            return Diagnosis(explained, SHOWN_ELSEWHERE, placement=record.placement)
    return None


def _joins(misreadings: Sequence[Misreading], problem: Problem, actual: Array) -> bool:
    """Return whether the bits that one misreading loses explain an output, as other outputs show more of them."""
    match misreadings:
        case (Misreading(change=PrecisionOtherwise(joins=joins)),) if joins is not None:
            candidate = problem.held_against(actual.shape)
            if candidate is None or problem.truth.shape(candidate.geometry) != actual.shape:
                return False
            return joins(actual, problem.truth.terms(candidate.geometry), problem.case.x.dtype)
        case _:
            return False


def _output(record: Record, run: Run, case: Case) -> Array | None:
    """Return the output of a failure, (N, O, Y...), in its own type; None where it was not kept."""
    actual = artifacts.array(run.path.parent, record.artifact, "actual")
    if actual is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return actual.astype(NUMPY_TYPES[case.x.dtype])

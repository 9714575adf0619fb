"""What explains the failures of a run together: rules, what calls have in common, and where a misreading is made.

The values of failures explain nothing if they depend on the calls before them in their process, or may.

Some failures are explained by what other failures show. A runtime with two bugs is wrong in three ways: by the one, by
the other, and by both in one call. No single misreading gives an output of the third kind, and which pairs are worth a
trial is known only after the run. Numbers that are stored with too few bits show in few elements of some outputs: too
few for one output alone, and enough if many others show the same loss.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.diagnosis import Diagnosis, explains, single_explanations
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.diagnosis.misreadings.misreading import Misreading, PrecisionOtherwise
from tconv.dialects.readings import Combination
from tconv.expectation.expected import Candidate
from tconv.expectation.problem import share_problem
from tconv.gate.status import FAILING, ReadingChanged
from tconv.learning import (
    JudgedCalls,
    UnansweredCalls,
    denials,
    lessons,
    named_conditions,
    symptoms,
    without_misread,
    without_named,
)
from tconv.records import artifacts
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.expectation.problem import Problem
    from tconv.gate.status import RecordStatus
    from tconv.learning import Condition, Lesson, Misread, Symptom
    from tconv.records.record import Record
    from tconv.records.record_file import Run
    from tconv.vocabulary import Array

_MOST = 0.9
"""The part of the cases of a statement that it is true of at least."""
_LARGER = {True: 2, False: 4}
"""So many times the cases of a rule fail under one condition, where the rule only fits a part of one bug.

By whether it is known of no fact where the rule holds.
"""


class Varying(NamedTuple):
    """Where failures are whose answers vary, or may vary.

    Attributes:
        condition: the condition on their calls.
        cases: the ids of those for which it holds.
    """

    condition: Condition
    cases: frozenset[str]


class Explanations(NamedTuple):
    """What explains the failures of a run together.

    Attributes:
        learnt: the rules that the failures follow, learnt from all answers.
        symptoms: what the failures that follow none of these rules have in common.
        denied: how many cases that agree deny the name of a failure, if they are more than those that it explains.
        misread: where a misreading is made on some calls alone, by its name.
        varying: where failures are whose answers vary; None where that is not known, or none varies.
        unanswered: the calls without an answer, and the conditions on them; None where answers vary.
    """

    learnt: tuple[Lesson, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    denied: Mapping[Combination, int] = {}
    misread: Mapping[Combination, Misread] = {}
    varying: Varying | None = None
    unanswered: UnansweredCalls | None = None


def explain(
    run: Run, members: Sequence[RecordStatus], find: Callable[[str], Case | None], *, vary: bool
) -> Explanations:
    """Return what explains the failures of a run; if answers vary, the condition on the calls whose answers do.

    Args:
        run: the records.
        members: the records with their statuses.
        find: returns a case by its id; None where the corpus has no such case.
        vary: whether answers of the run vary.
    """
    # A pin explains what it finds.
    failed = [m for m in members if m.status in FAILING and not isinstance(m.ruling, ReadingChanged)]
    if not failed:
        return Explanations()
    calls = JudgedCalls({member.record.case: member.ruling for member in members}, find, run.dialect)
    return _locate_varying(calls, failed) if vary else _explain(run, calls, failed)


def _explain(run: Run, calls: JudgedCalls, members: Sequence[RecordStatus]) -> Explanations:
    """Return what explains failures whose answers do not vary."""
    failed = {member.record.case: member.why for member in members}
    misread = named_conditions(calls, failed)
    learnt = without_misread(lessons(run.records, calls.find, run.dialect, failed.keys()), misread)
    if any(lesson.of_some for lesson in learnt):
        denied = denials(calls, failed)
        learnt = without_named(learnt, failed, denied)
        learnt = _drop_accidents(learnt, misread, calls, failed, denied)
    rest = _find_left(failed, learnt, misread)
    denied = denials(calls, rest)
    return Explanations(learnt, symptoms(calls, rest, denied), denied, misread, unanswered=UnansweredCalls(calls))


def _locate_varying(calls: JudgedCalls, failed: Sequence[RecordStatus]) -> Explanations:
    """Return the condition on the calls of failures that vary, or may vary, where it holds for nearly all of them.

    Their values explain nothing.
    """
    varying = [member.record.case for member in failed if member.record.varies or member.may_vary]
    met = calls.condition(varying)
    if met is None or len(met[1]) < _MOST * len(varying):
        return Explanations()
    return Explanations(varying=Varying(met[0], frozenset(met[1])))


def answers_vary(members: Iterable[RecordStatus]) -> bool:
    """Return whether a failure had another answer when it was asked again.

    What is waived is not asked in later runs, and what is known of it excuses no other answer.
    """
    return any(member.record.answer_varies and member.status in FAILING for member in members)


def mark_spoilt(members: Iterable[RecordStatus]) -> tuple[RecordStatus, ...]:
    """Return the records of a run whose answers vary, those that other calls may have spoilt without explanations."""

    def mark(member: RecordStatus) -> RecordStatus:
        if member.status not in FAILING or not (member.record.varies or member.may_vary):
            return member
        return replace(member, why=Diagnosis(()), is_spoilt=member.may_vary)

    return tuple(map(mark, members))


def _drop_accidents(
    learnt: Sequence[Lesson],
    misread: Mapping[Combination, Misread],
    calls: JudgedCalls,
    failed: Mapping[str, Diagnosis],
    denied: Container[Combination],
) -> tuple[Lesson, ...]:
    """Return rules without those that fit only some of the many calls that are wrong under one condition.

    A kernel that computes another thing gives now and then what a wrong pad would give.
    """
    beside = _find_left(failed, [lesson for lesson in learnt if not lesson.of_some], misread)
    found = [symptom for symptom in symptoms(calls, beside, denied) if symptom.condition is not None]

    def is_accident(lesson: Lesson) -> bool:
        return lesson.of_some and any(_is_part(lesson, symptom) for symptom in found)

    return tuple(lesson for lesson in learnt if not is_accident(lesson))


def _is_part(lesson: Lesson, symptom: Symptom) -> bool:
    """Return whether the failures of a rule are the lesser part of those under a condition."""
    within = len(set(lesson.cases).intersection(symptom.cases))
    return within >= _MOST * len(lesson.cases) and len(symptom.cases) > _LARGER[lesson.partial] * len(lesson.cases)


def _find_left(
    failed: Mapping[str, Diagnosis], learnt: Sequence[Lesson], misread: Mapping[Combination, Misread]
) -> dict[str, Diagnosis]:
    """Return the failures that neither follow a rule nor have a name that holds where it is said to."""
    known = {case for lesson in learnt for case in lesson.cases}.union(*(each.cases for each in misread.values()))
    return {case: why for case, why in failed.items() if case not in known}


_FEWEST = 4
"""So many failures have a misreading as their only cause before it is looked for in others: a few may fit by chance."""
_MOST_NAMES = 6
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
    counts = Counter(single_explanations({record.case: record.diagnosis for record in wrong}).values())
    single = [(name, count) for name, count in counts.most_common() if len(name.names) == 1]
    names = [name for name, count in single if count >= _FEWEST][:_MOST_NAMES]
    by_name = misreadings_by_name(run.dialect)
    named = [by_name[str(name)] for name in names if str(name) in by_name]
    if not named:
        return {}
    lossy = [(each,) for each in named if isinstance(each.change, PrecisionOtherwise) and each.change.joins]
    # One alone comes before several: the search of a worker may have run out of time.
    sets = [*lossy, *chain.from_iterable(combinations(named, count) for count in range(1, _LARGEST + 1))]
    unnamed = (record for record in wrong if record.case in failed and set(names).isdisjoint(record.diagnosis))
    # No more are tried than may be.
    tried = islice(unnamed, _MOST_TRIALS // len(sets))
    found = ((record.case, _explain_by(sets, record, run, find(record.case))) for record in tried)
    return {case: explained for case, explained in found if explained is not None}


def _explain_by(
    sets: Sequence[tuple[Misreading, ...]], record: Record, run: Run, case: Case | None
) -> Diagnosis | None:
    """Return that the first set of misreadings that explains an output explains it; None where none does."""
    actual = artifacts.array(run.path.parent, record.artifact, "actual")
    if case is None or actual is None:
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
    """Return whether the bits that one misreading loses explain an output, as other outputs show more of them."""
    match misreadings, problem.held_against(actual.shape):
        case (Misreading(change=PrecisionOtherwise(joins=joins)),), Candidate(geometry=geometry) if joins is not None:
            fits = problem.truth.shape(geometry) == actual.shape
            return fits and joins(actual, problem.truth.compute_terms(geometry), problem.case.x.dtype)
        case _:
            return False

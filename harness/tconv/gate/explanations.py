"""What explains the failures of a run together: rules, what calls have in common, and where a misreading is made.

The values of failures explain nothing if they depend on the calls before them in their process, or may.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tconv.gate.status import Status
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

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects.readings import Together
    from tconv.gate.status import RecordStatus
    from tconv.learning import Condition, Lesson, Misread, Symptom
    from tconv.records.record import Record
    from tconv.records.record_file import Run

_MOST = 0.9
"""The part of the cases of a statement that it is true of at least."""
_LARGER = {True: 2, False: 4}
"""So many times the cases of a rule fail under one condition, where the rule only fits a part of one bug.

By whether it is known of no fact where the rule holds.
"""
NOT_ASKED = "not asked again: others that were asked again, alone in a fresh process, have other answers there"
"""What is said of a failure of which it is not known whether its answer depends on the calls before it."""


class Varying(NamedTuple):
    """Where failures are whose answers vary, or may vary.

    Attributes:
        condition: the condition on their calls.
        cases: the ids of those for which it holds.
    """

    condition: Condition
    cases: frozenset[str]


class Explanations(NamedTuple):
    """What explains the failures of a run together; see `Assessment`."""

    learnt: tuple[Lesson, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    denied: Mapping[Together, int] = {}
    misread: Mapping[Together, Misread] = {}
    varying: Varying | None = None
    unanswered: UnansweredCalls | None = None


def explanations(run: Run, failed: Sequence[Record], find: Callable[[str], Case | None]) -> Explanations:
    """Return what explains failures whose answers do not vary.

    Args:
        run: the records, those that passed too.
        failed: those that failed.
        find: returns a case by its id; None where the corpus has no such case.
    """
    calls = JudgedCalls(run.records, find, run.dialect)
    misread = named_conditions(calls, failed)
    learnt = without_misread(lessons(run.records, find, run.dialect, frozenset(_ids(failed))), misread)
    if any(lesson.of_some for lesson in learnt):
        denied = denials(run.records, failed, find, run.dialect)
        learnt = without_named(learnt, failed, denied)
        learnt = _without_accidents(learnt, misread, calls, failed, denied)
    rest = _left(failed, learnt, misread)
    denied = denials(run.records, rest, find, run.dialect)
    unanswered = UnansweredCalls(run.records, find, run.dialect)
    return Explanations(learnt, symptoms(calls, rest, denied), denied, misread, unanswered=unanswered)


def where_answers_vary(run: Run, failed: Sequence[Record], find: Callable[[str], Case | None]) -> Explanations:
    """Return the condition on the calls of failures that vary, or may vary, where it holds for nearly all of them.

    Their values explain nothing.
    """
    varying = [record for record in failed if record.varies or record.may_vary]
    met = JudgedCalls(run.records, find, run.dialect).condition(_ids(varying))
    if met is None or len(met[1]) < _MOST * len(varying):
        return Explanations()
    return Explanations(varying=Varying(met[0], frozenset(met[1])))


def answers_vary(members: Iterable[RecordStatus]) -> bool:
    """Return whether a failure had another answer when it was asked again.

    What is waived is not asked in later runs, and what is known of it excuses no other answer.
    """
    return any(member.record.answer_varies and member.status is Status.FAILED for member in members)


def without_explanations(members: Iterable[RecordStatus]) -> tuple[RecordStatus, ...]:
    """Return the records of a run whose answers vary, those that other calls may have spoilt without explanations."""
    return tuple(map(_without_explanation, members))


def _without_explanation(member: RecordStatus) -> RecordStatus:
    record = member.record
    if member.status is not Status.FAILED or not (record.varies or record.may_vary):
        return member
    unexplained = replace(record, diagnosis=(), described=None, relation=None, placement=None)
    return replace(member, record=unexplained, reason=NOT_ASKED if record.may_vary else "")


def _without_accidents(
    learnt: Sequence[Lesson],
    misread: Mapping[Together, Misread],
    calls: JudgedCalls,
    failed: Sequence[Record],
    denied: Container[Together],
) -> tuple[Lesson, ...]:
    """Return rules without those that fit only some of the many calls that are wrong under one condition.

    A kernel that computes another thing gives now and then what a wrong pad would give.
    """
    beside = _left(failed, [lesson for lesson in learnt if not lesson.of_some], misread)
    found = [symptom for symptom in symptoms(calls, beside, denied) if symptom.condition is not None]

    def is_accident(lesson: Lesson) -> bool:
        return lesson.of_some and any(_is_part(lesson, symptom) for symptom in found)

    return tuple(lesson for lesson in learnt if not is_accident(lesson))


def _is_part(lesson: Lesson, symptom: Symptom) -> bool:
    """Return whether the failures of a rule are the lesser part of those under a condition."""
    within = len(set(lesson.cases).intersection(symptom.cases))
    return within >= _MOST * len(lesson.cases) and len(symptom.cases) > _LARGER[lesson.partial] * len(lesson.cases)


def _left(failed: Sequence[Record], learnt: Sequence[Lesson], misread: Mapping[Together, Misread]) -> list[Record]:
    """Return the failures that neither follow a rule nor have a name that holds where it is said to."""
    known = {case for lesson in learnt for case in lesson.cases}.union(*(each.cases for each in misread.values()))
    return [record for record in failed if record.case not in known]


def _ids(records: Sequence[Record]) -> list[str]:
    return [record.case for record in records]

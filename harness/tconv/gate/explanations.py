"""What explains the failures of a run together: rules, what calls have in common, and where a misreading is made.

The values of failures explain nothing if they depend on the calls before them in their process, or may.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tconv.diagnosis import Diagnosis
from tconv.gate.status import ReadingChanged, Status
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
    from tconv.records.record_file import Run

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
    denied: Mapping[Together, int] = {}
    misread: Mapping[Together, Misread] = {}
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
    failed = [m for m in members if m.status is Status.FAILED and not isinstance(m.ruling, ReadingChanged)]
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
        learnt = _without_accidents(learnt, misread, calls, failed, denied)
    rest = _left(failed, learnt, misread)
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
    return any(member.record.answer_varies and member.status is Status.FAILED for member in members)


def mark_spoilt(members: Iterable[RecordStatus]) -> tuple[RecordStatus, ...]:
    """Return the records of a run whose answers vary, those that other calls may have spoilt without explanations."""

    def mark(member: RecordStatus) -> RecordStatus:
        if member.status is not Status.FAILED or not (member.record.varies or member.may_vary):
            return member
        return replace(member, why=Diagnosis(()), is_spoilt=member.may_vary)

    return tuple(map(mark, members))


def _without_accidents(
    learnt: Sequence[Lesson],
    misread: Mapping[Together, Misread],
    calls: JudgedCalls,
    failed: Mapping[str, Diagnosis],
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


def _left(
    failed: Mapping[str, Diagnosis], learnt: Sequence[Lesson], misread: Mapping[Together, Misread]
) -> dict[str, Diagnosis]:
    """Return the failures that neither follow a rule nor have a name that holds where it is said to."""
    known = {case for lesson in learnt for case in lesson.cases}.union(*(each.cases for each in misread.values()))
    return {case: why for case, why in failed.items() if case not in known}

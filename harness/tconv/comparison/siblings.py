"""Verdicts that only the other cases of a run can settle.

A refusal follows a reading only where no other case of the run shows that the backend answers the reading's question
otherwise. A backend that answers a question now this way, now that way does what no single reading of the text gives.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.comparison.answers import Opened, answers
from tconv.dialects.readings import Together
from tconv.expectation.expected import OpenConstraint, Values
from tconv.expectation.problem import shared_problem
from tconv.records.failure import without_numbers
from tconv.records.record_file import Run
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.comparison.answers import QuestionAnswers
    from tconv.dialects import Dialect
    from tconv.dialects.readings import AnswerOtherwise
    from tconv.expectation.expected import Refusal
    from tconv.records.record import Record

_MANY = 8
"""So many cases that show one answer are not held against a single case that shows another."""


def settled(
    run: Run,
    find: Callable[[str], Case | None],
    *,
    vary: bool = False,
    pinned: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> tuple[Run, tuple[QuestionAnswers, ...]]:
    """Return a run with the verdicts that its own cases settle, and the questions that it answers in several ways.

    A refusal of which other cases deny every reading becomes `refused-valid`; of several readings those that are denied
    are left out. Where several are left, its words are unusual, or no other case is refused by one of its readings, it
    is noted as ambiguous. A value that follows a reading of a question that other cases answer otherwise becomes
    `inconsistent`, but in a run whose answers vary. Of several readings that give the same value, those that other
    cases deny are left out; where they deny every one, it is `inconsistent` too.

    Args:
        run: the records.
        find: returns a case by its id; None where the corpus has no such case.
        vary: whether answers of the run depend on earlier calls, or on chance.
        pinned: the answers that pins say of a case, by question: of these, other cases say nothing.
    """
    if not any(isinstance(record.verdict, ver.Disputed) for record in run.records):
        return run, ()
    values = [record for record in run.records if _refusal(record) is None]
    by_question = {answered.question: answered for answered in answers(Run(run.path, run.header, values), find)}
    unpinned = (_without_pinned(answered, pinned) for answered in by_question.values())
    mixed = tuple(answered for answered in unpinned if answered.inconsistent)
    # Where answers depend on earlier calls, or on chance, none shows how a question is answered.
    telling = () if vary else mixed
    elsewhere = dict(pair for answered in telling for pair in _minority(answered, run.dialect))
    free = [record for record in values if record.case not in pinned]
    elsewhere |= {} if vary else _denied_values(free, by_question, run.dialect)
    answered = _answered(run, find)

    def is_denied(case: str, refusal: Refusal) -> bool:
        by_pins = _holds_by_pins(refusal, pinned.get(case, {}), run.dialect)
        return refusal in answered or _denied(refusal, by_question, run.dialect) if by_pins is None else not by_pins

    records = [_settled(record, find, by_question, elsewhere, is_denied, run.dialect) for record in run.records]
    return replace(run, records=_with_ambiguities(records)), mixed


def _with_ambiguities(records: Sequence[Record]) -> list[Record]:
    """Return records with a note on each refusal that may have another cause than the readings that may explain it.

    It may where several readings explain it, where its words are not those of most refusals with the same readings, or
    where no other case agrees with any of its readings.
    """
    words: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    refused: Counter[str] = Counter()
    for explained in filter(None, map(_refusal, records)):
        words[explained.readings][_words(explained)] += 1
        refused.update(explained.readings)
    return [
        replace(record, verdict=replace(refusal, notes=("ambiguous",)))
        if (refusal := _refusal(record))
        and (_ambiguous(refusal, words[refusal.readings]) or all(refused[name] == 1 for name in refusal.readings))
        else record
        for record in records
    ]


def _ambiguous(refusal: ver.Disputed, words: Counter[str]) -> bool:
    return len(refusal.readings) > 1 or words[_words(refusal)] < max(words.values())


def _words(refusal: ver.Disputed) -> str:
    return without_numbers(refusal.message or "")


def _refusal(record: Record) -> ver.Disputed | None:
    """Return the verdict of a refusal that readings may explain; None of any other record."""
    verdict = record.verdict
    return verdict if isinstance(verdict, ver.Disputed) and verdict.rule == "refusal" else None


def _without_pinned(answered: QuestionAnswers, pinned: Mapping[str, Mapping[str, str]]) -> QuestionAnswers:
    """Return the answers to a question without the cases for which a pin says the answer."""
    shown = []
    for answer in answered.answers:
        cases = tuple(case for case in answer.cases if answered.question not in pinned.get(case, {}))
        if cases:
            shown.append(replace(answer, cases=cases))
    return replace(answered, answers=tuple(shown))


def _holds_by_pins(refusal: Refusal, pinned: Mapping[str, str], dialect: Dialect) -> bool | None:
    """Return whether pins say that a backend follows what would explain a refusal; None if they do not say it."""
    if isinstance(refusal, OpenConstraint):
        answers: dict[str, str] = {refusal.constraint: Opened.REFUSED}
    else:
        changes = _changes(dialect)
        answers = {changes[name].question: str(changes[name].answer) for name in refusal.names}
    if any(pinned.get(question, answer) != answer for question, answer in answers.items()):
        return False
    return True if set(answers) <= set(pinned) else None


def _answered(run: Run, find: Callable[[str], Case | None]) -> set[Refusal]:
    """Return what would have refused cases that were answered, if only with a wrong value.

    A value that is right is a reading's, and shows the answers of that; a wrong one shows at least that it is there.
    """
    wrong = ver.WrongOutput | ver.WrongDtype | ver.Mistrusted
    refusals: set[Refusal] = set()
    if not any(map(_refusal, run.records)):
        return refusals
    for record in run.records:
        if isinstance(record.verdict, wrong) and (case := find(record.case)) is not None:
            expected = shared_problem(case, run.dialect).expectation
            refusals.update(expected.refusals if isinstance(expected, Values) else ())
    return refusals


def _minority(answered: QuestionAnswers, dialect: Dialect) -> list[tuple[str, tuple[str, str]]]:
    """Return the cases that answer a question otherwise than the others, each with the question and their answer.

    The others are those that answer as the text does. Where there are none, or one alone against many, they are most
    cases. That one may have a value of the text by mistake, and it is the one that is not like the others.
    """
    usual = _usual(answered, dialect)
    others = [answer for answer in answered.answers if answer.answer != usual]
    return [(case, (answered.question, usual)) for answer in others for case in answer.cases]


def _usual(answered: QuestionAnswers, dialect: Dialect) -> str:
    """Return the answer that the others of `_minority` give."""
    primary = getattr(dialect.rules, answered.question, None)
    most = max(answer.count for answer in answered.answers)
    firm = [answer for answer in answered.answers if answer.count > 1 or most < _MANY]
    return str(max(firm, key=lambda answer: (answer.answer == primary, answer.count)).answer)


def _denied_values(
    records: Sequence[Record], by_question: Mapping[str, QuestionAnswers], dialect: Dialect
) -> dict[str, tuple[str, str]]:
    """Return the cases whose value no reading gives that other cases allow, each as `_minority` does.

    Such a value has several readings that give it, and other cases deny each of them. A single case that denies those
    of many is returned in their place.
    """
    changes = _changes(dialect)
    denied: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for record in records:
        verdict = record.verdict
        if isinstance(verdict, ver.Disputed) and verdict.alike:
            denying = [_denying(choice, by_question, changes) for choice in verdict.choices]
            if all(denying):
                change = denying[0][0]
                denied[change.question].append((record.case, str(change.answer)))
    elsewhere: dict[str, tuple[str, str]] = {}
    for question, members in denied.items():
        first, *others = (case for answer in by_question[question].answers for case in answer.cases)
        if not others and len(members) >= _MANY:
            # Of the answers that their value may have, one stands for all.
            elsewhere[first] = question, members[0][1]
        else:
            elsewhere.update((case, (question, _usual(by_question[question], dialect))) for case, _ in members)
    return elsewhere


def _settled(
    record: Record,
    find: Callable[[str], Case | None],
    by_question: Mapping[str, QuestionAnswers],
    elsewhere: Mapping[str, tuple[str, str]],
    is_denied: Callable[[str, Refusal], bool],
    dialect: Dialect,
) -> Record:
    verdict = record.verdict
    if record.case in elsewhere:
        readings = verdict.readings if isinstance(verdict, ver.Disputed) else ()
        return replace(record, verdict=ver.Inconsistent(readings, *elsewhere[record.case]))
    if not isinstance(verdict, ver.Disputed):
        return record
    if _refusal(record) is None:
        return replace(record, verdict=_told_apart(verdict, by_question, dialect)) if verdict.alike else record
    case = find(record.case)
    expected = None if case is None else shared_problem(case, dialect).expectation
    if not isinstance(expected, Values):
        return record
    remaining = tuple(str(refusal) for refusal in expected.refusals if not is_denied(record.case, refusal))
    message = verdict.message or ""
    return replace(record, verdict=replace(verdict, readings=remaining) if remaining else ver.RefusedValid(message))


def _told_apart(verdict: ver.Disputed, by_question: Mapping[str, QuestionAnswers], dialect: Dialect) -> ver.Disputed:
    """Return a verdict with those of the readings that give its value which other cases do not deny.

    Where they show one of them, that one is left. All are left where they deny every one.
    """
    changes = _changes(dialect)
    remaining = [choice for choice in verdict.choices if not _denying(choice, by_question, changes)] or verdict.choices
    followed = [
        choice
        for choice in remaining
        if all(
            changes[name].answer in _answers(changes[name].question, by_question)
            for name in Together.parse(choice).names
        )
    ]
    first, *others = followed if len(followed) == 1 else remaining
    return replace(verdict, readings=Together.parse(first).names, alike=tuple(others))


def _changes(dialect: Dialect) -> Mapping[str, AnswerOtherwise]:
    return {reading.name: reading.change for reading in dialect.disputed}


def _denying(
    choice: str, by_question: Mapping[str, QuestionAnswers], changes: Mapping[str, AnswerOtherwise]
) -> list[AnswerOtherwise]:
    """Return those changes of readings that are followed together to whose questions cases show other answers alone."""
    chosen = (changes[name] for name in Together.parse(choice).names)
    return [
        change
        for change in chosen
        if change.question in by_question and change.answer not in _answers(change.question, by_question)
    ]


def _denied(refusal: Refusal, by_question: Mapping[str, QuestionAnswers], dialect: Dialect) -> bool:
    """Return whether other cases show that the backend does not follow what would explain a refusal."""
    if isinstance(refusal, OpenConstraint):
        return Opened.ANSWERED in _answers(refusal.constraint, by_question)
    return bool(_denying(str(refusal), by_question, _changes(dialect)))


def _answers(question: str, by_question: Mapping[str, QuestionAnswers]) -> Sequence[str]:
    return [answer.answer for answer in by_question[question].answers] if question in by_question else []

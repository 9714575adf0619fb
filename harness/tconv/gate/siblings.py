"""What the other cases of a run say of an answer.

A refusal follows a reading only where no other case of the run shows that the backend answers the reading's question
differently. A backend that answers a question now this way, now that way does what no single reading of the text gives.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tconv.dialects.readings import Together
from tconv.expectation.expected import OpenConstraint, Values
from tconv.expectation.problem import shared_problem
from tconv.gate.answers import Opened, answers, is_disputed_refusal
from tconv.gate.status import MixedReadings
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.readings import AnswerOtherwise
    from tconv.expectation.expected import Refusal
    from tconv.gate.answers import QuestionAnswers
    from tconv.gate.pins import PinUses
    from tconv.gate.status import Ruling
    from tconv.records.record import Record
    from tconv.records.record_file import Run

    Find = Callable[[str], Case | None]

_MANY = 8
"""So many cases that show one answer are not held against a single case that shows another."""


def compare_answers(
    run: Run, find: Find, pins: PinUses, *, vary: bool = False
) -> tuple[dict[str, Ruling], tuple[QuestionAnswers, ...]]:
    """Return what the other cases of a run say of its answers, and the questions that it answers in several ways.

    A refusal of which other cases deny every reading is `RefusedValid`; of several readings those that are denied are
    left out. Where several are left, its words are unusual, or no other case is refused by one of its readings, it is
    noted as ambiguous. A value that follows a reading of a question that other cases answer differently has
    `MixedReadings`, but in a run whose answers vary. Of several readings that give the same value, those that other
    cases deny are left out; where they deny every one, it has mixed readings too.

    Args:
        run: the records.
        find: returns a case by its id; None where the corpus has no such case.
        pins: what the pins say: of these answers, other cases say nothing.
        vary: whether answers of the run depend on earlier calls, or on chance.
    """
    records = [record for record in run.records if record.case not in pins.changed]
    if not any(isinstance(record.verdict, ver.Disputed) for record in records):
        return {}, ()
    values = [record for record in records if not is_disputed_refusal(record.verdict)]
    by_question = {answered.question: answered for answered in answers(replace(run, records=values), find)}
    others = _OtherCases(run.dialect, by_question, pins.by_case)
    unpinned = map(others.without_pinned, by_question.values())
    mixed = tuple(answered for answered in unpinned if answered.are_mixed)
    # Where answers depend on earlier calls, or on chance, none shows how a question is answered.
    elsewhere = {} if vary else others.contradicted(mixed) | others.denied(values)
    refused = len(values) < len(records)
    answered = _answered(records if refused else (), find, run.dialect)

    def ruling(record: Record) -> Ruling:
        verdict = record.verdict
        if record.case in elsewhere:
            readings = verdict.readings if isinstance(verdict, ver.Disputed) else ()
            return MixedReadings(readings, *elsewhere[record.case])
        if is_disputed_refusal(verdict):
            return others.explain(verdict, find(record.case), answered)
        return others.tell_apart(verdict) if isinstance(verdict, ver.Disputed) and verdict.alike else verdict

    rulings = {record.case: ruling(record) for record in records}
    return rulings | _ambiguous_refusals(rulings), mixed


@dataclass(frozen=True)
class _OtherCases:
    """What the cases of a run show of the answers to the questions of its text.

    Attributes:
        dialect: the dialect of the run.
        by_question: the answers to each question.
        pinned: the pinned answers, by question, of each case that has some: of these, other cases say nothing.
    """

    dialect: Dialect
    by_question: Mapping[str, QuestionAnswers]
    pinned: Mapping[str, Mapping[str, str]]

    @cached_property
    def changes(self) -> Mapping[str, AnswerOtherwise]:
        """What each disputed reading of the text changes."""
        return {reading.name: reading.change for reading in self.dialect.disputed}

    def shown(self, question: str) -> list[str]:
        """Return the answers to a question that cases show."""
        answered = self.by_question.get(question)
        return [answer.answer for answer in answered.answers] if answered else []

    def denying(self, choice: str) -> list[AnswerOtherwise]:
        """Return those changes of a choice of readings to whose questions cases show other answers alone."""
        changes = (self.changes[name] for name in Together.parse(choice).names)
        return [change for change in changes if (known := self.shown(change.question)) and change.answer not in known]

    def without_pinned(self, answered: QuestionAnswers) -> QuestionAnswers:
        """Return the answers to a question without the cases for which a pin says the answer."""
        shown = []
        for answer in answered.answers:
            cases = tuple(case for case in answer.cases if answered.question not in self.pinned.get(case, {}))
            shown += [replace(answer, cases=cases)] if cases else []
        return replace(answered, answers=tuple(shown))

    def usual(self, answered: QuestionAnswers) -> str:
        """Return the answer that the cases of a question must have: the text's first one, if there is one among them.

        If not, or if one case alone has it against many, it is that of most cases. That one case may have a value of
        the text by mistake, and it is the one that is not like the others.
        """
        primary = getattr(self.dialect.rules, answered.question, None)
        most = max(answer.count for answer in answered.answers)
        firm = [answer for answer in answered.answers if answer.count > 1 or most < _MANY]
        return str(max(firm, key=lambda answer: (answer.answer == primary, answer.count)).answer)

    def contradicted(self, mixed: Iterable[QuestionAnswers]) -> dict[str, tuple[str, str]]:
        """Return the cases that do not have the usual answer to a question, each with the question and that answer."""
        return {
            case: (answered.question, self.usual(answered))
            for answered in mixed
            for answer in answered.answers
            if answer.answer != self.usual(answered)
            for case in answer.cases
        }

    def denied(self, values: Iterable[Record]) -> dict[str, tuple[str, str]]:
        """Return the cases whose value no reading gives that other cases allow, each as `contradicted` does.

        Such a value has several readings that give it, and other cases deny each of them. A single case that denies
        those of many is returned in their place.
        """
        denied: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for record in values:
            verdict = record.verdict
            if isinstance(verdict, ver.Disputed) and verdict.alike and record.case not in self.pinned:
                denying = [self.denying(choice) for choice in verdict.choices]
                if all(denying):
                    change = denying[0][0]
                    denied[change.question].append((record.case, str(change.answer)))
        elsewhere: dict[str, tuple[str, str]] = {}
        for question, members in denied.items():
            answered = self.by_question[question]
            first, *others = (case for answer in answered.answers for case in answer.cases)
            if not others and len(members) >= _MANY:
                # Of the answers that their value may have, one stands for all.
                elsewhere[first] = question, members[0][1]
            else:
                elsewhere.update((case, (question, self.usual(answered))) for case, _ in members)
        return elsewhere

    def explain(self, refusal: ver.Disputed, case: Case | None, answered: set[Refusal]) -> Ruling:
        """Return a refusal with those of its readings that other cases do not deny.

        Args:
            refusal: the refusal.
            case: its case; None where the corpus has no such case.
            answered: what would have refused cases that were answered.
        """
        expected = None if case is None else shared_problem(case, self.dialect).expectation
        if case is None or not isinstance(expected, Values):
            return refusal
        pinned = self.pinned.get(case.id, {})

        def holds(reason: Refusal) -> bool:
            if isinstance(reason, OpenConstraint):
                needed: dict[str, str] = {reason.constraint: Opened.REFUSED}
                denied = Opened.ANSWERED in self.shown(reason.constraint)
            else:
                changes = [self.changes[name] for name in reason.names]
                needed = {change.question: str(change.answer) for change in changes}
                denied = bool(self.denying(str(reason)))
            if any(pinned.get(question, answer) != answer for question, answer in needed.items()):
                return False
            return set(needed) <= set(pinned) or not (denied or reason in answered)

        remaining = tuple(str(reason) for reason in expected.refusals if holds(reason))
        return replace(refusal, readings=remaining) if remaining else ver.RefusedValid(refusal.message or "")

    def tell_apart(self, verdict: ver.Disputed) -> ver.Disputed:
        """Return a verdict with those of the readings that give its value which other cases do not deny.

        Where they show one of them, that one is left. All are left where they deny every one.
        """
        remaining = [choice for choice in verdict.choices if not self.denying(choice)] or verdict.choices
        followed = [choice for choice in remaining if self._is_shown(choice)]
        first, *others = followed if len(followed) == 1 else remaining
        return replace(verdict, readings=Together.parse(first).names, alike=tuple(others))

    def _is_shown(self, choice: str) -> bool:
        changes = (self.changes[name] for name in Together.parse(choice).names)
        return all(change.answer in self.shown(change.question) for change in changes)


def _ambiguous_refusals(rulings: Mapping[str, Ruling]) -> dict[str, Ruling]:
    """Return the refusals, noted so, that may have another cause than the readings that may explain them.

    They may where several readings explain one, where its words are not those of most refusals with the same readings,
    or where no other case agrees with any of its readings.
    """
    words: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    refused: Counter[str] = Counter()
    refusals = {case: refusal for case, refusal in rulings.items() if is_disputed_refusal(refusal)}
    for refusal in refusals.values():
        words[refusal.readings][without_numbers(refusal.message or "")] += 1
        refused.update(refusal.readings)

    def is_ambiguous(refusal: ver.Disputed) -> bool:
        alike = words[refusal.readings]
        unusual = alike[without_numbers(refusal.message or "")] < max(alike.values())
        return len(refusal.readings) > 1 or unusual or all(refused[name] == 1 for name in refusal.readings)

    return {case: replace(refusal, notes=("ambiguous",)) for case, refusal in refusals.items() if is_ambiguous(refusal)}


def _answered(records: Iterable[Record], find: Find, dialect: Dialect) -> set[Refusal]:
    """Return what would have refused cases that were answered, if only with a wrong value.

    A value that is right is a reading's, and shows the answers of that; a wrong one shows at least that it is there.
    """
    wrong = ver.WrongOutput | ver.WrongDtype | ver.Mistrusted
    found = (find(record.case) for record in records if isinstance(record.verdict, wrong))
    expected = (shared_problem(case, dialect).expectation for case in found if case is not None)
    return {refusal for values in expected if isinstance(values, Values) for refusal in values.refusals}

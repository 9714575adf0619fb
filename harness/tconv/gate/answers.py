"""Which answer a backend gives to each question, by its records.

A case shows an answer if every combination of answers that gives the observed output has this answer. Most cases show
none: the question does not matter for them, or two answers give the same output. A constraint that a text leaves open,
such as a size of 0, is also a question, with two answers.

The other cases of a run count too. A refusal follows a reading only if no other case shows a different answer to the
reading's question. If cases show different answers to one question, the backend follows no single reading of the text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from tconv.dialects import Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry
from tconv.dialects.readings import Combination, branches
from tconv.dialects.rules import QUESTIONS, Negative
from tconv.errors import Violation
from tconv.expectation.expected import OpenConstraint, Values
from tconv.expectation.problem import share_problem
from tconv.gate.status import MixedReadings
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver
from tconv.verdict.judge import find_geometry

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.readings import AnswerOtherwise, Reading
    from tconv.expectation.expected import Expectation, Refusal
    from tconv.expectation.problem import Problem
    from tconv.expectation.surrounded import Surrounded
    from tconv.expectation.truth import Truth
    from tconv.gate.pins import PinUses
    from tconv.gate.status import Ruling
    from tconv.records.record import Record
    from tconv.records.record_file import Run
    from tconv.vocabulary import Array, Ints

    Find = Callable[[str], Case | None]


class Opened(StrEnum):
    """The answers to a constraint that a text leaves open: a case that breaks it is answered, or refused."""

    ANSWERED = "answered"
    REFUSED = "refused"


PRIMARY = "primary"
"""The name of a question's first reading in a dialect."""


def list_readings(question: str, dialect: Dialect) -> dict[str, str]:
    """Return the answers that a text allows to a question, by the names of their readings; none if it allows one."""
    if question in QUESTIONS:
        others = {
            reading.name: str(reading.change.answer)
            for reading in dialect.disputed
            if reading.change.question == question
        }
        return {PRIMARY: str(getattr(dialect.rules, question)), **others} if others else {}
    open_ = isinstance(dialect.constraints.get(question), Open) and not CONSTRAINTS[question].needed
    return {PRIMARY: Opened.ANSWERED, str(OpenConstraint(question)): Opened.REFUSED} if open_ else {}


def find_deciding_questions(expected: Expectation, verdict: ver.Verdict) -> set[str]:
    """Return the questions that decide the result of a case; none if the text allows one result.

    A question decides if two combinations of answers that differ in it alone give different results.
    """
    if not isinstance(expected, Values) or not (expected.disputed or expected.refusals):
        return set()
    sizes_alone = isinstance(verdict, ver.Allowed) and verdict.rule == "shape"
    results = [
        (dict(branch.answers), _size(branch.result) if sizes_alone else branch.result) for branch in expected.branches
    ]
    deciding: set[str] = set(expected.open_constraints)
    for (answers, result), (others, other) in combinations(results, 2):
        differing = [question for question, answer in answers.items() if others.get(question, answer) != answer]
        if len(differing) == 1 and result != other:
            deciding.add(differing[0])
    return deciding


def find_possible_answers(
    problem: Problem, verdict: ver.Verdict, readings: Sequence[Reading] | None = None, actual: Array | None = None
) -> Iterator[Mapping[str, str]]:
    """Yield the combinations of answers, by question, each of which gives the result of a backend.

    Combinations with the geometry that was found come first: for the others the values must be computed.

    Args:
        problem: the case in the dialect.
        verdict: the verdict on the result.
        readings: the readings to choose from; None for those of the dialect's text.
        actual: the wrong output, in NCX; None if the text allows the output.
    """
    expected, of_size = problem.values, isinstance(verdict, ver.Allowed) and verdict.rule == "shape"
    if expected is None:
        return
    every = (
        expected.branches if readings is None else tuple(branches(problem.signature, problem.dialect.rules, readings))
    )
    if is_disputed_refusal(verdict):
        yield from ({constraint: Opened.REFUSED} for constraint in expected.open_constraints)
        yield from (branch.answers for branch in every if isinstance(branch.result, Violation))
        return
    geometry = find_geometry(verdict, expected)
    if geometry is not None and not of_size:
        actual = problem.judged.compute_values(geometry)
    answered = dict.fromkeys(expected.open_constraints if geometry is not None else (), Opened.ANSWERED)
    for branch in sorted(every, key=lambda branch: branch.result != geometry):
        same_size = of_size and geometry is not None and _size(branch.result) == geometry.output
        if (
            branch.result == geometry
            or same_size
            or (actual is not None and _gives(problem.judged, branch.result, actual))
        ):
            yield {**answered, **branch.answers}


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer that a backend gives to a question, and the cases that show it.

    Attributes:
        answer: the answer, a word of `rules` or of `Opened`.
        cases: the ids of the cases that show it: no other answer gives their values.
        example: the smallest of these cases.
    """

    answer: str
    cases: tuple[str, ...]
    example: Case

    @property
    def count(self) -> int:
        """The number of cases that show it."""
        return len(self.cases)


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """The answers that a backend gives to a question."""

    question: str
    answers: tuple[ShownAnswer, ...]

    @property
    def are_mixed(self) -> bool:
        """Whether cases show different answers."""
        return len(self.answers) > 1


def collect_answers(
    run: Run,
    find: Find,
    readings: Sequence[Reading] | None = None,
    actual: Callable[[Record], Array | None] = lambda _: None,
) -> list[QuestionAnswers]:
    """Return the answers that a backend's records show, question by question.

    Args:
        run: the records.
        find: returns a case by its id; None if the corpus no longer has it.
        readings: the readings to choose from if the dialect's text allows one answer only, or none that gives the
            output; None for the text's own readings.
        actual: returns the wrong output of a record, in NCX, if it was stored.
    """
    shown: dict[str, dict[str, list[Case]]] = defaultdict(lambda: defaultdict(list))
    found = [(record, case) for record in run.records if (case := find(record.case)) is not None]
    # Values come first: their answers decide which readings can explain a refusal.
    for record, case in sorted(found, key=lambda pair: is_disputed_refusal(pair[0].verdict)):
        array = actual(record) if isinstance(record.verdict, ver.WrongOutput) else None
        answers = _find_shown(share_problem(case, run.dialect), record.verdict, readings, array, shown)
        for question in answers.keys() - run.header.backend.supplied:
            shown[question][answers[question]].append(case)
    return [
        QuestionAnswers(
            question,
            tuple(
                ShownAnswer(answer, tuple(case.id for case in cases), min(cases, key=lambda case: case.simplicity))
                for answer, cases in sorted(shown[question].items(), key=lambda pair: -len(pair[1]))
            ),
        )
        for question in (*QUESTIONS, *CONSTRAINTS)
        if question in shown
    ]


def is_disputed_refusal(verdict: object) -> TypeGuard[ver.Disputed]:
    """Return whether a verdict is of a refusal that readings may explain."""
    return isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"


def _find_shown(
    problem: Problem,
    verdict: ver.Verdict,
    readings: Sequence[Reading] | None,
    array: Array | None,
    known: Mapping[str, Container[str]],
) -> dict[str, str]:
    """Return the answers that a case shows, by question: those in all combinations that give the backend's result.

    The text's own readings count if it has several; if not, those of all texts. A combination of answers cannot explain
    a refusal if the backend is known to answer one of the other questions in it differently.
    """
    refused, expected = is_disputed_refusal(verdict), problem.values
    if expected is None or not (isinstance(verdict, ver.Allowed) or array is not None):
        return {}

    def share(readings: Sequence[Reading] | None) -> dict[str, str]:
        possible = [
            answers
            for answers in find_possible_answers(problem, verdict, readings, array)
            if not refused or all(a in _REFUSING or q not in known or a in known[q] for q, a in answers.items())
        ]
        first, *others = possible or [{}]
        return {q: answer for q, answer in first.items() if all(other.get(q) == answer for other in others)}

    own = share(None) if expected.disputed or expected.refusals else {}
    if refused or readings is None:
        return own
    disputed = {reading.change.question for reading in problem.dialect.disputed} if array is None else set()
    return {question: answer for question, answer in share(readings).items() if question not in disputed} | own


_REFUSING = {Negative.REFUSE, Opened.REFUSED}


def _size(result: Geometry | Violation) -> Ints | None:
    return result.output if isinstance(result, Geometry) else None


def _gives(truth: Truth | Surrounded, result: Geometry | Violation, array: Array) -> bool:
    """Return whether a result has these values."""
    if isinstance(result, Violation) or truth.shape(result) != array.shape:
        return False
    return bool(np.array_equal(truth.compute_values(result), array, equal_nan=True))


_MANY = 8
"""If so many cases show one answer, a single case with another answer is the wrong one."""


def compare_answers(
    run: Run, find: Find, pins: PinUses, *, vary: bool = False
) -> tuple[dict[str, Ruling], tuple[QuestionAnswers, ...]]:
    """Compare the answers of a run with each other; return the rulings, and the questions with several answers.

    Other cases deny a reading if they all answer its question differently.

    - A refusal keeps the readings that are not denied. Without any, it is `RefusedValid`. It is noted as ambiguous if
      several are left, if its words are unusual, or if no other refusal has one of its readings.
    - A value keeps the readings that are not denied. It has `MixedReadings` if all are denied, or if it shows another
      answer than the usual one, unless the answers of the run vary.

    Args:
        run: the records.
        find: returns a case by its id; None if the corpus has no such case.
        pins: the effect of the pins: a pinned answer is not compared.
        vary: whether answers of the run depend on earlier calls, or on chance.
    """
    records = [record for record in run.records if record.case not in pins.changed]
    if not any(isinstance(record.verdict, ver.Disputed) for record in records):
        return {}, ()
    values = [record for record in records if not is_disputed_refusal(record.verdict)]
    by_question = {answers.question: answers for answers in collect_answers(replace(run, records=values), find)}
    others = _OtherCases(run.dialect, by_question, pins.by_case)
    mixed = tuple(answers for answers in map(others.drop_pinned, by_question.values()) if answers.are_mixed)
    # Answers that depend on earlier calls, or on chance, show nothing about a question.
    elsewhere = {} if vary else others.find_contradicted(mixed) | others.find_denied(values)
    # Also a wrong value shows that the case is not refused.
    wrong = ver.WrongOutput | ver.WrongDtype | ver.Inconclusive
    found = (
        find(record.case) for record in records if len(values) < len(records) and isinstance(record.verdict, wrong)
    )
    expected = (share_problem(case, run.dialect).values for case in found if case is not None)
    answered = {refusal for each in expected if each is not None for refusal in each.refusals}

    def rule(record: Record) -> Ruling:
        verdict = record.verdict
        if record.case in elsewhere:
            readings = verdict.readings if isinstance(verdict, ver.Disputed) else ()
            return MixedReadings(readings, *elsewhere[record.case])
        if is_disputed_refusal(verdict):
            return others.explain(verdict, find(record.case), answered)
        return others.tell_apart(verdict) if isinstance(verdict, ver.Disputed) and verdict.alike else verdict

    rulings = {record.case: rule(record) for record in records}
    return rulings | _note_ambiguous(rulings), mixed


@dataclass(frozen=True)
class _OtherCases:
    """The answers that the cases of a run show.

    Attributes:
        dialect: the dialect of the run.
        by_question: the answers to each question.
        pinned: the pinned answers, by question, of each case that has some; these are not compared.
    """

    dialect: Dialect
    by_question: Mapping[str, QuestionAnswers]
    pinned: Mapping[str, Mapping[str, str]]

    def list_shown(self, question: str) -> list[str]:
        """Return the answers to a question that cases show."""
        return [each.answer for each in self.by_question[question].answers] if question in self.by_question else []

    def list_changes(self, choice: str) -> list[AnswerOtherwise]:
        """Return the changes of the readings in a choice."""
        names = Combination.parse(choice).names
        return [reading.change for name in names for reading in self.dialect.disputed if reading.name == name]

    def find_denying(self, choice: str) -> list[AnswerOtherwise]:
        """Return the changes of a choice that other cases deny: they answer its question, and all differently."""
        return [
            change
            for change in self.list_changes(choice)
            if (known := self.list_shown(change.question)) and change.answer not in known
        ]

    def drop_pinned(self, answers: QuestionAnswers) -> QuestionAnswers:
        """Return the answers to a question without the cases whose answer is pinned."""
        shown = []
        for answer in answers.answers:
            cases = tuple(case for case in answer.cases if answers.question not in self.pinned.get(case, {}))
            shown += [replace(answer, cases=cases)] if cases else []
        return replace(answers, answers=tuple(shown))

    def choose_usual(self, answers: QuestionAnswers) -> str:
        """Return the usual answer to a question: the text's first answer, if cases show it; if not, that of most cases.

        An answer that only one case shows does not count if many cases show another.
        """
        primary = getattr(self.dialect.rules, answers.question, None)
        most = max(answer.count for answer in answers.answers)
        firm = [answer for answer in answers.answers if answer.count > 1 or most < _MANY]
        return str(max(firm, key=lambda answer: (answer.answer == primary, answer.count)).answer)

    def find_contradicted(self, mixed: Iterable[QuestionAnswers]) -> dict[str, tuple[str, str]]:
        """Return the cases without the usual answer to a question, each with the question and the usual answer."""
        return {
            case: (answers.question, self.choose_usual(answers))
            for answers in mixed
            for answer in answers.answers
            if answer.answer != self.choose_usual(answers)
            for case in answer.cases
        }

    def find_denied(self, values: Iterable[Record]) -> dict[str, tuple[str, str]]:
        """Return the cases with several possible readings that other cases all deny, as `find_contradicted` does.

        If a single case denies the readings of many, this case is returned instead of them.
        """
        denied: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for record in values:
            verdict = record.verdict
            if isinstance(verdict, ver.Disputed) and verdict.alike and record.case not in self.pinned:
                denying = [self.find_denying(choice) for choice in verdict.choices]
                if all(denying):
                    denied[denying[0][0].question].append((record.case, str(denying[0][0].answer)))
        elsewhere: dict[str, tuple[str, str]] = {}
        for question, members in denied.items():
            answers = self.by_question[question]
            first, *others = (case for answer in answers.answers for case in answer.cases)
            if not others and len(members) >= _MANY:
                # Their values may have several answers; the first one is named.
                elsewhere[first] = question, members[0][1]
            else:
                elsewhere.update((case, (question, self.choose_usual(answers))) for case, _ in members)
        return elsewhere

    def explain(self, refusal: ver.Disputed, case: Case | None, answered: set[Refusal]) -> Ruling:
        """Return a refusal with the readings that other cases do not deny; `RefusedValid` if none is left.

        Args:
            refusal: the refusal.
            case: its case; None if the corpus has no such case.
            answered: the reasons that would also refuse a case which was answered.
        """
        if case is None or (expected := share_problem(case, self.dialect).values) is None:
            return refusal
        pinned = self.pinned.get(case.id, {})

        def holds(reason: Refusal) -> bool:
            if isinstance(reason, OpenConstraint):
                needed: dict[str, str] = {reason.constraint: Opened.REFUSED}
                denied = Opened.ANSWERED in self.list_shown(reason.constraint)
            else:
                needed = {change.question: str(change.answer) for change in self.list_changes(str(reason))}
                denied = bool(self.find_denying(str(reason)))
            if any(pinned.get(question, answer) != answer for question, answer in needed.items()):
                return False
            return needed.keys() <= pinned.keys() or not (denied or reason in answered)

        remaining = tuple(str(reason) for reason in expected.refusals if holds(reason))
        return replace(refusal, readings=remaining) if remaining else ver.RefusedValid(refusal.message or "")

    def tell_apart(self, verdict: ver.Disputed) -> ver.Disputed:
        """Return a verdict with the readings that other cases do not deny.

        If other cases show exactly one of these readings, only this one is kept. If they deny all, all are kept.
        """
        remaining = [choice for choice in verdict.choices if not self.find_denying(choice)] or verdict.choices
        shown = [
            c
            for c in remaining
            if all(change.answer in self.list_shown(change.question) for change in self.list_changes(c))
        ]
        first, *others = shown if len(shown) == 1 else remaining
        return replace(verdict, readings=Combination.parse(first).names, alike=tuple(others))


def _note_ambiguous(rulings: Mapping[str, Ruling]) -> dict[str, Ruling]:
    """Return the refusals that may have another cause than a reading, each with the note `ambiguous`.

    These are refusals with several possible readings, with other words than most refusals of the same readings, or with
    readings that no other refusal has.
    """
    words: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    refusals = {case: refusal for case, refusal in rulings.items() if is_disputed_refusal(refusal)}
    for refusal in refusals.values():
        words[refusal.readings][without_numbers(refusal.message or "")] += 1
    refused = Counter(name for refusal in refusals.values() for name in refusal.readings)

    def is_ambiguous(refusal: ver.Disputed) -> bool:
        alike = words[refusal.readings]
        unusual = alike[without_numbers(refusal.message or "")] < max(alike.values())
        return len(refusal.readings) > 1 or unusual or all(refused[name] == 1 for name in refusal.readings)

    return {case: replace(refusal, notes=("ambiguous",)) for case, refusal in refusals.items() if is_ambiguous(refusal)}

"""Which answer a backend gives to each question, by its records.

A case shows an answer where every combination of answers that gives the observed output has this answer. Most cases
show nothing: the question does not matter for them, or two answers give the same output. A constraint that a text
leaves open, of a size of 0 for example, is a question too, with two answers.

What other cases show counts: a refusal follows a reading only if no other case of the run shows that the backend
answers the reading's question differently. A backend that answers a question now this way, now that way does what no
single reading of the text gives.
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
    from tconv.expectation.surrounded_truth import SurroundedTruth
    from tconv.expectation.truth import Truth
    from tconv.gate.pins import PinUses
    from tconv.gate.status import Ruling
    from tconv.records.record import Record
    from tconv.records.record_file import Run
    from tconv.vocabulary import Array, Ints

    Find = Callable[[str], Case | None]


class Opened(StrEnum):
    """The answers where a text leaves a constraint open: a case that breaks it is answered, or refused."""

    ANSWERED = "answered"
    REFUSED = "refused"


PRIMARY = "primary"
"""The name of the reading of a question that a dialect takes first."""


def list_readings(question: str, dialect: Dialect) -> dict[str, str]:
    """Return the answers that a text allows to a question, by the names of their readings; none for a single answer."""
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
    """Return the questions whose answers make a difference to what was judged: none if the text allows one thing.

    One does if another answer to it alone gives another result, whatever the answers to the others are.
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
    """Yield the combinations of answers, by question, each of which gives what a backend did.

    Those come first that give the very geometry that was found: of others the values have to be computed.

    Args:
        problem: the case in the dialect.
        verdict: the verdict on what the backend did.
        readings: the readings to choose from; None for those of the dialect's text.
        actual: the array, in NCX, that a deviation produced; None if the text allows what was produced.
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
        example: the smallest of them.
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
        find: returns a case by its id; None where the corpus no longer has it.
        readings: the readings to choose from where the dialect's text allows one answer only, or allows nothing that
            gives the output; None for the text's own readings.
        actual: returns the array, in NCX, that a deviation produced, where it was stored.
    """
    shown: dict[str, dict[str, list[Case]]] = defaultdict(lambda: defaultdict(list))
    found = [(record, case) for record in run.records if (case := find(record.case)) is not None]
    # Values come first: the answers that they show decide which readings can explain a refusal.
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
    """Return whether a verdict is on a refusal that readings may explain."""
    return isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"


def _find_shown(
    problem: Problem,
    verdict: ver.Verdict,
    readings: Sequence[Reading] | None,
    array: Array | None,
    known: Mapping[str, Container[str]],
) -> dict[str, str]:
    """Return the answers that a case shows, by question: those of all combinations that give what the backend did.

    They are of the text's own readings if it has several, and else of all texts'. A combination of answers under which
    the text refuses is no reason for a refusal if the backend is known to answer another of its questions differently.
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


def _gives(truth: Truth | SurroundedTruth, result: Geometry | Violation, array: Array) -> bool:
    """Return whether a result has these values."""
    if isinstance(result, Violation) or truth.shape(result) != array.shape:
        return False
    return bool(np.array_equal(truth.compute_values(result), array, equal_nan=True))


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
    by_question = {answers.question: answers for answers in collect_answers(replace(run, records=values), find)}
    others = _OtherCases(run.dialect, by_question, pins.by_case)
    mixed = tuple(answers for answers in map(others.drop_pinned, by_question.values()) if answers.are_mixed)
    # Where answers depend on earlier calls, or on chance, none shows how a question is answered.
    elsewhere = {} if vary else others.find_contradicted(mixed) | others.find_denied(values)
    # A value that is right shows the answers of its readings; a wrong one shows at least that the case is not refused.
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
    """What the cases of a run show of the answers to the questions of its text.

    Attributes:
        dialect: the dialect of the run.
        by_question: the answers to each question.
        pinned: the pinned answers, by question, of each case that has some: of these, other cases say nothing.
    """

    dialect: Dialect
    by_question: Mapping[str, QuestionAnswers]
    pinned: Mapping[str, Mapping[str, str]]

    def list_shown(self, question: str) -> list[str]:
        """Return the answers to a question that cases show."""
        return [each.answer for each in self.by_question[question].answers] if question in self.by_question else []

    def list_changes(self, choice: str) -> list[AnswerOtherwise]:
        """Return what the readings of a choice change."""
        names = Combination.parse(choice).names
        return [reading.change for name in names for reading in self.dialect.disputed if reading.name == name]

    def find_denying(self, choice: str) -> list[AnswerOtherwise]:
        """Return those changes of a choice of readings to whose questions cases show other answers alone."""
        return [
            change
            for change in self.list_changes(choice)
            if (known := self.list_shown(change.question)) and change.answer not in known
        ]

    def drop_pinned(self, answers: QuestionAnswers) -> QuestionAnswers:
        """Return the answers to a question without the cases for which a pin says the answer."""
        shown = []
        for answer in answers.answers:
            cases = tuple(case for case in answer.cases if answers.question not in self.pinned.get(case, {}))
            shown += [replace(answer, cases=cases)] if cases else []
        return replace(answers, answers=tuple(shown))

    def choose_usual(self, answers: QuestionAnswers) -> str:
        """Return the answer that the cases of a question must have: the text's first one, if there is one among them.

        If not, or if one case alone has it against many, it is that of most cases. That one case may have a value of
        the text by mistake, and it is the one that is not like the others.
        """
        primary = getattr(self.dialect.rules, answers.question, None)
        most = max(answer.count for answer in answers.answers)
        firm = [answer for answer in answers.answers if answer.count > 1 or most < _MANY]
        return str(max(firm, key=lambda answer: (answer.answer == primary, answer.count)).answer)

    def find_contradicted(self, mixed: Iterable[QuestionAnswers]) -> dict[str, tuple[str, str]]:
        """Return the cases that do not have the usual answer to a question, each with the question and that answer."""
        return {
            case: (answers.question, self.choose_usual(answers))
            for answers in mixed
            for answer in answers.answers
            if answer.answer != self.choose_usual(answers)
            for case in answer.cases
        }

    def find_denied(self, values: Iterable[Record]) -> dict[str, tuple[str, str]]:
        """Return the cases whose value no reading gives that other cases allow, each as `find_contradicted` does.

        Such a value has several readings that give it, and other cases deny each of them. A single case that denies
        those of many is returned in their place.
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
                # Of the answers that their value may have, one stands for all.
                elsewhere[first] = question, members[0][1]
            else:
                elsewhere.update((case, (question, self.choose_usual(answers))) for case, _ in members)
        return elsewhere

    def explain(self, refusal: ver.Disputed, case: Case | None, answered: set[Refusal]) -> Ruling:
        """Return a refusal with those of its readings that other cases do not deny.

        Args:
            refusal: the refusal.
            case: its case; None where the corpus has no such case.
            answered: what would have refused cases that were answered.
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
        """Return a verdict with those of the readings that give its value which other cases do not deny.

        Where they show one of them, that one is left. All are left where they deny every one.
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
    """Return the refusals, noted so, that may have another cause than the readings that may explain them.

    They may where several readings explain one, where its words are not those of most refusals with the same readings,
    or where no other case agrees with any of its readings.
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

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
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from tconv.dialects import Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry
from tconv.dialects.readings import Branch, Combination, Reading, branches
from tconv.dialects.rules import QUESTIONS, Negative
from tconv.errors import Violation
from tconv.expectation.expected import OpenConstraint, Values
from tconv.expectation.problem import shared_problem
from tconv.gate.status import MixedReadings
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver
from tconv.verdict.judge import find_geometry

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.readings import AnswerOtherwise
    from tconv.expectation.expected import Refusal
    from tconv.expectation.problem import Problem
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


def collect_results(problem: Problem, question: str) -> dict[str, set[Geometry | Violation | None]]:
    """Return all results that go with each answer to a question that a text allows for a case."""
    expected = problem.expectation
    results: dict[str, set[Geometry | Violation | None]] = defaultdict(set)
    if isinstance(expected, Values):
        for branch in _branches(problem, problem.dialect.disputed):
            if question in branch.answers:
                results[branch.answers[question]].add(branch.result)
        if question in expected.open_constraints:
            results |= {Opened.ANSWERED: {expected.primary.geometry}, Opened.REFUSED: {None}}
    return results


def find_deciding_questions(problem: Problem, verdict: ver.Verdict) -> set[str]:
    """Return the questions whose answers make a difference to what was judged: none if the text allows one thing.

    One does if another answer to it alone gives another result, whatever the answers to the others are.
    """
    expected = problem.expectation
    if not isinstance(expected, Values) or not (expected.disputed or expected.refusals):
        return set()
    sizes_alone = isinstance(verdict, ver.Allowed) and verdict.rule == "shape"
    results = [
        (dict(branch.answers), _size(branch.result) if sizes_alone else branch.result)
        for branch in _branches(problem, problem.dialect.disputed)
    ]
    deciding: set[str] = set(expected.open_constraints)
    for (answers, result), (others, other) in combinations(results, 2):
        differing = [question for question, answer in answers.items() if others.get(question, answer) != answer]
        if len(differing) == 1 and result != other:
            deciding.add(differing[0])
    return deciding


def find_possible_answers(problem: Problem, verdict: ver.Allowed) -> Iterator[Mapping[str, str]]:
    """Yield the combinations of answers, by question, each of which gives what a backend did.

    Those come first that give the very geometry that was found: of others the values have to be computed.
    """
    expected = problem.expectation
    if not isinstance(expected, Values):
        return
    branches = list(_branches(problem, problem.dialect.disputed))
    if is_disputed_refusal(verdict):
        yield from ({constraint: Opened.REFUSED} for constraint in expected.open_constraints)
        yield from (branch.answers for branch in branches if isinstance(branch.result, Violation))
        return
    geometry = find_geometry(verdict, expected)
    if geometry is None:
        return
    answered = dict.fromkeys(expected.open_constraints, Opened.ANSWERED)
    for branch in sorted(branches, key=lambda branch: branch.result != geometry):
        if branch.result == geometry or (
            _size(branch.result) == geometry.output
            if verdict.rule == "shape"
            else _gives(problem.truth, branch.result, problem.truth.values(geometry))
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
    find: Callable[[str], Case | None],
    readings: Sequence[Reading] | None = None,
    actual: Callable[[Record], Array | None] = lambda _: None,
    waived: Container[str] = frozenset(),
) -> list[QuestionAnswers]:
    """Return the answers that a backend's records show, question by question.

    Args:
        run: the records.
        find: returns a case by its id; None where the corpus no longer has it.
        readings: the readings to choose from where the dialect's text allows one answer only, or allows nothing that
            gives the output; None for the text's own readings.
        actual: returns the array, in NCX, that a deviation produced, where it was stored.
        waived: ids of cases whose refusal a waiver explains, so that it shows no reading.
    """
    dialect = run.dialect
    readings = dialect.disputed if readings is None else readings
    observed: dict[str, dict[str, list[_Observation]]] = defaultdict(lambda: defaultdict(list))
    answered = [
        (record, case)
        for record in run.records
        if not (is_disputed_refusal(record.verdict) and record.case in waived)
        and (case := find(record.case)) is not None
    ]
    # Values come first: the answers that they show decide which readings can explain a refusal.
    for record, case in sorted(answered, key=lambda pair: is_disputed_refusal(pair[0].verdict)):
        wrong = isinstance(record.verdict, ver.WrongOutput)
        array = actual(record) if wrong else None
        shown, produced = _shown(shared_problem(case, dialect), record.verdict, readings, array, observed)
        for question, answer in shown.items():
            if question in run.header.backend.supplied:
                continue
            observed[question][answer].append(_Observation(shared_problem(case, dialect), produced))
    order = [*QUESTIONS, *CONSTRAINTS]
    collected = [_collected(question, observed[question], readings) for question in sorted(observed, key=order.index)]
    return [answers for answers in collected if answers.answers]


def is_disputed_refusal(verdict: object) -> TypeGuard[ver.Disputed]:
    """Return whether a verdict is on a refusal that readings may explain."""
    return isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"


def _may_show(verdict: ver.Verdict) -> bool:
    """Return whether a verdict is on a value that the text allows, or on a refusal that readings may explain."""
    return isinstance(verdict, ver.Disputed) or (isinstance(verdict, ver.Agreed) and verdict.rule != "refusal")


@dataclass(frozen=True, slots=True)
class _Observation:
    """A problem and what a backend produced: a geometry of its text, a size alone, another array, or no value."""

    problem: Problem
    produced: Geometry | Ints | Array | None


def _collected(
    question: str, observed: Mapping[str, list[_Observation]], readings: Sequence[Reading]
) -> QuestionAnswers:
    shown = []
    for answer, observations in observed.items():
        cases = [
            observation.problem.case for observation in observations if _shows(observation, question, answer, readings)
        ]
        if cases:
            ids = tuple(case.id for case in cases)
            shown.append(ShownAnswer(answer, ids, min(cases, key=lambda case: case.simplicity)))
    return QuestionAnswers(question, tuple(sorted(shown, key=lambda answer: -answer.count)))


def _shown(
    problem: Problem,
    verdict: ver.Verdict,
    readings: Sequence[Reading],
    array: Array | None,
    known: Mapping[str, Container[str]],
) -> tuple[dict[str, str], Geometry | Ints | Array | None]:
    """Return the answers that a verdict shows, by question, and what was produced."""
    if array is None and not _may_show(verdict):
        return {}, None
    expected, refused = problem.expectation, is_disputed_refusal(verdict)
    if not isinstance(expected, Values):
        return {}, None
    if refused:
        return _shown_by_refusal(problem, expected, known), None
    if isinstance(verdict, ver.Allowed):
        geometry = find_geometry(verdict, expected)
        produced = geometry.output if verdict.rule == "shape" and geometry else geometry
        return _shown_by_value(problem, expected, produced, readings), produced
    if array is None:
        return {}, None
    giving = (branch for branch in _branches(problem, readings) if _gives(problem.truth, branch.result, array))
    return _shared(giving), array


def _shown_by_refusal(problem: Problem, expected: Values, known: Mapping[str, Container[str]]) -> dict[str, str]:
    """Return the answers that a refusal shows: none where there are several reasons for it.

    A combination of answers under which the text refuses is no reason where the backend is known to answer another of
    its questions differently.
    """
    refusing = [
        branch
        for branch in _branches(problem, problem.dialect.disputed)
        if isinstance(branch.result, Violation)
        and all(a is Negative.REFUSE or q not in known or a in known[q] for q, a in branch.answers.items())
    ]
    constraints = expected.open_constraints
    if constraints:
        return {constraints[0]: Opened.REFUSED} if len(constraints) == 1 and not refusing else {}
    return _shared(refusing)


def _shown_by_value(
    problem: Problem, expected: Values, produced: Geometry | Ints | None, readings: Sequence[Reading]
) -> dict[str, str]:
    """Return the answers that a value shows: of the text's own readings where it has several, else of all texts'."""
    disputed = problem.dialect.disputed
    if readings is disputed and not expected.disputed and not expected.refusals:
        return {}

    def shared(considered: Sequence[Reading]) -> dict[str, str]:
        branches = _branches(problem, considered)
        return _shared(branch for branch in branches if produced in (branch.result, _size(branch.result)))

    own = shared(disputed)
    others = own if readings is disputed else shared(readings)
    undisputed = {question: answer for question, answer in others.items() if question not in _disputed(problem)}
    return {**dict.fromkeys(expected.open_constraints, Opened.ANSWERED), **undisputed, **own}


def _size(result: Geometry | Violation) -> Ints | None:
    return result.output if isinstance(result, Geometry) else None


def _disputed(problem: Problem) -> set[str]:
    return {reading.change.question for reading in problem.dialect.disputed}


def _branches(problem: Problem, readings: Sequence[Reading]) -> Iterable[Branch]:
    if readings is problem.dialect.disputed and problem.values is not None:
        return problem.values.branches
    return branches(problem.signature, problem.dialect.rules, readings)


def _shared(branches: Iterable[Branch]) -> dict[str, str]:
    """Return the answers that all branches share."""
    first, *others = [branch.answers for branch in branches] or [{}]
    return {question: answer for question, answer in first.items() if all(o.get(question) == answer for o in others)}


def _shows(observation: _Observation, question: str, answer: str, readings: Sequence[Reading]) -> bool:
    """Return whether no other answer gives the same values; for an empty output, for example, every answer does."""
    problem, produced = observation.problem, observation.produced
    if produced is None or answer in set(Opened):
        return True
    of_text = isinstance(produced, Geometry | tuple)
    candidates = problem.dialect.disputed if of_text and question in _disputed(problem) else readings
    others = {branch.result for branch in _branches(problem, candidates) if branch.answers.get(question) != answer}
    if isinstance(produced, tuple):
        return not any(_size(other) == produced for other in others)
    array = problem.truth.values(produced) if isinstance(produced, Geometry) else produced
    return not any(_gives(problem.truth, other, array) for other in others)


def _gives(truth: Truth, result: Geometry | Violation, array: Array) -> bool:
    """Return whether a result has these values."""
    if isinstance(result, Violation) or truth.shape(result) != array.shape:
        return False
    return bool(np.array_equal(truth.values(result), array, equal_nan=True))


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
    by_question = {answered.question: answered for answered in collect_answers(replace(run, records=values), find)}
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
        changes = (self.changes[name] for name in Combination.parse(choice).names)
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
        return replace(verdict, readings=Combination.parse(first).names, alike=tuple(others))

    def _is_shown(self, choice: str) -> bool:
        changes = (self.changes[name] for name in Combination.parse(choice).names)
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

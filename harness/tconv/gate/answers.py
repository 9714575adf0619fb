"""Which answer a backend gives to each question, by its records.

A case shows an answer where every combination of answers that gives the observed output has this answer. Most cases
show nothing: the question does not matter for them, or two answers give the same output. A constraint that a text
leaves open, of a size of 0 for example, is a question too, with two answers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from tconv.dialects import Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry
from tconv.dialects.readings import Branch, Reading, branches
from tconv.dialects.rules import QUESTIONS, Negative
from tconv.errors import Violation
from tconv.expectation.expected import OpenConstraint, Values
from tconv.expectation.problem import shared_problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.expectation.problem import Problem
    from tconv.expectation.truth import Truth
    from tconv.records.record import Record
    from tconv.records.record_file import Run
    from tconv.vocabulary import Array, Ints


class Opened(StrEnum):
    """The answers where a text leaves a constraint open: a case that breaks it is answered, or refused."""

    ANSWERED = "answered"
    REFUSED = "refused"


PRIMARY = "primary"
"""The name of the reading of a question that a dialect takes first."""


def readings_of(question: str, dialect: Dialect) -> dict[str, str]:
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


def results_by_answer(problem: Problem, question: str) -> dict[str, set[Geometry | Violation | None]]:
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


def deciding_questions(problem: Problem, verdict: ver.Verdict) -> set[str]:
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


def possible_answers(problem: Problem, verdict: ver.Allowed) -> Iterator[Mapping[str, str]]:
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
    geometry = followed(verdict, expected)
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


def answers(
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
        geometry = followed(verdict, expected)
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

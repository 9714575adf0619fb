"""Which answer a backend gives to each question, learnt from its records.

A case shows an answer where every way of answering that gives the observed output answers the question alike. Most
cases show nothing: they were not asked, or two answers come to the same. What a text leaves open, a size of 0 say, is
a question too, with two answers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry
from tconv.dialects.readings import Branch, Reading, branches
from tconv.dialects.rules import QUESTIONS, Negative
from tconv.errors import Violation
from tconv.expectation.owed import Refuse, Values
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.expectation.truth import Truth
    from tconv.records.record_file import Record, Run
    from tconv.vocabulary import Array, Ints


class Opened(StrEnum):
    """The answers to a question that a text leaves open: is such a case answered, or refused?"""

    ANSWERED = "answered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that a backend gives, and the cases that show it.

    Attributes:
        answer: the answer, a word of `rules` or of `Opened`.
        count: how many cases show it: no other answer gives their values.
        example: the smallest of them.
    """

    answer: str
    count: int
    example: Case


@dataclass(frozen=True, slots=True)
class Answers:
    """What a backend answers to one question: one answer, or several, and then it is inconsistent."""

    question: str
    given: tuple[Given, ...]

    @property
    def inconsistent(self) -> bool:
        """Whether cases show different answers."""
        return len(self.given) > 1


def answers(
    run: Run,
    find: Callable[[str], Case | None],
    readings: Sequence[Reading] | None = None,
    actual: Callable[[Record], Array | None] = lambda _: None,
    aside: Container[str] = frozenset(),
    least: int = 1,
) -> list[Answers]:
    """Return what the backend answers to each question that its records show something of.

    Args:
        run: the records.
        find: a case by its id; None where the corpus has none any more.
        readings: the answers that are told apart where the dialect's text allows but one, or where what was produced
            is none that it allows; None for no others than the text's own.
        actual: the array, in NCX, that a deviation produced, where it was kept.
        aside: ids whose refusals have another reason than a reading: what a waiver says of them.
        least: how many answers a question must have to be of interest.
    """
    dialect = run.dialect
    readings = dialect.disputed if readings is None else readings
    found: dict[str, dict[str, list[_Seen]]] = defaultdict(lambda: defaultdict(list))
    asked = [
        (record, case)
        for record in run.records
        if not (_refused(record) and record.case in aside) and (case := find(record.case)) is not None
    ]
    # What values show says which refusals a reading can explain, so they come first.
    for record, case in sorted(asked, key=lambda pair: _refused(pair[0])):
        array = actual(record) if isinstance(record.verdict, ver.Differed | ver.WrongShape) else None
        shown, produced = _shown(Problem(case, dialect), record.verdict, readings, array, found)
        for question, answer in shown.items():
            if question in run.header.backend.supplied:
                continue
            found[question][answer].append(_Seen(Problem(case, dialect), produced))
    order = [*QUESTIONS, *CONSTRAINTS]
    put = [question for question in sorted(found, key=order.index) if len(found[question]) >= least]
    collected = [_collected(question, found[question], readings) for question in put]
    return [answers for answers in collected if len(answers.given) >= least]


def mixed(run: Run, find: Callable[[str], Case | None], aside: Container[str] = frozenset()) -> list[Answers]:
    """Return the questions that the backend answers now this way, now that way; none where it follows the text."""
    if not any(isinstance(record.verdict, ver.Disputed) for record in run.records):
        return []
    return answers(run, find, aside=aside, least=2)


def _refused(record: Record) -> bool:
    return isinstance(record.verdict, ver.Disputed) and record.verdict.rule == "refusal"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A problem and what it came to: a geometry of its text, a size alone, an array of no reading, or no value."""

    problem: Problem
    produced: Geometry | Ints | Array | None


def _collected(question: str, seen: Mapping[str, list[_Seen]], readings: Sequence[Reading]) -> Answers:
    given = []
    for answer, members in seen.items():
        showing = [member.problem.case for member in members if _shows(member, question, answer, readings)]
        if showing:
            given.append(Given(answer, len(showing), min(showing, key=_size)))
    return Answers(question, tuple(sorted(given, key=lambda answer: -answer.count)))


def _size(case: Case) -> tuple[int, int, int]:
    return len(case.x.shape), prod(case.x.shape) + prod(case.w.shape), len(case.id)


def _shown(
    problem: Problem,
    verdict: ver.Verdict,
    readings: Sequence[Reading],
    array: Array | None,
    known: Mapping[str, Container[str]],
) -> tuple[dict[str, str], Geometry | Ints | Array | None]:
    """Return the answers that one verdict shows, by question, and what was produced."""
    expected = problem.expectation
    refused = isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"
    if isinstance(expected, Refuse):
        if expected.stated or not isinstance(verdict, ver.Disputed | ver.AcceptedInvalid):
            return {}, None
        return {expected.violation.constraint: Opened.REFUSED if refused else Opened.ANSWERED}, None
    if not isinstance(expected, Values):
        return {}, None
    if refused:
        return _of_refusal(problem, expected, known), None
    if isinstance(verdict, ver.Agreed | ver.Disputed):
        geometry = followed(verdict, expected)
        produced = geometry.output if verdict.rule == "shape" and geometry else geometry
        return _of_value(problem, expected, produced, readings), produced
    if array is None:
        return {}, None
    return _common(way for way in _ways(problem, readings) if _gives(problem.truth, way.result, array)), array


def _of_refusal(problem: Problem, expected: Values, known: Mapping[str, Container[str]]) -> dict[str, str]:
    """Return what a refusal shows: nothing where there are several reasons for it.

    A reading under which the text refuses explains nothing where it takes another answer to some other question than
    the backend is known to give.
    """
    ways = [
        way
        for way in _ways(problem, problem.dialect.disputed)
        if isinstance(way.result, Violation)
        and all(a is Negative.REFUSE or q not in known or a in known[q] for q, a in way.answers.items())
    ]
    constraints = expected.open_constraints
    if constraints:
        return {constraints[0]: Opened.REFUSED} if len(constraints) == 1 and not ways else {}
    return _common(ways)


def _of_value(
    problem: Problem, expected: Values, produced: Geometry | Ints | None, readings: Sequence[Reading]
) -> dict[str, str]:
    """Return what a value shows: by the text's own readings where it has several, else by those of all texts."""
    disputed = problem.dialect.disputed
    if readings is disputed and not expected.disputed and not expected.refusals:
        return {}
    own, others = (
        _common(way for way in _ways(problem, some) if produced in (way.result, _size_of(way.result)))
        for some in (disputed, readings)
    )
    settled = {question: answer for question, answer in others.items() if question not in _disputed(problem)}
    return {**dict.fromkeys(expected.open_constraints, Opened.ANSWERED), **settled, **own}


def _size_of(result: Geometry | Violation) -> Ints | None:
    return result.output if isinstance(result, Geometry) else None


def _disputed(problem: Problem) -> set[str]:
    return {reading.change.question for reading in problem.dialect.disputed}


def _ways(problem: Problem, readings: Sequence[Reading]) -> Iterator[Branch]:
    return branches(problem.signature, problem.dialect.rules, readings)


def _common(ways: Iterable[Branch]) -> dict[str, str]:
    """Return the answers that all ways share."""
    shared: dict[str, str] | None = None
    for way in ways:
        shared = dict(way.answers) if shared is None else {q: a for q, a in shared.items() if way.answers.get(q) == a}
    return shared or {}


def _shows(seen: _Seen, question: str, answer: str, readings: Sequence[Reading]) -> bool:
    """Return whether the case's values tell the answer from every other: an empty output, say, shows nothing."""
    if seen.produced is None or answer in set(Opened):
        return True
    problem, produced = seen.problem, seen.produced
    of_text = isinstance(produced, Geometry | tuple)
    ways = _ways(problem, problem.dialect.disputed if of_text and question in _disputed(problem) else readings)
    others = {way.result for way in ways if way.answers.get(question) != answer}
    if isinstance(produced, tuple):
        return not any(_size_of(other) == produced for other in others)
    array = problem.truth.values(produced) if isinstance(produced, Geometry) else produced
    return not any(_gives(problem.truth, other, array) for other in others)


def _gives(truth: Truth, result: Geometry | Violation, array: Array) -> bool:
    """Return whether a result has these values."""
    if isinstance(result, Violation) or truth.shape(result) != array.shape:
        return False
    return bool(np.array_equal(truth.values(result), array, equal_nan=True))

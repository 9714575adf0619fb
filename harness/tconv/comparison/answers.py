"""Which answer a backend gives to each question, learnt from its records.

A case tells an answer where every way of answering that gives the observed output answers the question alike. Most
cases tell nothing: they were not asked, or two answers come to the same. What a text leaves open, a size of 0 say, is
a question too, with two answers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.call import signature
from tconv.cases.operands import make
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry, NoGeometry
from tconv.dialects.readings import AnswerOtherwise, Branch, Reading, branches
from tconv.dialects.rules import QUESTIONS, Negative
from tconv.expectation.owed import Refuse, Values, expectation
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.records.record_file import Record, Run
    from tconv.vocabulary import Array, Ints

_REFUSED = "-refused"


class Opened(StrEnum):
    """The answers to a question that a text leaves open: is such a case answered, or refused?"""

    ANSWERED = "answered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Told:
    """The cases that tell one answer.

    Attributes:
        answer: the answer, a word of `rules` or of `Opened`.
        count: how many cases tell it: no other answer gives their values.
        example: the smallest of them.
    """

    answer: str
    count: int
    example: Case


@dataclass(frozen=True, slots=True)
class Answers:
    """What a backend answers to one question: one answer, or several, and then it is inconsistent."""

    question: str
    told: tuple[Told, ...]

    @property
    def inconsistent(self) -> bool:
        """Whether cases tell different answers."""
        return len(self.told) > 1


def every_reading(row: Dialect) -> tuple[Reading, ...]:
    """Return a reading for each answer to each question but the primary ones: the text's own, and all others."""
    own = {(reading.change.question, reading.change.answer): reading for reading in row.disputed}
    found = []
    for question in QUESTIONS:
        for answer in type(getattr(row.rules, question)):
            if answer == getattr(row.rules, question):
                continue
            other = Reading(f"{question}={answer}", "", "", AnswerOtherwise(question, answer))
            found.append(own.get((question, answer), other))
    return tuple(found)


def answers(
    run: Run,
    find: Callable[[str], Case | None],
    readings: Sequence[Reading] | None = None,
    actual: Callable[[Record], Array | None] = lambda _: None,
    aside: Container[str] = frozenset(),
    least: int = 1,
) -> list[Answers]:
    """Return what the backend answers to each question that its records tell something of.

    Args:
        run: the records.
        find: a case by its id; None where the corpus has none any more.
        readings: the answers that are told apart where the dialect's text allows but one, or where what was produced
            is none that it allows; None for no others than the text's own.
        actual: the array, in NCX, that a deviation produced, where it was kept.
        aside: ids whose refusals have another reason than a reading: what a waiver says of them.
        least: how many answers a question must have to be of interest.
    """
    row = DIALECTS[run.header.dialect]
    readings = row.disputed if readings is None else readings
    found: dict[str, dict[str, list[_Seen]]] = defaultdict(lambda: defaultdict(list))
    asked = [
        (record, case)
        for record in run.records
        if not (_refused(record) and record.case in aside) and (case := find(record.case)) is not None
    ]
    # What values tell says which refusals a reading can explain, so they come first.
    for record, case in sorted(asked, key=lambda one: _refused(one[0])):
        array = actual(record) if isinstance(record.verdict, ver.Differed | ver.WrongShape) else None
        given, produced = _told(case, row, record.verdict, readings, array, found)
        for question, answer in given.items():
            if question in run.header.backend.supplied:
                continue
            found[question][answer].append(_Seen(case, produced))
    order = [*QUESTIONS, *CONSTRAINTS]
    asked_of = [question for question in sorted(found, key=order.index) if len(found[question]) >= least]
    return [
        told
        for question in asked_of
        if len((told := _collected(question, found[question], row, readings)).told) >= least
    ]


def mixed(run: Run, find: Callable[[str], Case | None], aside: Container[str] = frozenset()) -> list[Answers]:
    """Return the questions that the backend answers now this way, now that way; none where it follows the text."""
    if not any(isinstance(record.verdict, ver.Disputed) for record in run.records):
        return []
    return answers(run, find, aside=aside, least=2)


def _refused(record: Record) -> bool:
    return isinstance(record.verdict, ver.Disputed) and record.verdict.rule == "refusal"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A case and what it came to: a geometry of its text, a size alone, an array of no reading, or no value."""

    case: Case
    produced: Geometry | Ints | Array | None


def _collected(question: str, seen: Mapping[str, list[_Seen]], row: Dialect, readings: Sequence[Reading]) -> Answers:
    told = []
    for answer, members in seen.items():
        telling = [member.case for member in members if _tells(member, row, question, answer, readings)]
        if telling:
            told.append(Told(answer, len(telling), min(telling, key=_size)))
    return Answers(question, tuple(sorted(told, key=lambda one: -one.count)))


def _size(case: Case) -> tuple[int, int, int]:
    return len(case.x.shape), prod(case.x.shape) + prod(case.w.shape), len(case.id)


def _told(
    case: Case,
    row: Dialect,
    verdict: ver.Verdict,
    readings: Sequence[Reading],
    array: Array | None,
    known: Mapping[str, Container[str]],
) -> tuple[dict[str, str], Geometry | Ints | Array | None]:
    """Return the answers that one verdict tells, by question, and what was produced."""
    expected = expectation(case, row)
    refused = isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"
    if isinstance(expected, Refuse):
        if expected.stated or not isinstance(verdict, ver.Disputed | ver.AcceptedInvalid):
            return {}, None
        return {expected.broken.constraint: Opened.REFUSED if refused else Opened.ANSWERED}, None
    if not isinstance(expected, Values):
        return {}, None
    if refused:
        return _of_refusal(case, row, expected, known), None
    if isinstance(verdict, ver.Agreed | ver.Disputed):
        geometry = _followed(verdict, expected)
        produced = geometry.output if verdict.rule == "shape" and geometry else geometry
        return _of_value(case, row, expected, produced, readings), produced
    if array is None:
        return {}, None
    truth = Truth(make(case.x, case.w, case.b), case.x.dtype)
    return _common([branch for branch in _ways(case, row, readings) if _gives(truth, branch.result, array)]), array


def _opened(expected: Values) -> list[str]:
    """Return the constraints that the case breaks and that the text leaves open."""
    return [name.removesuffix(_REFUSED) for name in expected.refusals if name.removesuffix(_REFUSED) in CONSTRAINTS]


def _of_refusal(case: Case, row: Dialect, expected: Values, known: Mapping[str, Container[str]]) -> dict[str, str]:
    """Return what a refusal tells: nothing where there are several reasons for it.

    A reading under which the text refuses explains nothing where it takes another answer to some other question than
    the backend is known to give.
    """
    ways = [
        branch
        for branch in _ways(case, row, row.disputed)
        if isinstance(branch.result, NoGeometry)
        and all(a is Negative.REFUSE or q not in known or a in known[q] for q, a in branch.answers.items())
    ]
    opened = _opened(expected)
    if opened:
        return {opened[0]: Opened.REFUSED} if len(opened) == 1 and not ways else {}
    return _common(ways)


def _of_value(
    case: Case, row: Dialect, expected: Values, produced: Geometry | Ints | None, readings: Sequence[Reading]
) -> dict[str, str]:
    """Return what a value tells: by the text's own readings where it has several, else by those of all texts."""
    if readings is row.disputed and not expected.disputed and not expected.refusals:
        return {}
    own, others = (
        _common([branch for branch in _ways(case, row, some) if produced in (branch.result, _size_of(branch.result))])
        for some in (row.disputed, readings)
    )
    settled = {question: answer for question, answer in others.items() if question not in _disputed(row)}
    return {**dict.fromkeys(_opened(expected), Opened.ANSWERED), **settled, **own}


def _size_of(result: Geometry | NoGeometry) -> Ints | None:
    return result.output if isinstance(result, Geometry) else None


def _disputed(row: Dialect) -> set[str]:
    return {reading.change.question for reading in row.disputed}


def _followed(verdict: ver.Agreed | ver.Disputed, expected: Values) -> Geometry | None:
    readings = verdict.readings if isinstance(verdict, ver.Disputed) else ()
    candidates = (expected.primary, *expected.disputed)
    return next((candidate.geometry for candidate in candidates if candidate.readings == tuple(readings)), None)


def _ways(case: Case, row: Dialect, readings: Sequence[Reading]) -> Iterator[Branch]:
    return branches(signature(case, row), row.rules, readings)


def _common(ways: Iterable[Branch]) -> dict[str, str]:
    """Return the answers that all ways share."""
    shared: dict[str, str] | None = None
    for way in ways:
        shared = dict(way.answers) if shared is None else {q: a for q, a in shared.items() if way.answers.get(q) == a}
    return shared or {}


def _tells(seen: _Seen, row: Dialect, question: str, answer: str, readings: Sequence[Reading]) -> bool:
    """Return whether the case's values tell the answer from every other: an empty output, say, tells nothing."""
    if seen.produced is None or answer in set(Opened):
        return True
    case, produced = seen.case, seen.produced
    of_text = isinstance(produced, Geometry | tuple)
    ways = _ways(case, row, row.disputed if of_text and question in _disputed(row) else readings)
    others = {way.result for way in ways if way.answers.get(question) != answer}
    if isinstance(produced, tuple):
        return not any(_size_of(other) == produced for other in others)
    truth = Truth(make(case.x, case.w, case.b), case.x.dtype)
    array = truth.values(produced) if isinstance(produced, Geometry) else produced
    return not any(_gives(truth, other, array) for other in others)


def _gives(truth: Truth, result: Geometry | NoGeometry, array: Array) -> bool:
    """Return whether a result has these values."""
    if isinstance(result, NoGeometry) or truth.shape(result) != array.shape:
        return False
    return bool(np.array_equal(truth.values(result), array, equal_nan=True))

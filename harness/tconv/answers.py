"""Which answer a backend gives to each question, learnt from its records.

A case tells an answer where every way of answering that gives the observed output answers the question alike. Most
cases tell nothing: they were not asked, or two answers come to the same. What a text leaves open, a size of 0 say, is
a question too, with two answers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv import verdict as ver
from tconv.call import signature
from tconv.constraints import CONSTRAINTS
from tconv.dialects import DIALECTS
from tconv.expectation import Refuse, Values, expectation
from tconv.geometry import Geometry, NoGeometry
from tconv.judge import Truth
from tconv.operands import make
from tconv.readings import AnswerOtherwise, Branch, Reading, branches
from tconv.rules import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tconv.case import Case
    from tconv.dialects import Dialect
    from tconv.records import Record, Run

Array = np.ndarray[Any, np.dtype[Any]]

_REFUSED = "-refused"
_LOOKED_AT = 60
"""Cases of one answer that are looked at for one whose values tell it from the others."""


class Opened(StrEnum):
    """The answers to a question that a text leaves open: is such a case answered, or refused?"""

    ANSWERED = "answered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Told:
    """The cases that tell one answer.

    Attributes:
        answer: the answer, a word of `rules` or of `Opened`.
        count: how many cases tell it.
        example: the smallest of them, whose values no other answer gives.
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
) -> list[Answers]:
    """Return what the backend answers to each question that its records tell something of.

    Args:
        run: the records.
        find: a case by its id; None where the corpus has none any more.
        readings: the answers that are told apart; None for those that the dialect's text allows.
        actual: the array, in NCX, that a deviation produced, where it was kept.
    """
    row = DIALECTS[run.header.dialect]
    readings = row.disputed if readings is None else readings
    found: dict[str, dict[str, list[tuple[Case, Array | None]]]] = defaultdict(lambda: defaultdict(list))
    for record in run.records:
        if (case := find(record.case)) is None:
            continue
        array = actual(record) if isinstance(record.verdict, ver.Differed | ver.WrongShape) else None
        for question, answer in _told(case, row, record.verdict, readings, array).items():
            found[question][answer].append((case, array))
    order = [*QUESTIONS, *CONSTRAINTS]
    return [
        told
        for question in sorted(found, key=order.index)
        if (told := _collected(question, found[question], row, readings)).told
    ]


def mixed(run: Run, find: Callable[[str], Case | None]) -> list[Answers]:
    """Return the questions that the backend answers now this way, now that way; none where it follows the text."""
    if not any(isinstance(record.verdict, ver.Disputed) for record in run.records):
        return []
    return [one for one in answers(run, find) if one.inconsistent]


def _collected(
    question: str,
    cases: Mapping[str, list[tuple[Case, Array | None]]],
    row: Dialect,
    readings: Sequence[Reading],
) -> Answers:
    told = []
    for answer, members in sorted(cases.items(), key=lambda item: -len(item[1])):
        by_size = sorted(members, key=lambda member: _size(member[0]))
        telling = (
            case for case, array in islice(by_size, _LOOKED_AT) if _tells(case, row, question, answer, readings, array)
        )
        if (example := next(telling, None)) is not None:
            told.append(Told(answer, len(members), example))
    return Answers(question, tuple(told))


def _size(case: Case) -> tuple[int, int, int]:
    return len(case.x.shape), prod(case.x.shape) + prod(case.w.shape), len(case.id)


def _told(
    case: Case, row: Dialect, verdict: ver.Verdict, readings: Sequence[Reading], array: Array | None
) -> dict[str, str]:
    """Return the answers that one verdict tells, by question."""
    expected = expectation(case, row)
    refused = isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"
    if isinstance(expected, Refuse):
        if expected.stated or not isinstance(verdict, ver.Disputed | ver.AcceptedInvalid):
            return {}
        return {expected.broken.constraint: Opened.REFUSED if refused else Opened.ANSWERED}
    if not isinstance(expected, Values):
        return {}
    opened = [name.removesuffix(_REFUSED) for name in expected.refusals if name.removesuffix(_REFUSED) in CONSTRAINTS]
    if refused:
        ways = [branch for branch in _ways(case, row, readings) if isinstance(branch.result, NoGeometry)]
        if opened:
            return {opened[0]: Opened.REFUSED} if len(opened) == 1 and not ways else {}
        return _common(ways)
    if isinstance(verdict, ver.Agreed | ver.Disputed):
        if readings is row.disputed and not expected.disputed and not expected.refusals:
            return {}
        geometry = _followed(verdict, expected)
        ways = [branch for branch in _ways(case, row, readings) if branch.result == geometry]
        return dict.fromkeys(opened, Opened.ANSWERED) | _common(ways)
    if array is None:
        return {}
    truth = Truth(make(case.x, case.w, case.b), case.x.dtype)
    return _common([branch for branch in _ways(case, row, readings) if _gives(truth, branch.result, array)])


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


def _tells(
    case: Case, row: Dialect, question: str, answer: str, readings: Sequence[Reading], array: Array | None
) -> bool:
    """Return whether the case's values tell the answer from every other: an empty output, say, tells nothing."""
    if answer in set(Opened) or not isinstance(expectation(case, row), Values):
        return True
    truth = Truth(make(case.x, case.w, case.b), case.x.dtype)
    ways = list(_ways(case, row, readings))
    given = [way.result for way in ways if way.answers.get(question) == answer]
    others = {way.result for way in ways if way.answers.get(question) != answer}
    arrays = [array] if array is not None else [truth.values(one) for one in given if isinstance(one, Geometry)]
    return not any(_gives(truth, other, one) for one in arrays for other in others)


def _gives(truth: Truth, result: Geometry | NoGeometry, array: Array) -> bool:
    """Return whether a result has these values."""
    if isinstance(result, NoGeometry) or truth.shape(result) != array.shape:
        return False
    return bool(np.array_equal(truth.values(result), array, equal_nan=True))

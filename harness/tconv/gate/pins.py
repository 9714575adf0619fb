"""Pins: which allowed reading a backend follows, question by question, so that no change of it stays unseen."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tconv.expectation.problem import shared_problem
from tconv.gate.answers import (
    deciding_questions,
    is_disputed_refusal,
    possible_answers,
    readings_of,
    results_by_answer,
)
from tconv.gate.status import ReadingChanged
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.expectation.problem import Problem
    from tconv.gate.active_entries import ActiveEntries
    from tconv.gate.waivers import Pin
    from tconv.records.record import Record
    from tconv.records.record_file import Run


class Answered(NamedTuple):
    """An answer of a backend to questions that its text answers in several ways.

    Attributes:
        record: the record of the case.
        problem: the case in the dialect.
        questions: those whose answer makes a difference to this case.
    """

    record: Record
    problem: Problem
    questions: frozenset[str]

    @property
    def possible(self) -> Iterator[Mapping[str, str]]:
        """The combinations of answers that give what the backend did."""
        assert isinstance(self.record.verdict, ver.Allowed)  # noqa: S101 - `answered` yields no other
        return possible_answers(self.problem, self.record.verdict)


@dataclass(frozen=True, slots=True)
class PinUses:
    """What the pins of a file did in a run.

    Attributes:
        changed: what changed in the cases that follow another reading than their pin.
        by_case: the pinned answers, by question, of each case that has some.
        unpinned: the questions that the backend answers in some case for which there is no pin.
        stale: the pins whose question no case of the run decides.
    """

    changed: Mapping[str, ReadingChanged] = field(default_factory=dict)
    by_case: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unpinned: tuple[str, ...] = ()
    stale: tuple[Pin, ...] = ()


def answered(run: Run, find: Callable[[str], Case | None]) -> Iterator[Answered]:
    """Yield the answers of a run to questions that its text answers in several ways.

    What the backend does not answer itself is left out, and so are values that nothing is known of.
    """
    supplied = set(run.header.backend.supplied)
    for record in run.records:
        if isinstance(record.verdict, ver.Allowed) and (case := find(record.case)) is not None:
            problem = shared_problem(case, run.dialect)
            if questions := deciding_questions(problem, record.verdict) - supplied:
                yield Answered(record, problem, frozenset(questions))


def hold_pins(
    run: Run, active: ActiveEntries, facts: Mapping[str, Mapping[str, str]], find: Callable[[str], Case | None]
) -> PinUses:
    """Return which answers follow another reading than their pin, and which pins a run needs.

    If several readings give the same output, it is enough that one of them is pinned.

    Args:
        run: the records.
        active: the entries that hold for its backend, dialect and machine; of two pins for one question, the first one
            counts. A waiver may know another reason for a refusal than a reading.
        facts: the facts of the cases, by id.
        find: returns a case by its id.
    """
    changes: dict[str, list[tuple[Pin, str]]] = {}
    by_case: dict[str, Mapping[str, str]] = {}
    touched: set[int] = set()
    unpinned: set[str] = set()
    for one in answered(run, find):
        record = one.record
        if is_disputed_refusal(record.verdict) and active.status_of(record, facts[record.case]).waiver:
            continue
        holding = {pin.question: pin for pin in reversed(active.pins) if pin.covers(record.case, facts[record.case])}
        of_case = {question: pin for question, pin in holding.items() if question in one.questions}
        unpinned |= one.questions.difference(of_case)
        touched.update(map(id, of_case.values()))
        if of_case:
            by_case[record.case] = {question: pin.answer(run.dialect) for question, pin in of_case.items()}
            if change := _changes(one, of_case, run.dialect):
                changes[record.case] = change
    # If several readings give an answer, it has the name of the one that most answers may have.
    count = Counter((pin.question, now) for of_case in changes.values() for pin, now in of_case)
    verdicts = {record.case: record.verdict for record in run.records if record.case in changes}
    changed = {
        case: _changed(verdicts[case], *max(of_case, key=lambda change: count[change[0].question, change[1]]))
        for case, of_case in changes.items()
    }
    stale = tuple(pin for pin in active.pins if id(pin) not in touched)
    return PinUses(changed, by_case, tuple(sorted(unpinned)), stale)


def _changes(one: Answered, pins: Mapping[str, Pin], dialect: Dialect) -> list[tuple[Pin, str]]:
    """Return each pin that an answer may have left, with the reading that it may follow instead.

    Those with the fewest changes count. There is none if a combination of answers that gives the output agrees with
    all pins.
    """
    wanted = {question: pin.answer(dialect) for question, pin in pins.items()}
    left = []
    for answers in one.possible:
        others = [question for question, answer in wanted.items() if answers.get(question, answer) != answer]
        if not others:
            return []
        left.append([(pins[question], _name(question, answers[question], dialect)) for question in others])
    fewest = min(map(len, left), default=0)
    return [change for of_answers in left if len(of_answers) == fewest for change in of_answers]


def _name(question: str, answer: str, dialect: Dialect) -> str:
    return next(name for name, other in readings_of(question, dialect).items() if other == answer)


def _changed(verdict: ver.Verdict, pin: Pin, now: str) -> ReadingChanged:
    """Return that an answer follows another reading than the pinned one."""
    assert isinstance(verdict, ver.Allowed)  # noqa: S101 - as above
    choices = verdict.choices if isinstance(verdict, ver.Disputed) else ()
    return ReadingChanged(pin.question, pin.reading, now, choices, verdict.rule)


def decisive_cases(
    pin: Pin, cases: Iterable[Case], dialect: Dialect, has_entry: Callable[[Case], bool], most: int
) -> list[Case]:
    """Return the smallest cases of a pin in which no other reading of its question gives what its reading gives.

    Args:
        pin: the pin.
        cases: those to choose from.
        dialect: one of its dialects.
        has_entry: says which cases another entry of the file is for: those come last.
        most: how many cases are wanted.
    """
    wanted = pin.answer(dialect)
    covered = (case for case in cases if pin.covers(case.id, case.facts))
    decisive = [case for case in covered if _decides(shared_problem(case, dialect), pin.question, wanted)]
    return heapq.nsmallest(most, decisive, key=lambda case: (has_entry(case), case.simplicity))


def _decides(problem: Problem, question: str, answer: str) -> bool:
    if problem.values is None or not {question}.issuperset(problem.values.open_constraints):
        # A refusal may have another reason there.
        return False
    by_answer = results_by_answer(problem, question)
    others = [results for other, results in by_answer.items() if other != answer]
    return answer in by_answer and bool(others) and all(map(by_answer[answer].isdisjoint, others))


def follows_pin(record: Record, case: Case, pin: Pin, dialect: Dialect) -> bool:
    """Return whether a case may have been answered by the pinned reading."""
    if not isinstance(record.verdict, ver.Allowed):
        return False
    possible = possible_answers(shared_problem(case, dialect), record.verdict)
    return any(answers.get(pin.question) == pin.answer(dialect) for answers in possible)

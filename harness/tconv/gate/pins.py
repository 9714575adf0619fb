"""Pins: which allowed reading a backend follows, question by question, so that no change of it stays unseen.

Pins are made from records, and written into a waiver file so that none of its comments is lost.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tconv.cases.patterns import label
from tconv.corpus.facts import IDENTITY
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS
from tconv.expectation.problem import share_problem
from tconv.gate.answers import (
    find_deciding_questions,
    find_possible_answers,
    is_disputed_refusal,
    list_readings,
)
from tconv.gate.status import ReadingChanged
from tconv.gate.waivers import Pin
from tconv.verdict import kinds as ver
from tconv.vocabulary import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.documents import Document
    from tconv.expectation.problem import Problem
    from tconv.gate.entries import ActiveEntries
    from tconv.gate.waivers import WaiverFile
    from tconv.records.headers import BackendHeader
    from tconv.records.record import Record
    from tconv.records.record_file import Run


class Answered(NamedTuple):
    """An answer of a backend to questions that its text answers in several ways.

    Attributes:
        problem: the case in the dialect.
        verdict: the verdict on the answer.
        questions: those whose answer makes a difference to this case.
    """

    problem: Problem
    verdict: ver.Allowed
    questions: frozenset[str]

    @property
    def possible(self) -> Iterator[Mapping[str, str]]:
        """The combinations of answers that give what the backend did."""
        return find_possible_answers(self.problem, self.verdict)

    def pin_of(self, question: str, pins: Iterable[Pin]) -> Pin | None:
        """Return the first pin of a question that is for the case."""
        case = self.problem.case
        return next((pin for pin in pins if pin.question == question and pin.covers(case.id, case.facts)), None)


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


def find_answered(run: Run, find: Callable[[str], Case | None], active: ActiveEntries) -> Iterator[Answered]:
    """Yield the answers of a run to questions that its text answers in several ways.

    What the backend does not answer itself is left out, and so are values that nothing is known of, and refusals of
    which a waiver knows another reason than a reading.
    """
    for record in run.records:
        verdict = record.verdict
        if not isinstance(verdict, ver.Allowed) or (case := find(record.case)) is None:
            continue
        problem = share_problem(case, run.dialect)
        questions = find_deciding_questions(problem.expectation, verdict).difference(run.header.backend.supplied)
        if questions and not (is_disputed_refusal(verdict) and active.assign_status(record, case.facts).waiver):
            yield Answered(problem, verdict, frozenset(questions))


def hold_pins(run: Run, active: ActiveEntries, find: Callable[[str], Case | None]) -> PinUses:
    """Return which answers follow another reading than their pin, and which pins a run needs.

    If several readings give the same output, it is enough that one of them is pinned.

    Args:
        run: the records.
        active: the entries that hold for its backend, dialect and machine; of two pins for one question, the first one
            counts.
        find: returns a case by its id.
    """
    changes: list[tuple[Answered, list[tuple[Pin, str]]]] = []
    by_case: dict[str, Mapping[str, str]] = {}
    touched: set[int] = set()
    unpinned: set[str] = set()
    for one in find_answered(run, find, active):
        case, questions = one.problem.case, one.questions
        covering = (pin for pin in reversed(active.pins) if pin.question in questions)
        pins = {pin.question: pin for pin in covering if pin.covers(case.id, case.facts)}
        unpinned |= questions.difference(pins)
        touched.update(map(id, pins.values()))
        if pins:
            by_case[case.id] = {question: pin.answer(run.dialect) for question, pin in pins.items()}
            changes.append((one, _find_changes(one, pins, run.dialect)))
    # If several readings give an answer, it has the name of the one that most answers may have.
    count = Counter((pin.question, now) for _, of_case in changes for pin, now in of_case)
    changed: dict[str, ReadingChanged] = {}
    for (problem, verdict, _), of_case in changes:
        if of_case:
            pin, now = max(of_case, key=lambda change: count[change[0].question, change[1]])
            choices = verdict.choices if isinstance(verdict, ver.Disputed) else ()
            changed[problem.case.id] = ReadingChanged(pin.question, pin.reading, now, choices, verdict.rule)
    stale = tuple(pin for pin in active.pins if id(pin) not in touched)
    return PinUses(changed, by_case, tuple(sorted(unpinned)), stale)


def _find_changes(one: Answered, pins: Mapping[str, Pin], dialect: Dialect) -> list[tuple[Pin, str]]:
    """Return each pin that an answer may have left, with the reading that it may follow instead.

    Those with the fewest changes count. There is none if a combination of answers that gives the output agrees with
    all pins.
    """
    names = {q: {answer: name for name, answer in list_readings(q, dialect).items()} for q in pins}
    left = []
    for answers in one.possible:
        now = ((pin, names[q][answers[q]] if q in answers else pin.reading) for q, pin in pins.items())
        left.append([(pin, reading) for pin, reading in now if reading != pin.reading])
        if not left[-1]:
            return []
    fewest = min(map(len, left), default=0)
    return [change for of_answers in left if len(of_answers) == fewest for change in of_answers]


def choose_decisive_cases(
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

    def decides(case: Case) -> bool:
        expected = share_problem(case, dialect).values if pin.covers(case.id, case.facts) else None
        if expected is None or not {pin.question}.issuperset(expected.open_constraints):
            # A refusal may have another reason there.
            return False
        answers = [(branch.answers.get(pin.question, ""), branch.result) for branch in expected.branches]
        own = {result for answer, result in answers if answer == wanted}
        others = {result for answer, result in answers if answer not in {wanted, ""}}
        return bool(expected.open_constraints or (own and others and own.isdisjoint(others)))

    return heapq.nsmallest(most, filter(decides, cases), key=lambda case: (has_entry(case), case.simplicity))


def follows_pin(record: Record, case: Case, pin: Pin, dialect: Dialect) -> bool:
    """Return whether a case may have been answered by the pinned reading."""
    possible = find_possible_answers(share_problem(case, dialect), record.verdict)
    return any(answers.get(pin.question) == pin.answer(dialect) for answers in possible)


_MOST_PARTS = 8
"""Pins of one question at most: more of them only repeat what the cases happen to be."""


class ChosenPin(NamedTuple):
    """A reading that a backend follows in a run, and how many cases it decides."""

    pin: Pin
    cases: int


@dataclass(frozen=True, slots=True)
class ChosenPins:
    """What the records of a run say of the questions of its text.

    Attributes:
        pins: the reading of each question, several with a condition if the backend follows several.
        mixed: the questions that are answered in several ways, and no fact of the calls tells which.
    """

    pins: list[ChosenPin]
    mixed: list[str]


class _Seen(NamedTuple):
    """A case that a question decides: its facts, and the answers that give what the backend did, "" if any does."""

    facts: Mapping[str, str]
    answers: frozenset[str]


def choose_pins(run: Run, find: Callable[[str], Case | None], active: ActiveEntries) -> ChosenPins:
    """Return pins for the answers of a run that pass or are disputed.

    Args:
        run: the records.
        find: returns a case by its id.
        active: the entries that hold for the backend. If all answers to a question follow the pins, these stay as they
            are.
    """
    seen = [(one, list(one.possible)) for one in find_answered(run, find, active)]
    chosen = ChosenPins([], [])
    for question in _ORDER:
        asked = [(one, possible) for one, possible in seen if question in one.questions and possible]
        if not asked:
            continue
        own: Sequence[Pin] = active.pins
        if not all(_follows(question, one.pin_of(question, own), possible, run.dialect) for one, possible in asked):
            parts = _part(
                [_Seen(one.problem.case.facts, frozenset(each.get(question, "") for each in of)) for one, of in asked],
                {answer: name for name, answer in list_readings(question, run.dialect).items()},
            )
            if parts is None:
                chosen.mixed.append(question)
                continue
            plain = {"dialects": [run.header.dialect], "question": question}
            own = [Pin.model_validate({**plain, "reading": reading, "where": where}) for where, reading in parts]
        pins = [one.pin_of(question, own) for one, _ in asked]
        counts = Counter(map(id, pins))
        chosen.pins.extend(ChosenPin(pin, counts[id(pin)]) for pin in own if counts[id(pin)])
        # Readings of several questions may give one output: what is chosen for this one decides which are left.
        for (_, possible), pin in zip(asked, pins, strict=True):
            if pin is not None:
                answer = pin.answer(run.dialect)
                possible[:] = [each for each in possible if each.get(question, answer) == answer]
    return chosen


def _follows(question: str, pin: Pin | None, possible: Iterable[Mapping[str, str]], dialect: Dialect) -> bool:
    answer = pin and pin.answer(dialect)
    return pin is not None and any(answers.get(question, answer) == answer for answers in possible)


def _part(seen: Sequence[_Seen], readings: Mapping[str, str]) -> list[tuple[dict[str, Any], str]] | None:
    """Return conditions, each with the one reading that all of its cases have; None if no facts tell them apart.

    Args:
        seen: the cases of a question.
        readings: the names of its readings, by their answers.
    """
    # An attribute that is not written is a fact too.
    common = set(seen[0].facts).intersection(*(one.facts for one in seen))
    names = sorted(common.union(ATTRIBUTES).difference(IDENTITY))
    for size in (0, 1, 2):
        found = [parts for chosen in combinations(names, size) if (parts := _part_by(chosen, seen, readings))]
        if found:
            return min(found, key=lambda parts: (len(parts), str(parts)))
    return None


def _part_by(
    names: Sequence[str], seen: Sequence[_Seen], readings: Mapping[str, str]
) -> list[tuple[dict[str, Any], str]] | None:
    """Return the conditions on these facts under which the reading is always the same; None if there are none."""
    by_values: dict[tuple[str, ...], list[_Seen]] = defaultdict(list)
    for one in seen:
        by_values[tuple(one.facts.get(name, label(None)) for name in names)].append(one)
    if names and len(by_values) > len(seen) // 2:
        # Facts that nearly every case has for itself say which case it is.
        return None
    of_reading: dict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for values, members in sorted(by_values.items()):
        allowed = [answer for answer in readings if all(not one.answers.isdisjoint({answer, ""}) for one in members)]
        shown = Counter(answer for one in members if len(one.answers) == 1 for answer in one.answers)
        if not allowed:
            return None
        # The answer that most cases show comes before others.
        of_reading[values[:-1], readings[max(allowed, key=lambda answer: shown[answer])]] += values[-1:]
    if len(of_reading) > _MOST_PARTS:
        return None
    return [
        (
            {name: _parse_fact(text) for name, text in zip(names, first, strict=False)}
            | {name: list(map(_parse_fact, last)) if len(last) > 1 else _parse_fact(last[0]) for name in names[-1:]},
            reading,
        )
        for (first, reading), last in of_reading.items()
    ]


def _parse_fact(text: str) -> str | int | bool | None:
    """Return the value of a fact as a person would write it."""
    words: dict[str, str | bool | None] = {label(word): word for word in (None, True, False)}
    return int(text) if text.isdecimal() and str(int(text)) == text else words.get(text, text)


_ORDER = (*QUESTIONS, *CONSTRAINTS)
"""The order of questions."""


@dataclass(frozen=True, slots=True)
class PinChanges:
    """How the pins of a file change.

    Attributes:
        text: the new text of the file.
        lines: what changed, a line for each pin.
    """

    text: str
    lines: list[str]


def write_pins(
    file: WaiverFile,
    document: Document,
    text: str,
    chosen: Mapping[str, Sequence[ChosenPin]],
    backend: BackendHeader,
    *,
    whole: bool,
) -> PinChanges:
    """Return the text of a waiver file with other pins; all else of it, comments too, stays as it is.

    Args:
        file: the file.
        document: the same with its places.
        text: its text.
        chosen: the pins of each dialect of which there are records.
        backend: who was run: pins for other versions and machines stay, and those for its own keep their conditions.
        whole: whether the records are of all cases; if not, a question that none of them asks keeps its pins.
    """
    asked = {(name, pin.question) for name, pins in chosen.items() for pin, _ in pins}
    old = [(name, pin) for pin in file.pins for name in pin.dialects]
    replaced = [
        (name, pin)
        for name, pin in old
        if name in chosen and pin.active(name, backend) and (whole or (name, pin.question) in asked)
    ]
    new, counts = [], dict[_Key, int]()
    for name, of_dialect in chosen.items():
        for pin, cases in of_dialect:
            of_question = [old for of, old in replaced if (of, old.question) == (name, pin.question)]
            before = next((old for old in of_question if old.words == pin.words), next(iter(of_question), pin))
            new.append((name, pin.model_copy(update={"versions": before.versions, "machine": before.machine})))
            counts[_make_key(*new[-1])] = cases
    kept = [one for one in old if one not in replaced]
    lines = list(
        _describe_changes(
            {_make_key(*one): one[1] for one in replaced}, {_make_key(*one): one[1] for one in new}, counts
        )
    )
    return PinChanges(_replace_block(document, text, _join([*kept, *new])), lines)


_Key = tuple[str, str]
"""A dialect, and a question with the cases."""


def _make_key(dialect: str, pin: Pin) -> _Key:
    return dialect, f"{pin.question} {pin.words}".strip()


def _describe_changes(old: Mapping[_Key, Pin], new: Mapping[_Key, Pin], counts: Mapping[_Key, int]) -> Iterator[str]:
    for key in {**old, **new}:
        (dialect, asked), count = key, counts.get(key, 0)
        was, now = (pins[key].reading if key in pins else "" for pins in (old, new))
        cases = f"{count} {'case' if count == 1 else 'cases'}"
        if not was:
            yield f"new      {dialect}  {asked}: {now} ({cases})"
        elif not now:
            yield f"removed  {dialect}  {asked}: was {was}"
        elif was != now:
            yield f"changed  {dialect}  {asked}: was {was}, is {now} ({cases})"


def _join(pins: Iterable[tuple[str, Pin]]) -> list[Pin]:
    """Return pins that are alike but for their dialect as one, in the order of their questions."""
    alike: dict[str, tuple[Pin, list[str]]] = {}
    for name, pin in pins:
        alike.setdefault(pin.model_dump_json(exclude={"dialects"}), (pin, []))[1].append(name)
    joined = [pin.model_copy(update={"dialects": names}) for pin, names in alike.values()]
    return sorted(joined, key=lambda pin: (_ORDER.index(pin.question), pin.dialects, pin.words))


def _replace_block(document: Document, text: str, pins: Sequence[Pin]) -> str:
    """Return the text of a file with these pins in place of its own; a comment stays above what it stood above."""
    lines = text.splitlines()
    keys = document.root.parts
    start = document.mark(("pins",), key=True)[0] - 1 if "pins" in keys else len(lines)
    below = [part.key[0] - 1 for part in keys.values() if part.key[0] - 1 > start]
    end = min(below, default=len(lines))
    comments: dict[str, list[str]] = defaultdict(list)
    waiting: list[str] = []
    question = ""
    for line in lines[start:end]:
        if (comment := _COMMENT.search(_QUOTED.sub("", line))) is not None:
            waiting.append(f"  {comment[1]}")
        if (named := _QUESTION.search(line)) is not None:
            question = named[1]
            comments[question] += waiting
            waiting = []
    block = ["pins:"] if pins else ["pins: []"] if "pins" in keys else []
    for pin in pins:
        block += [*comments.pop(pin.question, []), _write_pin(pin)]
    block += [line for of_removed in comments.values() for line in of_removed] + waiting
    return "\n".join([*lines[:start], *block, *lines[end:]]) + "\n"


_COMMENT = re.compile(r"(?:^|\s)(#.*)$")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_QUESTION = re.compile(r"\bquestion: *['\"]?(\w[\w-]*)")


def _write_pin(pin: Pin) -> str:
    """Return the line of a pin."""
    plain = pin.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    ordered = {name: plain.pop(name) for name in ("question", "reading", "dialects")} | plain
    return f"  - {yaml.safe_dump(ordered, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)}"[
        :-1
    ]

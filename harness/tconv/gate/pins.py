"""Pins: which allowed reading a backend follows for each question, so that a change is noticed.

Pins are made from records, and written into a waiver file.
"""

from __future__ import annotations

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
    from tconv.records.record_file import Run


class Answered(NamedTuple):
    """A backend's answer to a case in which readings of the text differ.

    Attributes:
        problem: the case in the dialect.
        verdict: the verdict on the answer.
        questions: the questions whose answers change the result of this case.
    """

    problem: Problem
    verdict: ver.Allowed
    questions: frozenset[str]

    @property
    def possible(self) -> Iterator[Mapping[str, str]]:
        """The combinations of answers that give the backend's result."""
        return find_possible_answers(self.problem, self.verdict)

    def pin_of(self, question: str, pins: Iterable[Pin]) -> Pin | None:
        """Return the first pin of a question that covers the case."""
        case = self.problem.case
        return next((pin for pin in pins if pin.question == question and pin.covers(case.id, case.facts)), None)


@dataclass(frozen=True, slots=True)
class PinUses:
    """The effect of a file's pins in a run.

    Attributes:
        changed: for each case that does not follow its pin, the change.
        by_case: the pinned answers, by question, of each case that has some.
        unpinned: the questions that some case answers without a pin.
        stale: the pins whose question no case of the run decides.
    """

    changed: Mapping[str, ReadingChanged] = field(default_factory=dict)
    by_case: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unpinned: tuple[str, ...] = ()
    stale: tuple[Pin, ...] = ()


def find_answered(run: Run, find: Callable[[str], Case | None], active: ActiveEntries) -> Iterator[Answered]:
    """Yield the answers of a run to cases in which readings of the text differ.

    Three kinds are left out: questions that tconv answers for the backend, cases that the corpus does not have, and
    refusals that a waiver explains without a reading.
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
    """Return which answers do not follow their pin, and which pins a run needs.

    If several readings give the same output, it is enough that one of them is pinned.

    Args:
        run: the records.
        active: the entries for its backend, dialect and machine. If two pins of a question cover a case, the first
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
    # If several readings give an answer, the change names the reading that explains most changes.
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
    """Return each pin that an answer may not follow, with the reading that it may follow instead.

    Combinations of answers with the fewest changes count. The result is empty if one agrees with all pins.
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


_MOST_PARTS = 8
"""The most pins of one question: more would only list the cases."""


@dataclass(frozen=True, slots=True)
class ChosenPins:
    """The pins that the records of a run support.

    Attributes:
        pins: the reading of each question; several with conditions if the backend follows several.
        mixed: the questions with several answers, if no fact of the calls separates them.
    """

    pins: list[Pin]
    mixed: list[str]


class _Seen(NamedTuple):
    """A case that a question decides: its facts, and the answers that give the backend's result ("" for any answer)."""

    facts: Mapping[str, str]
    answers: frozenset[str]


def choose_pins(run: Run, find: Callable[[str], Case | None], active: ActiveEntries) -> ChosenPins:
    """Return pins for the answers of a run that pass or are disputed.

    Args:
        run: the records.
        find: returns a case by its id.
        active: the entries for the backend. If all answers to a question follow its pins, these stay unchanged.
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
        used = set(map(id, pins))
        chosen.pins.extend(pin for pin in own if id(pin) in used)
        # Readings of several questions may give one output: this choice leaves fewer combinations for later questions.
        for (_, possible), pin in zip(asked, pins, strict=True):
            if pin is not None:
                answer = pin.answer(run.dialect)
                possible[:] = [each for each in possible if each.get(question, answer) == answer]
    return chosen


def _follows(question: str, pin: Pin | None, possible: Iterable[Mapping[str, str]], dialect: Dialect) -> bool:
    answer = pin and pin.answer(dialect)
    return pin is not None and any(answers.get(question, answer) == answer for answers in possible)


def _part(seen: Sequence[_Seen], readings: Mapping[str, str]) -> list[tuple[dict[str, Any], str]] | None:
    """Return conditions, each with the one reading of all its cases; None if no facts separate the readings.

    Args:
        seen: the cases of a question.
        readings: the names of its readings, by their answers.
    """
    # That an attribute is not written is a fact too.
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
    """Return conditions on these facts, each with one reading; None if some values of the facts have several."""
    by_values: dict[tuple[str, ...], list[_Seen]] = defaultdict(list)
    for one in seen:
        by_values[tuple(one.facts.get(name, label(None)) for name in names)].append(one)
    if names and len(by_values) > len(seen) // 2:
        # The values of these facts differ in nearly every case: they would only list the cases.
        return None
    of_reading: dict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for values, members in sorted(by_values.items()):
        allowed = [answer for answer in readings if all(not one.answers.isdisjoint({answer, ""}) for one in members)]
        shown = Counter(answer for one in members if len(one.answers) == 1 for answer in one.answers)
        if not allowed:
            return None
        # If several answers are possible, the one that most cases show counts.
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
    """Return the value of a fact as YAML has it: a number, a boolean, null or a text."""
    words: dict[str, str | bool | None] = {label(word): word for word in (None, True, False)}
    return int(text) if text.isdecimal() and str(int(text)) == text else words.get(text, text)


_ORDER = (*QUESTIONS, *CONSTRAINTS)
"""The order of questions."""


def write_pins(
    file: WaiverFile,
    document: Document,
    text: str,
    chosen: Mapping[str, Sequence[Pin]],
    backend: BackendHeader,
    *,
    whole: bool,
) -> tuple[str, list[str]]:
    """Return the text of a waiver file with new pins, and the changed lines; all outside of `pins:` stays unchanged.

    Args:
        file: the file.
        document: the same with its places.
        text: its text.
        chosen: the pins of each dialect with records.
        backend: the backend of the records. Pins for other versions and machines stay; new pins take over the versions
            and machine of the pins that they replace.
        whole: whether the records are of all cases; if not, the pins of a question that none of them asks stay.
    """
    asked = {(name, pin.question) for name, pins in chosen.items() for pin in pins}
    old = [(name, pin) for pin in file.pins for name in pin.dialects]
    replaced = [
        (name, pin)
        for name, pin in old
        if name in chosen and pin.active(name, backend) and (whole or (name, pin.question) in asked)
    ]
    pins = [one for one in old if one not in replaced]
    for name, of_dialect in chosen.items():
        for pin in of_dialect:
            of_question = [old for of, old in replaced if (of, old.question) == (name, pin.question)]
            before = next((old for old in of_question if old.words == pin.words), next(iter(of_question), pin))
            pins.append((name, pin.model_copy(update={"versions": before.versions, "machine": before.machine})))
    before_lines, lines = (list(map(_write_pin, of)) for of in (file.pins, _join(pins)))
    changes = [f"-{line}" for line in before_lines if line not in lines]
    changes += [f"+{line}" for line in lines if line not in before_lines]
    return (_replace_block(document, text, lines) if changes else text), changes


def _join(pins: Iterable[tuple[str, Pin]]) -> list[Pin]:
    """Return pins that differ only in their dialect as one pin, in the order of their questions."""
    alike: dict[str, tuple[Pin, list[str]]] = {}
    for name, pin in pins:
        alike.setdefault(pin.model_dump_json(exclude={"dialects"}), (pin, []))[1].append(name)
    joined = [pin.model_copy(update={"dialects": names}) for pin, names in alike.values()]
    return sorted(joined, key=lambda pin: (_ORDER.index(pin.question), pin.dialects, pin.words))


def _replace_block(document: Document, text: str, pins: Sequence[str]) -> str:
    """Return the text of a file with these lines of pins in the place of its own."""
    lines = text.splitlines()
    keys = document.root.parts
    start = document.mark(("pins",), key=True)[0] - 1 if "pins" in keys else len(lines)
    below = [part.key[0] - 1 for part in keys.values() if part.key[0] - 1 > start]
    end = min(below, default=len(lines))
    # A comment above the next key is of that key.
    while end > start and (not lines[end - 1] or lines[end - 1].startswith("#")):
        end -= 1
    block = ["pins:", *pins] if pins else ["pins: []"] if "pins" in keys else []
    return "\n".join([*lines[:start], *block, *lines[end:]]) + "\n"


def _write_pin(pin: Pin) -> str:
    """Return the line of a pin."""
    plain = pin.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    ordered = {name: plain.pop(name) for name in ("question", "reading", "dialects")} | plain
    return f"  - {yaml.safe_dump(ordered, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)}"[
        :-1
    ]

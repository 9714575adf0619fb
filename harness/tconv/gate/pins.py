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
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS
from tconv.expectation.problem import shared_problem
from tconv.gate.answers import (
    collect_results,
    find_deciding_questions,
    find_possible_answers,
    is_disputed_refusal,
    list_readings,
)
from tconv.gate.status import ReadingChanged
from tconv.gate.waivers import Pin
from tconv.learning.shared_facts import IDENTITY
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
        return find_possible_answers(self.problem, self.record.verdict)


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


def find_answered(run: Run, find: Callable[[str], Case | None]) -> Iterator[Answered]:
    """Yield the answers of a run to questions that its text answers in several ways.

    What the backend does not answer itself is left out, and so are values that nothing is known of.
    """
    supplied = set(run.header.backend.supplied)
    for record in run.records:
        if isinstance(record.verdict, ver.Allowed) and (case := find(record.case)) is not None:
            problem = shared_problem(case, run.dialect)
            if questions := find_deciding_questions(problem.expectation, record.verdict) - supplied:
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
    for one in find_answered(run, find):
        record = one.record
        if is_disputed_refusal(record.verdict) and active.assign_status(record, facts[record.case]).waiver:
            continue
        holding = {pin.question: pin for pin in reversed(active.pins) if pin.covers(record.case, facts[record.case])}
        of_case = {question: pin for question, pin in holding.items() if question in one.questions}
        unpinned |= one.questions.difference(of_case)
        touched.update(map(id, of_case.values()))
        if of_case:
            by_case[record.case] = {question: pin.answer(run.dialect) for question, pin in of_case.items()}
            if change := _find_changes(one, of_case, run.dialect):
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


def _find_changes(one: Answered, pins: Mapping[str, Pin], dialect: Dialect) -> list[tuple[Pin, str]]:
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
    return next(name for name, other in list_readings(question, dialect).items() if other == answer)


def _changed(verdict: ver.Verdict, pin: Pin, now: str) -> ReadingChanged:
    """Return that an answer follows another reading than the pinned one."""
    assert isinstance(verdict, ver.Allowed)  # noqa: S101 - as above
    choices = verdict.choices if isinstance(verdict, ver.Disputed) else ()
    return ReadingChanged(pin.question, pin.reading, now, choices, verdict.rule)


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
    covered = (case for case in cases if pin.covers(case.id, case.facts))
    decisive = [case for case in covered if _decides(shared_problem(case, dialect), pin.question, wanted)]
    return heapq.nsmallest(most, decisive, key=lambda case: (has_entry(case), case.simplicity))


def _decides(problem: Problem, question: str, answer: str) -> bool:
    if problem.values is None or not {question}.issuperset(problem.values.open_constraints):
        # A refusal may have another reason there.
        return False
    by_answer = collect_results(problem.values, question)
    others = [results for other, results in by_answer.items() if other != answer]
    return answer in by_answer and bool(others) and all(map(by_answer[answer].isdisjoint, others))


def follows_pin(record: Record, case: Case, pin: Pin, dialect: Dialect) -> bool:
    """Return whether a case may have been answered by the pinned reading."""
    if not isinstance(record.verdict, ver.Allowed):
        return False
    possible = find_possible_answers(shared_problem(case, dialect), record.verdict)
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
    """A case that a question decides: its id, its facts, and the answers that give what the backend did."""

    case: str
    facts: Mapping[str, str]
    answers: frozenset[str]

    def pin_of(self, pins: Sequence[Pin]) -> Pin | None:
        """Return the pin that is for the case."""
        return next((pin for pin in pins if pin.covers(self.case, self.facts)), None)


def choose_pins(run: Run, find: Callable[[str], Case | None], active: ActiveEntries) -> ChosenPins:
    """Return pins for the answers of a run that pass or are disputed.

    Args:
        run: the records.
        find: returns a case by its id.
        active: the entries that hold for the backend. A waiver may know another reason for a refusal than a reading. If
            all answers to a question follow the pins, these stay as they are.
    """
    seen = [
        (one.problem.case, one.questions, list(one.possible))
        for one in find_answered(run, find)
        if active.assign_status(one.record, one.problem.case.facts).waiver is None
    ]
    chosen = ChosenPins([], [])
    order = (*QUESTIONS, *CONSTRAINTS)
    for question in sorted({question for _, questions, _ in seen for question in questions}, key=order.index):
        readings = {answer: name for name, answer in list_readings(question, run.dialect).items()}
        of_question = [
            _Seen(case.id, case.facts, frozenset(answers.get(question, "") for answers in possible))
            for case, questions, possible in seen
            if question in questions and possible
        ]
        own = [pin for pin in active.pins if pin.question == question]
        if not own or not all(_follows(one, own, run.dialect) for one in of_question):
            parts = _parts(of_question, list(readings))
            if parts is None:
                chosen.mixed.append(question)
                continue
            own = [_pin(run, question, readings[answer], where) for where, answer in parts]
        counts = Counter(id(one.pin_of(own)) for one in of_question)
        chosen.pins.extend(ChosenPin(pin, counts[id(pin)]) for pin in own if counts[id(pin)])
        # Readings of several questions may give one output: what is chosen for this one decides which are left.
        for number, (case, questions, possible) in enumerate(seen):
            pin = _Seen(case.id, case.facts, frozenset()).pin_of(own) if question in questions else None
            if pin is not None:
                agreeing = [each for each in possible if each.get(question, "") in {"", pin.answer(run.dialect)}]
                seen[number] = case, questions, agreeing
    return chosen


def _follows(one: _Seen, pins: Sequence[Pin], dialect: Dialect) -> bool:
    pin = one.pin_of(pins)
    return pin is not None and not one.answers.isdisjoint({"", pin.answer(dialect)})


def _pin(run: Run, question: str, reading: str, where: Mapping[str, Any]) -> Pin:
    scope = {"where": dict(where)} if where else {}
    return Pin.model_validate({"dialects": [run.header.dialect], "question": question, "reading": reading, **scope})


def _parts(seen: Sequence[_Seen], answers: Sequence[str]) -> list[tuple[dict[str, Any], str]] | None:
    """Return conditions, each with the one answer that all of its cases have; None if no facts tell them apart."""
    if (answer := _shared(seen, answers)) is not None:
        return [({}, answer)]
    # An attribute that is not written is a fact too.
    common = set(seen[0].facts).intersection(*(one.facts for one in seen))
    names = sorted(common.union(ATTRIBUTES).difference(IDENTITY))
    for size in (1, 2):
        found = [parts for chosen in combinations(names, size) if (parts := _by_facts(seen, chosen, answers))]
        if found:
            return min(found, key=lambda parts: (len(parts), str(parts)))
    return None


def _by_facts(
    seen: Sequence[_Seen], names: Sequence[str], answers: Sequence[str]
) -> list[tuple[dict[str, Any], str]] | None:
    """Return the conditions on these facts under which the answer is always the same; None if there are none."""
    by_values: dict[tuple[str, ...], list[_Seen]] = defaultdict(list)
    for one in seen:
        by_values[tuple(one.facts.get(name, label(None)) for name in names)].append(one)
    if len(by_values) > len(seen) // 2:
        # Facts that nearly every case has for itself say which case it is.
        return None
    of_answer: dict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for values, members in sorted(by_values.items()):
        if (answer := _shared(members, answers)) is None:
            return None
        of_answer[values[:-1], answer].append(values[-1])
    if len(of_answer) > _MOST_PARTS:
        return None
    return [
        (
            {name: _typed(text) for name, text in zip(names, first, strict=False)}
            | {names[-1]: list(map(_typed, last)) if len(last) > 1 else _typed(last[0])},
            answer,
        )
        for (first, answer), last in of_answer.items()
    ]


def _typed(text: str) -> str | int | bool | None:
    """Return the value of a fact as a person would write it."""
    if text == label(None):
        return None
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def _shared(seen: Sequence[_Seen], answers: Sequence[str]) -> str | None:
    """Return the answer that all cases allow, the one that most cases show before others; None if there is none."""
    allowed = [answer for answer in answers if all(answer in one.answers or "" in one.answers for one in seen)]
    shown = Counter(answer for one in seen if len(one.answers) == 1 for answer in one.answers)
    return max(allowed, key=lambda answer: shown[answer], default=None)


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
            counts[_key(*new[-1])] = cases
    kept = [one for one in old if one not in replaced]
    lines = list(
        _describe_changes({_key(*one): one[1] for one in replaced}, {_key(*one): one[1] for one in new}, counts)
    )
    return PinChanges(_with_block(document, text, _joined([*kept, *new])), lines)


_Key = tuple[str, str]
"""A dialect, and a question with the cases."""


def _key(dialect: str, pin: Pin) -> _Key:
    return dialect, f"{pin.question} {pin.words}".strip()


def _describe_changes(old: dict[_Key, Pin], new: dict[_Key, Pin], counts: Mapping[_Key, int]) -> Iterator[str]:
    for key in old | new:
        dialect, asked = key
        was, now = (pins[key].reading if key in pins else "" for pins in (old, new))
        cases = f"{counts.get(key, 0)} {'case' if counts.get(key, 0) == 1 else 'cases'}"
        if not was:
            yield f"new      {dialect}  {asked}: {now} ({cases})"
        elif not now:
            yield f"removed  {dialect}  {asked}: was {was}"
        elif was != now:
            yield f"changed  {dialect}  {asked}: was {was}, is {now} ({cases})"


def _joined(pins: Sequence[tuple[str, Pin]]) -> list[Pin]:
    """Return pins that are alike but for their dialect as one, in the order of their questions."""
    dialects: dict[str, list[str]] = defaultdict(list)
    first: dict[str, Pin] = {}
    for name, pin in pins:
        alike = pin.model_dump_json(exclude={"dialects"})
        dialects[alike].append(name)
        first.setdefault(alike, pin)
    joined = [pin.model_copy(update={"dialects": dialects[alike]}) for alike, pin in first.items()]
    order = (*QUESTIONS, *CONSTRAINTS)
    return sorted(joined, key=lambda pin: (order.index(pin.question), pin.dialects, pin.words))


def _with_block(document: Document, text: str, pins: Sequence[Pin]) -> str:
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
        block += [*comments.pop(pin.question, []), _entry(pin)]
    block += [line for of_removed in comments.values() for line in of_removed] + waiting
    return "\n".join([*lines[:start], *block, *lines[end:]]) + "\n"


_COMMENT = re.compile(r"(?:^|\s)(#.*)$")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_QUESTION = re.compile(r"\bquestion: *['\"]?(\w[\w-]*)")


def _entry(pin: Pin) -> str:
    """Return the line of a pin."""
    plain = pin.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    names = ("question", "reading", "dialects")
    ordered = {name: plain[name] for name in names} | {
        name: value for name, value in plain.items() if name not in names
    }
    text = yaml.safe_dump(ordered, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return f"  - {text.strip()}"

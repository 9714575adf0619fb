"""Pins made from records, and written into a waiver file so that none of its comments is lost."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tconv.cases.patterns import label
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS
from tconv.gate.answers import readings_of
from tconv.gate.pins import answered
from tconv.gate.waivers import Pin
from tconv.learning.shared_facts import IDENTITY
from tconv.vocabulary import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.documents import Document
    from tconv.gate.active_entries import ActiveEntries
    from tconv.gate.waivers import WaiverFile
    from tconv.records.headers import BackendHeader
    from tconv.records.record_file import Run

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
        for one in answered(run, find)
        if active.status_of(one.record, one.problem.case.facts).waiver is None
    ]
    chosen = ChosenPins([], [])
    order = (*QUESTIONS, *CONSTRAINTS)
    for question in sorted({question for _, questions, _ in seen for question in questions}, key=order.index):
        readings = {answer: name for name, answer in readings_of(question, run.dialect).items()}
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
    lines = list(_changes({_key(*one): one[1] for one in replaced}, {_key(*one): one[1] for one in new}, counts))
    return PinChanges(_with_block(document, text, _joined([*kept, *new])), lines)


_Key = tuple[str, str]
"""A dialect, and a question with the cases."""


def _key(dialect: str, pin: Pin) -> _Key:
    return dialect, f"{pin.question} {pin.words}".strip()


def _changes(old: dict[_Key, Pin], new: dict[_Key, Pin], counts: Mapping[_Key, int]) -> Iterator[str]:
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

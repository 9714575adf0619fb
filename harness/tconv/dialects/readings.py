"""Readings: named changes of a dialect's answers, and which of them a case can tell apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from tconv.dialects.geometry import resolution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.dialects.rules import Answer, Rules
    from tconv.errors import Violation
    from tconv.vocabulary import Signature


@dataclass(frozen=True, slots=True)
class AnswerOtherwise:
    """The change that answers one question of the rules otherwise."""

    question: str
    answer: Answer


Change = AnswerOtherwise
"""What a reading changes. A misreading of operands or result is one more member of this union."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A named reading of a text.

    Attributes:
        name: stable, readable; it stands in records and waivers.
        says: the reading in one sentence.
        cites: the words of the text, or the place in the wild, that it rests on.
        change: what it changes.
    """

    name: str
    says: str
    cites: str
    change: Change


@dataclass(frozen=True, slots=True, order=True)
class Together:
    """Readings, or misreadings, that are followed together. A record has their names in one text, joined by ` + `."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return _JOINT.join(self.names)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what a record's text says."""
        return cls(tuple(text.split(_JOINT)))


_JOINT = " + "


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a signature comes to under some readings, none for the primary ones."""

    readings: tuple[str, ...]
    result: Geometry | Violation


@dataclass(frozen=True, slots=True)
class Branch:
    """What a signature comes to when every question that is put and has several answers is answered in one way.

    Attributes:
        readings: the names of the readings that are followed.
        answers: the answer to each of these questions, primary or not, in the order in which they are put.
        result: the geometry, or why there is none.
    """

    readings: tuple[str, ...]
    answers: Mapping[str, Answer]
    result: Geometry | Violation


_NONE: Mapping[str, Answer] = MappingProxyType({})


def applied(rules: Rules, readings: Iterable[Reading]) -> Rules:
    """Return `rules` with every reading's answer put in."""
    changes: dict[str, Any] = {reading.change.question: reading.change.answer for reading in readings}
    return replace(rules, **changes) if changes else rules


def told_apart(signature: Signature, rules: Rules, disputed: Sequence[Reading]) -> tuple[Resolved, ...]:
    """Return every distinct result of the product of readings, the primary first, then the fewest readings first.

    Readings of several questions are tried as a product, but a question is branched on only where the resolver puts
    it, so that a plain case costs one resolution.
    """
    found: dict[Geometry | Violation, tuple[str, ...]] = {}
    for branch in sorted(branches(signature, rules, disputed), key=lambda branch: len(branch.readings)):
        found.setdefault(branch.result, branch.readings)
    return tuple(Resolved(readings, result) for result, readings in found.items())


def branches(
    signature: Signature,
    rules: Rules,
    readings: Sequence[Reading],
    chosen: tuple[Reading, ...] = (),
    answers: Mapping[str, Answer] = _NONE,
) -> Iterator[Branch]:
    """Yield what comes of every combination of answers to the questions that the resolver puts.

    Args:
        signature: attributes and operand types.
        rules: the primary answers.
        readings: other answers to some questions, of one text or of all.
        chosen: the readings that are followed already.
        answers: the answers that are given already.
    """
    resolved = resolution(signature, applied(rules, chosen))
    disputed = {reading.change.question for reading in readings}
    question = next((question for question in resolved.questions if question in disputed), None)
    if question is None:
        yield Branch(tuple(reading.name for reading in chosen), answers, resolved.result)
        return
    others = tuple(reading for reading in readings if reading.change.question != question)
    yield from branches(signature, rules, others, chosen, {**answers, question: getattr(rules, question)})
    for reading in readings:
        if reading.change.question == question:
            answered = {**answers, question: reading.change.answer}
            yield from branches(signature, rules, others, (*chosen, reading), answered)

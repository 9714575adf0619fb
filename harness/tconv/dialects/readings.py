"""Readings: named changes of a dialect's answers, and the distinct results that they give for a signature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from tconv.dialects.geometry import resolution
from tconv.dialects.rules import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.dialects.geometry import Geometry, Resolution
    from tconv.dialects.rules import Answer, Rules
    from tconv.errors import Violation
    from tconv.vocabulary import Signature


@dataclass(frozen=True, slots=True)
class AnswerOtherwise:
    """The change that gives another answer to a question of the rules."""

    question: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Reading:
    """A named reading of a text.

    A text disputes a question only where no sentence of it denies the other answer, or where two of its sentences about
    the situation deny each other. A sentence about the situation is stronger than one that speaks in general.

    Attributes:
        name: stable, readable; it stands in records and waivers.
        change: what it changes.
        cites: the words of the text that it rests on; empty where no text allows it.
        against: the words of the text that the primary reading rests on and that deny this one; empty where none do.
    """

    name: str
    change: AnswerOtherwise
    cites: str
    against: str = ""

    @property
    def says(self) -> str:
        """The reading in words."""
        return in_words(self.change.question, self.change.answer)


@dataclass(frozen=True, slots=True, order=True)
class Combination:
    """Readings, or misreadings, that are followed together. A record has their names in one text, joined by ` + `."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return _JOINT.join(self.names)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the names in a record's text."""
        return cls(tuple(text.split(_JOINT)))


_JOINT = " + "


@dataclass(frozen=True, slots=True)
class Resolved:
    """The result of a signature under some readings; no readings stand for the primary ones.

    Attributes:
        readings: the names of the readings.
        result: the geometry, or why there is none.
        alike: other readings that have the same result, each as names that are followed together.
    """

    readings: tuple[str, ...]
    result: Geometry | Violation
    alike: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """The result of a signature under one combination of answers to the questions that have several.

    Attributes:
        readings: the names of the readings that are followed.
        answers: the answer to each of these questions, primary or not, in the order in which they are asked.
        result: the geometry, or why there is none.
    """

    readings: tuple[str, ...]
    answers: Mapping[str, Answer]
    result: Geometry | Violation


_NO_ANSWERS: Mapping[str, Answer] = MappingProxyType({})


def apply_readings(rules: Rules, readings: Iterable[Reading]) -> Rules:
    """Return `rules` with the answers of these readings."""
    changes: dict[str, Any] = {reading.change.question: reading.change.answer for reading in readings}
    return replace(rules, **changes) if changes else rules


def distinct_results(signature: Signature, rules: Rules, disputed: Sequence[Reading]) -> tuple[Resolved, ...]:
    """Return every distinct result of the product of readings, the primary first, then the fewest readings first.

    Readings of several questions are combined, but only those of questions that the resolver asks, so that a plain
    case costs one resolution.
    """
    return results_of(branches(signature, rules, disputed))


def results_of(every: Iterable[Branch]) -> tuple[Resolved, ...]:
    """Return the distinct results of branches, as `distinct_results` does."""
    results: dict[Geometry | Violation, list[tuple[str, ...]]] = {}
    for branch in sorted(every, key=lambda branch: len(branch.readings)):
        giving = results.setdefault(branch.result, [])
        # What fewer readings give needs no more of them.
        if not any(set(fewer) <= set(branch.readings) for fewer in giving):
            giving.append(branch.readings)
    return tuple(Resolved(first, result, tuple(alike)) for result, (first, *alike) in results.items())


def branches(
    signature: Signature,
    rules: Rules,
    readings: Sequence[Reading],
    chosen: tuple[Reading, ...] = (),
    answers: Mapping[str, Answer] = _NO_ANSWERS,
    known: Resolution | None = None,
) -> Iterator[Branch]:
    """Yield the result of every combination of answers to the questions that the resolver asks.

    Args:
        signature: attributes and operand types.
        rules: the primary answers.
        readings: other answers to some questions, of one text or of all.
        chosen: the readings that are already chosen.
        answers: the answers that are already given.
        known: the resolution under the chosen readings, where it is at hand.
    """
    resolved = known or resolution(signature, apply_readings(rules, chosen))
    questions = resolved.questions
    question = next((question for question in questions if any(r.change.question == question for r in readings)), None)
    if question is None:
        yield Branch(tuple(reading.name for reading in chosen), answers, resolved.result)
        return
    others = tuple(reading for reading in readings if reading.change.question != question)
    yield from branches(signature, rules, others, chosen, {**answers, question: getattr(rules, question)}, resolved)
    for reading in readings:
        if reading.change.question == question:
            answered = {**answers, question: reading.change.answer}
            yield from branches(signature, rules, others, (*chosen, reading), answered)

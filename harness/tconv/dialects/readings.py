"""Readings: named changes of a dialect's answers, and their distinct results for a signature."""

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
    """Another answer to a question of the rules."""

    question: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Reading:
    """A named reading of a text.

    A reading is disputed only if no sentence of the text denies it, or if two sentences about the situation contradict
    each other. A sentence about the situation is stronger than a general one.

    Attributes:
        name: a stable, readable name for records and waivers.
        change: the other answer.
        cites: the words of the text that allow it; empty if no text does.
        against: the words of the text for the primary reading that deny this one; empty if there are none.
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
    """Readings or misreadings that are followed together. In a record their names are one text, joined by ` + `."""

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
    """The result of a signature under some readings.

    Attributes:
        readings: the names of the readings; empty for the primary ones.
        result: the geometry, or why there is none.
        alike: other readings with the same result, each as names that are followed together.
    """

    readings: tuple[str, ...]
    result: Geometry | Violation
    alike: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """The result of a signature under one combination of answers to the questions that have several.

    Attributes:
        readings: the names of the readings that are followed.
        answers: the answer to each of these questions, in the order in which they are asked.
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


def results_of(every: Iterable[Branch]) -> tuple[Resolved, ...]:
    """Return every distinct result of branches, the primary one first, then those of the fewest readings."""
    results: dict[Geometry | Violation, list[tuple[str, ...]]] = {}
    for branch in sorted(every, key=lambda branch: len(branch.readings)):
        giving = results.setdefault(branch.result, [])
        # More readings are not needed if fewer of them give the same result.
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

    Only readings of questions that the resolver asks are combined, so a plain case costs one resolution.

    Args:
        signature: attributes and operand types.
        rules: the primary answers.
        readings: other answers to some questions, of one text or of all.
        chosen: the readings that are already chosen.
        answers: the answers that are already given.
        known: the resolution under the chosen readings; None: it is computed.
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

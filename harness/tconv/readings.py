"""Readings: named changes of a dialect's answers, and which of them a case can tell apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from tconv.geometry import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.geometry import Geometry, NoGeometry
    from tconv.rules import Answer, Rules
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


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a signature comes to under some readings, none for the primary ones."""

    readings: tuple[str, ...]
    result: Geometry | NoGeometry


class _Overheard:
    """Rules that note which questions were put."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.asked: list[str] = []

    def __getattr__(self, question: str) -> Any:  # noqa: ANN401 - the type of the field that is asked for
        if question not in self.asked:
            self.asked.append(question)
        return getattr(self._rules, question)


def applied(rules: Rules, readings: Iterable[Reading]) -> Rules:
    """Return `rules` with every reading's answer put in."""
    changes: dict[str, Any] = {reading.change.question: reading.change.answer for reading in readings}
    return replace(rules, **changes) if changes else rules


def told_apart(signature: Signature, rules: Rules, disputed: Sequence[Reading]) -> tuple[Resolved, ...]:
    """Return every distinct result of the product of readings, the primary first, then the fewest readings first.

    Readings of several questions are tried as a product, but a question is branched on only where the resolver puts
    it, so that a plain case costs one resolution.
    """
    found: dict[Geometry | NoGeometry, tuple[str, ...]] = {}
    for resolved in sorted(_branches(signature, rules, tuple(disputed), ()), key=lambda r: len(r.readings)):
        found.setdefault(resolved.result, resolved.readings)
    return tuple(Resolved(readings, result) for result, readings in found.items())


def _branches(
    signature: Signature, rules: Rules, open_readings: tuple[Reading, ...], chosen: tuple[Reading, ...]
) -> Iterator[Resolved]:
    overheard = _Overheard(applied(rules, chosen))
    result = resolve(signature, cast("Rules", overheard))
    asked = next((q for q in overheard.asked if any(r.change.question == q for r in open_readings)), None)
    if asked is None:
        yield Resolved(tuple(reading.name for reading in chosen), result)
        return
    settled = tuple(reading for reading in open_readings if reading.change.question != asked)
    yield from _branches(signature, rules, settled, chosen)
    for reading in open_readings:
        if reading.change.question == asked:
            yield from _branches(signature, rules, settled, (*chosen, reading))

"""Where a text contradicts itself, and where a backend contradicts its text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.diagnosis import single_explanations
from tconv.dialects import Open
from tconv.dialects.constraints import CONSTRAINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.dialects import Dialect
    from tconv.dialects.readings import Together
    from tconv.gate.waivers import Waiver
    from tconv.records.record import Record
    from tconv.reports.atlas.runs import AtlasRun


_NAMED = 3
"""Explanations of a deviation that are listed."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a text says in two ways.

    Attributes:
        dialect: the dialect of the text.
        about: the disputed reading, the constraint, or what else is in question.
        says: the reading, the question, or the meaning that the dialect gives to the words.
        supports: the sentence for it.
        denies: the sentence against it; empty where none denies it.
    """

    dialect: Dialect
    about: str
    says: str
    supports: str
    denies: str


@dataclass(frozen=True, slots=True)
class UsedWaiver:
    """A waiver that was used: what a backend does against its text, and the misreadings that explain it.

    `count` is None for a waiver of other machines than the run's: the run could not ask.
    """

    run: AtlasRun
    waiver: Waiver
    count: int | None
    explained: tuple[Together, ...]


def contradictions(dialects: Sequence[Dialect]) -> Iterator[Contradiction]:
    """Yield every disputed reading, every constraint whose clauses conflict, and every other ambiguity of the texts."""
    for dialect in dialects:
        for reading in dialect.disputed:
            yield Contradiction(dialect, reading.name, reading.says, reading.cites, reading.against)
        for ambiguity in dialect.ambiguities:
            yield Contradiction(dialect, ambiguity.about, ambiguity.decision, ambiguity.words, ambiguity.against)
        for constraint, answer in dialect.constraints.items():
            if isinstance(answer, Open) and " against " in answer.clause:
                supports, _, denies = answer.clause.partition(" against ")
                asks = f"Must this hold: {CONSTRAINTS[constraint].says}?"
                yield Contradiction(dialect, constraint, asks, supports, denies)


def used_waivers(runs: Sequence[AtlasRun]) -> Iterator[UsedWaiver]:
    """Yield every waiver that was used, run by run, the most used first, and those for other machines after them."""
    for run in runs:
        uses: dict[str, tuple[Waiver, list[Record]]] = {}
        for member in run.assessment.statuses:
            if member.waiver is not None:
                uses.setdefault(member.waiver.name, (member.waiver, []))[1].append(member.record)
        for waiver, records in sorted(uses.values(), key=lambda use: -len(use[1])):
            explanations = Counter(single_explanations({record.case: record.diagnosis for record in records}).values())
            explained = tuple(together for together, _ in explanations.most_common(_NAMED))
            yield UsedWaiver(run, waiver, len(records), explained)
        for waiver in run.assessment.elsewhere:
            yield UsedWaiver(run, waiver, None, ())

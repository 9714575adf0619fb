"""Where a text contradicts itself, and where a backend contradicts its text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.diagnosis import shared
from tconv.dialects import Open
from tconv.dialects.constraints import CONSTRAINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.dialects import Dialect
    from tconv.dialects.readings import Together
    from tconv.gate.waivers import Waiver
    from tconv.records.record_file import Record
    from tconv.reports.atlas.runs import AtlasRun


_NAMED = 3
"""Explanations of a deviation that are listed."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two clauses of one text that do not agree: the primary one, and the other with what follows from it."""

    dialect: Dialect
    about: str
    primary: str
    other: str
    says: str


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
    """Yield every disputed reading with the clause of the primary one, and every constraint whose clauses conflict."""
    for dialect in dialects:
        for reading in dialect.disputed:
            primary = dialect.cites[reading.change.question]
            yield Contradiction(dialect, reading.change.question, primary, reading.cites, reading.says)
        for constraint, answer in dialect.constraints.items():
            if isinstance(answer, Open) and " against " in answer.clause:
                first, _, second = answer.clause.partition(" against ")
                yield Contradiction(
                    dialect, constraint, first, second, f"Must this hold: {CONSTRAINTS[constraint].says}?"
                )


def used_waivers(runs: Sequence[AtlasRun]) -> Iterator[UsedWaiver]:
    """Yield every waiver that was used, run by run, the most used first, and those for other machines after them."""
    for run in runs:
        uses: dict[str, tuple[Waiver, list[Record]]] = {}
        for judged in run.assessment.judged:
            if judged.waiver is not None:
                uses.setdefault(judged.waiver.name, (judged.waiver, []))[1].append(judged.record)
        for waiver, records in sorted(uses.values(), key=lambda use: -len(use[1])):
            explanations = Counter(shared({record.case: record.diagnosis for record in records}).values())
            explained = tuple(together for together, _ in explanations.most_common(_NAMED))
            yield UsedWaiver(run, waiver, len(records), explained)
        for waiver in run.assessment.elsewhere:
            yield UsedWaiver(run, waiver, None, ())

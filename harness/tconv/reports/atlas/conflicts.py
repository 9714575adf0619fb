"""Where a text contradicts itself, and where a backend contradicts its text."""

from __future__ import annotations

from collections import Counter, defaultdict
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
    from tconv.reports.atlas.source import Source


_NAMED = 3
"""Misreadings that are named of one deviation."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two sentences of one text that do not agree."""

    dialect: Dialect
    about: str
    primary: str
    other: str
    says: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """A waiver that was used: what a backend does against its text, and the misreadings that explain it."""

    source: Source
    waiver: Waiver
    count: int
    explained: tuple[Together, ...]


def contradictions(dialects: Sequence[Dialect]) -> Iterator[Contradiction]:
    """Yield every reading of a text that stands against the one taken as primary."""
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


def deviations(sources: Sequence[Source]) -> Iterator[Deviation]:
    """Yield every waiver that was used, by run, the most used first."""
    for source in sources:
        used = Counter(judged.waiver.name for judged in source.assessment.judged if judged.waiver is not None)
        waivers = {
            judged.waiver.name: judged.waiver for judged in source.assessment.judged if judged.waiver is not None
        }
        diagnoses: dict[str, dict[str, tuple[Together, ...]]] = defaultdict(dict)
        for judged in source.assessment.judged:
            if judged.waiver is not None:
                diagnoses[judged.waiver.name][judged.record.case] = judged.record.diagnosis
        for name, count in used.most_common():
            explained = Counter(shared(diagnoses[name]).values())
            yield Deviation(source, waivers[name], count, tuple(cause for cause, _ in explained.most_common(_NAMED)))

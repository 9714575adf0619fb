"""What the atlas says, put together from the rules, the corpus and records; nothing in it is written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.comparison.porting import alike
from tconv.dialects import DIALECTS, GEOMETRY_1
from tconv.reports.atlas.conflicts import Contradiction, Deviation, contradictions, deviations
from tconv.reports.atlas.matrix import Clause, clauses
from tconv.reports.atlas.ports import Pair, pairs
from tconv.reports.atlas.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment


@dataclass(frozen=True, slots=True)
class Atlas:
    """Everything that the atlas says."""

    sources: tuple[Source, ...]
    clauses: tuple[Clause, ...]
    pairs: tuple[Pair, ...]
    same: Mapping[Dialect, Sequence[Dialect]]
    contradictions: tuple[Contradiction, ...]
    deviations: tuple[Deviation, ...]

    @property
    def red(self) -> tuple[Source, ...]:
        """The runs that are not green: what the atlas says of them is not all that there is."""
        return tuple(source for source in self.sources if source.assessment.red)


def atlas(assessments: Sequence[Assessment], corpus: Corpus) -> Atlas:
    """Return the atlas of some runs.

    Args:
        assessments: the runs, through the gate.
        corpus: what their ids are of.
    """
    sources = tuple(
        Source(f"{run.header.backend.name} {run.header.backend.version}", run.dialect, assessment)
        for assessment in assessments
        for run in [assessment.run]
    )
    dialects = [dialect for dialect in DIALECTS.values() if dialect is not GEOMETRY_1]
    same = alike(dialects)
    return Atlas(
        sources,
        tuple(clauses(sources, corpus, dialects)),
        tuple(pairs(sources, corpus, same)),
        same,
        tuple(contradictions(dialects)),
        tuple(deviations(sources)),
    )

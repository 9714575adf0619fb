"""What the atlas says, put together from the rules, the corpus and records; nothing in it is written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.comparison.porting import alike
from tconv.dialects import DIALECTS
from tconv.reports.atlas.conflicts import Contradiction, Deviation, contradictions, deviations
from tconv.reports.atlas.matrix import NO_TEXT, Clause, clauses
from tconv.reports.atlas.ports import Pair, pairs
from tconv.reports.atlas.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.corpus import Corpus
    from tconv.gate.assessment import Assessment


@dataclass(frozen=True, slots=True)
class Atlas:
    """Everything that the atlas says."""

    sources: tuple[Source, ...]
    clauses: tuple[Clause, ...]
    pairs: tuple[Pair, ...]
    same: Mapping[str, Sequence[str]]
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
        Source(f"{run.header.backend.name} {run.header.backend.version}", run.header.dialect, assessment)
        for assessment in assessments
        for run in [assessment.run]
    )
    names = [name for name in DIALECTS if name != NO_TEXT]
    same = alike(names)
    return Atlas(
        sources,
        tuple(clauses(sources, corpus, names)),
        tuple(pairs(sources, corpus, same)),
        same,
        tuple(contradictions(names)),
        tuple(deviations(sources)),
    )

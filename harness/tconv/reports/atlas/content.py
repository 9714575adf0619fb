"""The content of the atlas, made from the rules, the corpus and records; nothing in it is written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.backends.machine import VARIABLES
from tconv.comparison.porting import alike
from tconv.dialects import DIALECTS, GEOMETRY_1
from tconv.learning import sheet
from tconv.reports.atlas.conflicts import Contradiction, UsedWaiver, contradictions, used_waivers
from tconv.reports.atlas.matrix import Question, questions
from tconv.reports.atlas.porting import Pair, pairs
from tconv.reports.atlas.runs import AtlasRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.learning import SheetLine


@dataclass(frozen=True, slots=True)
class Atlas:
    """The content of the atlas.

    `same` are the dialects that another one stands for; `rules` are what runtimes compute otherwise than their texts.
    """

    runs: tuple[AtlasRun, ...]
    questions: tuple[Question, ...]
    pairs: tuple[Pair, ...]
    same: Mapping[Dialect, Sequence[Dialect]]
    contradictions: tuple[Contradiction, ...]
    deviations: tuple[UsedWaiver, ...]
    rules: tuple[tuple[AtlasRun, SheetLine], ...]

    @property
    def red(self) -> tuple[AtlasRun, ...]:
        """The runs that are not green: they have failures that the atlas does not show."""
        return tuple(run for run in self.runs if run.assessment.red)

    @property
    def machines(self) -> Mapping[str, Sequence[str]]:
        """The names of the backends that ran on each machine, in the order of the runs."""
        backends: dict[str, dict[str, None]] = {}
        for run in self.runs:
            backends.setdefault(run.machine, {})[run.name] = None
        return {machine: list(names) for machine, names in backends.items()}


def atlas(assessments: Sequence[Assessment], corpus: Corpus) -> Atlas:
    """Return the atlas of runs.

    Args:
        assessments: the runs, judged by the gate.
        corpus: the corpus of their cases.
    """
    runs = tuple(map(_run, assessments))
    dialects = [dialect for dialect in DIALECTS.values() if dialect is not GEOMETRY_1]
    same = alike(dialects)
    return Atlas(
        runs,
        tuple(questions(runs, corpus, dialects)),
        tuple(pairs(runs, corpus, same)),
        same,
        tuple(contradictions(dialects)),
        tuple(used_waivers(runs)),
        tuple((run, line) for run in runs for line in _sheet(run, corpus) if line.deviates),
    )


def _sheet(run: AtlasRun, corpus: Corpus) -> tuple[SheetLine, ...]:
    return sheet(run.assessment.run.records, corpus.find, run.dialect)


def _run(assessment: Assessment) -> AtlasRun:
    backend = assessment.run.header.backend
    # Runs of one backend with other kernels are told apart by what chose these.
    chosen = [backend.environment[name] for name in VARIABLES if name in backend.environment]
    level = f" ({', '.join(chosen)})" if chosen else ""
    return AtlasRun(f"{backend.title}{level}", assessment.run.dialect, assessment)

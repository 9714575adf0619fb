"""The report of several runs: one value, which every format renders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.gate.reasons import CasesFailed, CasesUndeclared
from tconv.gate.status import Status
from tconv.reports.between_runs.comparing import run_names
from tconv.reports.between_runs.pairing import compare_pairs
from tconv.reports.causes import find_causes
from tconv.reports.notes import find_notes, find_record_notes
from tconv.reports.red import BecameWorse, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs.comparing import Comparison
    from tconv.reports.causes import Cause
    from tconv.reports.notes import Note, RecordNote
    from tconv.reports.red import Reason

_CAUSELESS = {Status.PASSED, Status.NOT_APPLICABLE}


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The report of one run.

    Attributes:
        assessment: the gate's assessment of the run.
        name: a name that no other run of the report has.
        causes: the causes of its records, the largest first, for each status that has records and needs causes.
        notes: notes on how it was made and judged.
        record_notes: notes on records that are not failures.
        since: the changes of its cases since a baseline; None without a baseline.
    """

    assessment: Assessment
    name: str
    causes: Mapping[Status, Sequence[Cause]]
    notes: Sequence[Note]
    record_notes: Sequence[RecordNote]
    since: Comparison | None = None

    @property
    def reasons(self) -> Sequence[Reason]:
        """Why it is red; none if it is green."""
        worse = [BecameWorse(self.since)] if self.since is not None and self.since.worse else []
        return [*self.assessment.red, *worse]

    @property
    def red(self) -> list[str]:
        """Why it is red, a sentence for each reason."""
        return [sentence(reason, self.assessment) for reason in self.reasons]

    @property
    def red_beyond_failures(self) -> list[str]:
        """Why it is red apart from failed cases, a sentence for each reason."""
        others = (reason for reason in self.reasons if not isinstance(reason, CasesFailed | CasesUndeclared))
        return [sentence(reason, self.assessment) for reason in others]


@dataclass(frozen=True)
class Report:
    """The report of several runs.

    Attributes:
        runs: the runs.
    """

    runs: Sequence[RunReport]

    @property
    def is_red(self) -> bool:
        """Whether a run is red."""
        return any(run.reasons for run in self.runs)

    @property
    def comparisons(self) -> Iterator[Comparison]:
        """The changes of the cases of runs since their baselines."""
        return (run.since for run in self.runs if run.since is not None)


def make_report(assessments: Sequence[Assessment], baseline: Sequence[Assessment] = ()) -> Report:
    """Return the report of runs, compared with older ones if there are some.

    Raises:
        UsageError: the runs and the baseline do not have the same backends and dialects.
    """
    runs = _run_reports(assessments)
    if not baseline:
        return Report(runs)
    since = compare_pairs(_run_reports(baseline), runs)
    return Report([replace(run, since=comparison) for run, comparison in zip(runs, since, strict=True)])


def _run_reports(assessments: Sequence[Assessment]) -> list[RunReport]:
    names = run_names(assessments)
    return [_run_report(each, name) for each, name in zip(assessments, names, strict=True)]


def _run_report(assessment: Assessment, name: str) -> RunReport:
    caused = [status for status in Status if status not in _CAUSELESS and assessment.counts[status]]
    return RunReport(
        assessment=assessment,
        name=name,
        causes={status: find_causes(assessment, status) for status in caused},
        notes=tuple(find_notes(assessment)),
        record_notes=find_record_notes(assessment),
    )

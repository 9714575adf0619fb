"""The report of several runs, each with what changed since a baseline: one value, which every format renders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.errors import UsageError
from tconv.gate.reasons import CasesFailed, CasesUndeclared
from tconv.gate.status import Status
from tconv.reports.between_runs.comparing import Comparison, compare, run_names
from tconv.reports.causes import find_causes
from tconv.reports.notes import find_notes, find_record_notes
from tconv.reports.red import BecameWorse, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.records.headers import RunHeader
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


def compare_pairs(old: Sequence[RunReport], new: Sequence[RunReport]) -> list[Comparison]:
    """Compare each new run with the old run of the same backend and dialect; their versions may differ.

    If there are several, the newest is taken, if possible one with the same options and the same cases.

    Raises:
        UsageError: a new run has no such old run, or one of several new runs is missing.
    """
    pairs = []
    for after in new:
        alike = [before for before in old if _asked(before) == _asked(after)]
        if not alike:
            raise _none(*_asked(after))
        pairs.append(compare(_newest(alike, after.assessment.run.header), after, len(alike)))
    keys = {_asked(after) for after in new}
    if len(new) > 1 and (without := [_asked(before) for before in old if _asked(before) not in keys]):
        name, dialect = without[0]
        raise UsageError(f"the new runs must have one of {name} in {dialect}, as the baseline has (got none)")
    return pairs


def refuse_unpaired(old: Sequence[Assessment], backends: Sequence[str], dialect: Dialect | None) -> None:
    """Refuse a baseline without a run of a backend that will be run: the run itself may take an hour.

    Args:
        old: the runs of the baseline.
        backends: the backends to run, as the command line names them.
        dialect: the dialect to ask them in; None means their own, which only they know.

    Raises:
        UsageError: a backend has no old run in this dialect, or in any dialect if it is None.
    """
    for backend in backends:
        # Only the backend itself knows the name of a user's own backend.
        if ":" not in backend and not any(
            backend in {before.run.header.backend.spec, before.run.header.backend.name}
            and dialect in {None, before.run.dialect}
            for before in old
        ):
            raise _none(backend, dialect.name if dialect else "its dialect")


def _newest(alike: Sequence[RunReport], header: RunHeader) -> RunReport:
    """Return the newest of the runs that are most similar to a new one: by options, and by the cases asked."""

    def likeness(before: RunReport) -> tuple[bool | str, ...]:
        was = before.assessment.run.header
        return (
            was.backend.options == header.backend.options,
            # A folder may have runs of tconv's own cases and of others, which have no case in common.
            bool(was.path) == bool(header.path),
            was.corpus == header.corpus or was.path == header.path,
            # A run of a pattern lacks most cases.
            was.patterns in {(), header.patterns},
            was.started,
        )

    return max(alike, key=likeness)


def _none(backend: str, dialect: str) -> UsageError:
    return UsageError(f"the baseline must have a run of {backend} in {dialect} (got none)")


def _asked(run: RunReport) -> tuple[str, str]:
    header = run.assessment.run.header
    return header.backend.name, header.dialect

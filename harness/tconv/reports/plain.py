"""A report as JSON values, for scripts. Its schema ships next to this module.

The format number increases if a change breaks scripts.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from tconv.gate.status import FAILING, Status
from tconv.records.headers import Difference  # noqa: TC001 - as above
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.notes import RecordNote  # noqa: TC001 - as above
from tconv.reports.red import name_of, sentence
from tconv.reports.words import EXPLAINED

if TYPE_CHECKING:
    from tconv.reports.between_runs.comparing import Comparison
    from tconv.reports.causes import Cause
    from tconv.reports.report import Report, RunReport


@dataclass(frozen=True, slots=True)
class Sentence:
    """A reason for red, or a note.

    Attributes:
        name: what it is about.
        text: a sentence for people.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CauseResult:
    """Records with a common cause.

    Attributes:
        status: their status.
        kinds: their kinds of verdict.
        what: what happens, in a line for people.
        count: how many they are.
        example: the id of the case that stands for them.
        cases: the ids of all of them, if they failed; else null.
    """

    status: Status
    kinds: tuple[str, ...]
    what: str
    count: int
    example: str
    cases: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What the terminal says of a run, whole.

    Attributes:
        backend, version, options, dialect, tier, patterns, shard: who was asked, and what.
        strict: whether accepting an invalid model is a failure.
        records: the path of the record file.
        green: whether the gate is green.
        red: why it is not.
        output_computed: whether the backend computed an output, right or wrong, that was compared with the text.
        cases: how many of its cases have a record.
        smaller_contexts: how many smaller contexts fail, which the run asked for itself.
        counts: how many of cases and smaller contexts have which status.
        causes: every cause, the most urgent status first, and of a status the largest first.
        notes: what a reader must know of how the run was asked and judged.
        record_notes: what is noted of records without being a failure.
    """

    backend: str
    version: str
    options: Mapping[str, str]
    dialect: str
    tier: str
    patterns: tuple[str, ...]
    shard: str
    strict: bool
    records: str
    green: bool
    red: tuple[Sentence, ...]
    output_computed: bool
    cases: int
    smaller_contexts: int
    counts: Mapping[Status, int]
    causes: tuple[CauseResult, ...]
    notes: tuple[Sentence, ...]
    record_notes: tuple[RecordNote, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Cases that are not as they were, with a common cause.

    Attributes:
        transition: what became of them.
        what: the statuses and the causes, in a line for people.
        cases: their ids.
    """

    transition: Transition
    what: str
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonResult:
    """What became of the cases of a run since a baseline.

    Attributes:
        old, new: the paths of the record files.
        worse: how many cases became worse.
        same: how many are as they were.
        added: how many were not asked before, and do not fail.
        notes: what a reader must know of the baseline.
        counts: how many cases have which transition.
        differences: what the headers say differently.
        causes: the cases that are not as they were.
    """

    old: str
    new: str
    worse: int
    same: int
    added: int
    notes: tuple[Sentence, ...]
    counts: Mapping[Transition, int]
    differences: tuple[Difference, ...]
    causes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """What `tconv run --json` and `tconv report --json` print.

    Attributes:
        runs: the runs.
        comparisons: what became of their cases since a baseline; none without one.
        format: the number of this format.
    """

    runs: tuple[RunResult, ...]
    comparisons: tuple[ComparisonResult, ...]
    format: Literal[1] = 1


_JSON = TypeAdapter(Results)


def results(report: Report) -> dict[str, Any]:
    """Return what --json prints, as JSON values: the runs, and the changes of their cases since a baseline."""
    made = Results(tuple(map(_run, report.runs)), tuple(map(_compared, report.comparisons)))
    values: dict[str, Any] = _JSON.dump_python(made, mode="json")
    return values


def _run(run: RunReport) -> RunResult:
    assessment, header = run.assessment, run.assessment.run.header
    return RunResult(
        backend=header.backend.name,
        version=header.backend.version,
        options=header.backend.options,
        dialect=header.dialect,
        tier=header.tier,
        patterns=header.patterns,
        shard=header.shard,
        strict=assessment.strict,
        records=str(assessment.run.path),
        green=not run.reasons,
        red=tuple(Sentence(name_of(reason), sentence(reason, assessment)) for reason in run.reasons),
        output_computed=assessment.computes,
        cases=len(assessment.run.records),
        smaller_contexts=assessment.smaller,
        counts={status: assessment.counts[status] for status in Status},
        causes=tuple(map(_cause, chain.from_iterable(run.causes.get(status, ()) for status in EXPLAINED))),
        notes=tuple(Sentence(note.name, note.text) for note in run.notes),
        record_notes=tuple(run.record_notes),
    )


def _cause(cause: Cause) -> CauseResult:
    cases = tuple(member.record.case for member in cause.members) if cause.status in FAILING else None
    return CauseResult(cause.status, cause.kinds, cause.what, cause.count, cause.example, cases)


def _compared(comparison: Comparison) -> ComparisonResult:
    return ComparisonResult(
        old=str(comparison.old.assessment.run.path),
        new=str(comparison.new.assessment.run.path),
        worse=comparison.worse,
        same=comparison.same,
        added=comparison.added,
        notes=tuple(Sentence(note.name, note.text) for note in comparison.notes),
        counts={transition: comparison.count(transition) for transition in Transition},
        differences=comparison.differences,
        causes=tuple(Change(group.transition, group.what, group.cases) for group in comparison.groups),
    )


def badge(report: Report) -> dict[str, Any]:
    """Return the data of shields.io's endpoint badge: how many of the answered cases conform.

    It is also red if a case became worse since a baseline. Refusals conform only if the run has an output too. An
    answer to an invalid call, which is only reported, does not count.

    Source: https://shields.io/badges/endpoint-badge, the schema's version 1.
    """
    assessments = [run.assessment for run in report.runs]
    names = {assessment.run.header.backend.name for assessment in assessments}
    conforming = answered = 0
    for assessment in assessments:
        counts = assessment.counts
        conforming += counts[Status.PASSED] + counts[Status.DISPUTED] if assessment.computes else 0
        answered += assessment.judged - counts[Status.REPORTED]
    red, computes = report.is_red, any(assessment.computes for assessment in assessments)
    message = f"{conforming:,} of {answered:,} conform" if computes else "no output was computed"
    green = "lightgrey" if not computes else "brightgreen" if conforming == answered else "green"
    return {
        "schemaVersion": 1,
        "label": f"tconv {names.pop()}" if len(names) == 1 else "tconv",
        "message": message + (", red" if red else ""),
        "color": "red" if red else green,
    }

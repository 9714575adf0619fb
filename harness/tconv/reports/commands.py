"""The commands that reports offer, quoted for a shell."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.gate.status import FAILING, ReadingChanged, Status
from tconv.records.headers import cases_option
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import RunHeader
    from tconv.records.record import Record
    from tconv.reports.causes import Cause

NO_WAIVERS = "--waivers", "none"
"""The options with which a run reports a waived failure as a failure."""
CASE = "{case}"
"""The place of a case id in a page's commands: a shell needs quotes around it, so every id fits."""


def reproduce(
    record: Record, backend: Sequence[str] = (), cases: str = "", waivers: Sequence[str] | None = None
) -> str:
    """Return the command that runs a record's case again; if the case failed, the command fails too.

    Args:
        record: the record.
        backend: the words of the command line for the backend and its options; empty for the backend's own name.
        cases: the value of --cases; empty for tconv's own corpus.
        waivers: the options that make it a failure; None for options that excuse nothing.
    """
    words = ["tconv", "run", record.case, *(backend or ("--backend", record.backend)), "--dialect", record.dialect]
    excused = excused_by_nothing(record.verdict) if waivers is None else waivers
    return shlex.join([*words, *cases_option(cases), *excused])


def excused_by_nothing(verdict: ver.Verdict) -> tuple[str, ...]:
    """Return the options that make a verdict a failure, even if a waiver covers its case."""
    return (*NO_WAIVERS, "--strict") if isinstance(verdict, ver.AcceptedInvalid) else NO_WAIVERS


def reproduce_in(header: RunHeader, member: RecordStatus) -> str:
    """Return the command that repeats a failure of a run; if the answer varies, the run in one process.

    A failure by a pin needs the waiver file, and no waiver covers it.
    """
    if member.record.varies:
        return reproduce_run(header)
    if not isinstance(member.ruling, ReadingChanged):
        return reproduce(member.record, header.asked, header.path)
    return reproduce(member.record, (*header.asked, *waivers_option(header)), header.path, ())


def reproduce_run(header: RunHeader) -> str:
    """Return the command that repeats answers that depend on earlier calls."""
    return shlex.join([*run_again(header), "--jobs", "1", *NO_WAIVERS])


def run_again(header: RunHeader) -> list[str]:
    """Return the words of the command that repeats a run."""
    words = ["tconv", "run", *header.patterns, *header.asked, "--dialect", header.dialect, "--tier", header.tier]
    return [*words, *cases_option(header.path)]


def waivers_option(header: RunHeader) -> list[str]:
    """Return the option for the waivers with which a run began; none if it took those that ship for its backend."""
    file = header.waivers.file if header.waivers else ""
    return [] if file in {"", f"{header.backend.name}.yaml", "several"} else ["--waivers", file]


def of_cause(assessment: Assessment, cause: Cause) -> str:
    """Return the command that shows a cause; if its answers vary, the command that repeats the run."""
    if not cause.varies:
        return of_case(assessment, cause.example, cause.status)
    return reproduce_run(assessment.run.header)


def of_case(assessment: Assessment, case: str, status: Status = Status.PASSED) -> str:
    """Return the command, quoted for a shell, that shows a case of the run, or explains why it fails."""
    header = assessment.run.header
    words = ["tconv", "show", case]
    if status in FAILING:
        words = ["tconv", "explain", case, *header.arguments, "--dialect", header.dialect]
    return shlex.join([*words, *cases_option(header.path)])


def offered(header: RunHeader, member: RecordStatus) -> Iterator[tuple[str, str]]:
    """Yield each command with its purpose. Commands that cannot work for the verdict are left out.

    Args:
        header: the run.
        member: one of its records. For records with the same verdict and ruling, only the id in the commands differs.
    """
    record = replace(member.record, case=CASE)
    dialect, cases = ("--dialect", record.dialect), cases_option(header.path)
    asked = (*header.arguments, *dialect, *cases)
    yield "run", reproduce_in(header, replace(member, record=record))
    yield "show", shlex.join(["tconv", "show", CASE, *dialect, *cases])
    if isinstance(record.verdict, ver.NotApplicable):
        return
    yield "explain", shlex.join(["tconv", "explain", CASE, *asked])
    # Its script has no options of a backend, and the command refuses them.
    backend = ("--backend", header.backend.spec or header.backend.name)
    yield "export", shlex.join(["tconv", "export", CASE, "models", *backend, *dialect, *cases])
    if not isinstance(record.verdict, ver.Allowed):
        yield "shrink", shlex.join(["tconv", "shrink", CASE, *asked])
        yield "bug report", f"{shlex.join(['tconv', 'export', CASE, '--issue', *asked])} > report.md"

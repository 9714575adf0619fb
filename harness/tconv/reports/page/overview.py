"""The answer, and the overview of each run: the part of the page that comes from the template and needs no script."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from tconv.gate.status import SEVERITY, Status
from tconv.records.failure import without_numbers
from tconv.reports import phrases
from tconv.reports.commands import run_again, waivers_option
from tconv.reports.notes import NOTHING_PASSED
from tconv.reports.phrases import capitalised, counted
from tconv.reports.words import KINDS, STATUSES
from tconv.shown_texts import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import Waiver
    from tconv.records.headers import BackendHeader
    from tconv.reports.report import RunReport

_LONGEST = 280
"""The most characters of a reason in the sentence; the list below has all of it."""
_OTHER = ("other failure", "other failures")
_UNASKED = (Status.UNSUPPORTED, Status.UNDECLARED)


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of a run for the template.

    Attributes:
        key: the name of the run in links.
        name: the name of the run in headings.
        short: a short name next to numbers: the backend alone if no other run has it; if not, with the version.
        report: the report of the run.
        facts: names and values from the run's header.
        debt: the number of the skipped records for each reason, by status.
    """

    key: str
    name: str
    short: str
    report: RunReport
    facts: tuple[tuple[str, str], ...]
    debt: Mapping[Status, Counter[str]]

    @property
    def assessment(self) -> Assessment:
        """The run, judged by the gate."""
        return self.report.assessment


def overviews(runs: Sequence[RunReport]) -> list[Overview]:
    """Return the overview of every run, each with its own key."""
    uses: Counter[str] = Counter()
    result = []
    for run in runs:
        header = run.assessment.run.header
        key = f"{header.backend.title.replace(' ', '-')}:{header.dialect}"
        uses[key] += 1
        if (number := uses[key]) > 1:
            key = f"{key}~{number}"
        short = _short(run, [each.assessment.run.header.backend for each in runs])
        result.append(Overview(key, run.name, short, run, tuple(_facts(run.assessment)), _debt(run.assessment)))
    return result


def _short(run: RunReport, backends: Sequence[BackendHeader]) -> str:
    """Return the shortest name of a run that no other run has."""
    backend = run.assessment.run.header.backend
    if sum(other.name == backend.name for other in backends) == 1:
        return backend.name
    return backend.title if sum(other.title == backend.title for other in backends) == 1 else run.name


def link(**filters: str) -> str:
    """Return the fragment that filters the page; the script reads it with decodeURIComponent."""
    return "#" + "&".join(f"{key}={quote(value, safe='/,=:+')}" for key, value in filters.items())


def href(address: str | None) -> str:
    """Return an address that may become a link; empty unless it is http or https."""
    try:
        parts = urlsplit(address or "")
    except ValueError:
        return ""
    return address or "" if parts.scheme in {"http", "https"} and parts.netloc else ""


def shown_statuses(runs: Sequence[Overview]) -> tuple[Status, ...]:
    """Return the statuses that have a column in the table of runs."""
    always = {Status.FAILED, Status.PASSED}
    return tuple(s for s in STATUSES if s in always or any(run.assessment.counts[s] for run in runs))


def _facts(assessment: Assessment) -> Iterable[tuple[str, str]]:
    run, header = assessment.run, assessment.run.header
    strict = ["--strict"] if header.waivers and header.waivers.strict else []
    yield "Command", shlex.join([*run_again(header), *waivers_option(header), *strict])
    yield "Backend", header.backend.title
    yield "Dialect", header.dialect
    yield "Tier", header.tier
    if header.patterns:
        yield "Patterns", "  ".join(header.patterns)
    if header.shard:
        yield "Shard", header.shard
    yield from _covered(assessment)
    recorded, whole = f"{len(run.records):,}", len(run.records) == header.cases
    yield "Cases", recorded if whole else f"{recorded} recorded of {header.cases:,}: the run is not complete"
    yield "In the backend", f"{sum(record.seconds for record in run.records):.1f} s"
    yield "Started", header.started
    yield "tconv", header.tconv
    yield "Corpus", header.corpus
    yield "Timeout", f"{header.timeout:g} s"
    if header.waivers:
        yield "Waivers", str(header.waivers)
    backend = header.backend
    of_machine = {"Environment": backend.environment, "Machine": backend.machine, "Platform": header.platform}
    for name, values in of_machine.items():
        if values:
            yield name, ", ".join(map(" ".join, values.items()))


def _covered(assessment: Assessment) -> Iterable[tuple[str, str]]:
    """Yield the types and the numbers of spatial axes of a run's answers."""
    judged = [m.record.case for m in assessment.statuses if m.status not in (Status.NOT_APPLICABLE, *_UNASKED)]
    for fact, name in (("dtype", "Types"), ("rank", "Spatial axes")):
        counts = Counter(assessment.facts[case].get(fact, "") for case in judged if case in assessment.facts)
        if known := [f"{value} ({count:,})" for value, count in sorted(counts.items()) if value]:
            yield name, ", ".join(known)


def _debt(assessment: Assessment) -> dict[Status, Counter[str]]:
    debt = {}
    for status in (Status.UNSUPPORTED, Status.NOT_APPLICABLE):
        reasons = [phrases.reason(member) for member in assessment.statuses if member.status is status]
        # Reasons that differ only in numbers count as the same; the first stands for all.
        first = {without_numbers(reason): reason for reason in reversed(reasons)}
        if reasons:
            debt[status] = Counter(first[without_numbers(reason)] for reason in reasons)
    return debt


def waiver_facts(waiver: Waiver) -> dict[str, str]:
    """Return the facts of a waiver as the page shows them."""
    where = "".join(f" {key}={_text(value)}" for key, value in waiver.where.items())
    verdict = ", ".join(f"{key} {_text(value)}" for key, value in waiver.verdict.items())
    return {
        "name": waiver.name,
        "because": waiver.because,
        "clause": waiver.clause,
        "cases": f"{waiver.cases}{where}" + (f" on machines {waiver.machine}" if waiver.machine else ""),
        "verdict": verdict,
        "dialects": ", ".join(waiver.dialects),
        "versions": waiver.versions,
        "example": waiver.example,
        "date": waiver.date,
        "link": waiver.link or "",
        "href": href(waiver.link),
    }


def _text(value: object) -> str:
    """Return a value as text: integers in brackets, as the specifications write shapes."""
    if isinstance(value, list | tuple):
        return str(list(value)) if all(isinstance(entry, int) for entry in value) else ", ".join(map(str, value))
    return str(value)


def answer(runs: Sequence[Overview]) -> str:
    """Return why the runs are red, or what green means, in sentences that follow `Red.` or `Green.`."""
    failures = [f"{run.short}: {', '.join(counts)}" for run in runs if (counts := list(_count_failures(run)))]
    for run in runs:
        if run.report.since is not None and run.report.since.worse:
            old = run.report.since.old.assessment.run.header.backend.title
            failures.append(f"{run.report.since.worse:,} worse than {old}")
    if undeclared := sum(run.assessment.counts[Status.UNDECLARED] for run in runs):
        failures.append(f"Not declared as unsupported: {undeclared:,}")
    if failures:
        return ". ".join(failures)
    if reasons := [reason for run in runs for reason in run.report.red]:
        return f"No case failed, but {shortened(reasons[0], _LONGEST)}"
    nothing = [note.text for run in runs for note in run.report.notes if note.name == NOTHING_PASSED]
    if nothing and len(runs) == 1:
        return capitalised(", and ".join(nothing))
    known = any(run.assessment.counts[status] for run in runs for status in (Status.WAIVED, Status.REPORTED))
    return "Every deviation is known" if known else "Every answer is as expected"


def _count_failures(run: Overview) -> Iterator[str]:
    """Yield the number of a run's failures of each kind, in words."""
    failed = (member.ruling.kind for member in run.assessment.statuses if member.status is Status.FAILED)
    counts = Counter(KINDS[kind].counted or _OTHER for kind in failed)
    for one, several in dict.fromkeys((*(words for kind in SEVERITY if (words := KINDS[kind].counted)), _OTHER)):
        if count := counts[one, several]:
            yield counted(count, one, several)

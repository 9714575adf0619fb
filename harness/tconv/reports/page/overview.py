"""The overview of a run: the part of the page that comes from the template and needs no script."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from tconv.gate.status import Status
from tconv.records.failure import without_numbers
from tconv.reports import phrases
from tconv.reports.commands import run_again, waivers_option
from tconv.reports.page import figures
from tconv.reports.words import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import Waiver
    from tconv.records.headers import BackendHeader
    from tconv.reports.report import RunReport

_GROUPS = 12
_UNASKED = (Status.UNSUPPORTED, Status.UNDECLARED)


@dataclass(frozen=True, slots=True)
class Groups:
    """The largest groups of records with a common text, each with its number, and the number of smaller groups."""

    total: int
    largest: tuple[tuple[str, int], ...]
    more: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of a run for the template.

    Attributes:
        key: the name of the run in links.
        name: the name of the run in headings.
        short: a short name next to numbers: the backend alone if no other run has it; if not, with the version.
        report: the report of the run.
        facts: names and values from the run's header.
        debt: the skipped records, by status and reason.
    """

    key: str
    name: str
    short: str
    report: RunReport
    facts: tuple[tuple[str, str], ...]
    debt: tuple[tuple[Status, Groups], ...]

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
        debt = tuple(_debt(run.assessment))
        result.append(Overview(key, run.name, short, run, tuple(_facts(run.assessment)), debt))
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
    yield "Cases", _recorded(len(run.records), header.cases)
    yield "In the backend", f"{sum(record.seconds for record in run.records):.1f} s"
    yield "Started", header.started
    yield "tconv", header.tconv
    yield "Corpus", header.corpus
    yield "Timeout", f"{figures.number(header.timeout)} s"
    if header.backend.environment:
        yield "Environment", _pairs(header.backend.environment, " ")
    if header.backend.machine:
        yield "Machine", _pairs(header.backend.machine, " ")
    if header.waivers:
        yield "Waivers", str(header.waivers)
    if header.platform:
        yield "Platform", _pairs(header.platform, " ")


def _covered(assessment: Assessment) -> Iterable[tuple[str, str]]:
    """Yield the types and the numbers of spatial axes of a run's answers."""
    judged = [m.record.case for m in assessment.statuses if m.status not in (Status.NOT_APPLICABLE, *_UNASKED)]
    for fact, name in (("dtype", "Types"), ("rank", "Spatial axes")):
        counts = Counter(assessment.facts[case].get(fact, "") for case in judged if case in assessment.facts)
        if known := [f"{value} ({count:,})" for value, count in sorted(counts.items()) if value]:
            yield name, ", ".join(known)


def _recorded(records: int, cases: int) -> str:
    return f"{records:,}" if records == cases else f"{records:,} recorded of {cases:,}: the run is not complete"


def _pairs(named: Mapping[str, str], between: str) -> str:
    return ", ".join(f"{name}{between}{value}" for name, value in named.items())


def _debt(assessment: Assessment) -> Iterable[tuple[Status, Groups]]:
    for status in (Status.UNSUPPORTED, Status.NOT_APPLICABLE):
        reasons = [phrases.reason(member) for member in assessment.statuses if member.status is status]
        # Reasons that differ only in numbers count as the same; the first stands for all.
        first = {without_numbers(reason): reason for reason in reversed(reasons)}
        if reasons:
            yield status, _groups(Counter(first[without_numbers(reason)] for reason in reasons))


def _groups(counts: Counter[str]) -> Groups:
    largest = tuple(counts.most_common(_GROUPS))
    return Groups(counts.total(), largest, len(counts) - len(largest))


def waiver_facts(waiver: Waiver) -> dict[str, str]:
    """Return the facts of a waiver as the page shows them."""
    where = "".join(f" {key}={figures.text(value)}" for key, value in waiver.where.items())
    verdict = ", ".join(f"{key} {figures.text(value)}" for key, value in waiver.verdict.items())
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

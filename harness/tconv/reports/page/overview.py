"""The overview of a run: the part of the page that comes from the template and needs no script."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from tconv.cases.patterns import topic_of
from tconv.dialects.readings import Combination
from tconv.gate.status import Status
from tconv.records.failure import without_numbers
from tconv.reports import phrases
from tconv.reports.page import figures
from tconv.reports.phrases import run_again, waivers_option
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import Waiver
    from tconv.records.headers import BackendHeader
    from tconv.reports.report import RunReport

_GROUPS = 12
_UNASKED = (Status.UNSUPPORTED, Status.UNDECLARED)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of records, and the filter that shows them."""

    status: Status
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a matrix: a topic or a run, with a count for each status and the total."""

    name: str
    href: str
    counts: tuple[Count, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Group:
    """Records with a common text, and the filter that shows them; empty if it would show other records too."""

    text: str
    count: int
    href: str = ""


@dataclass(frozen=True, slots=True)
class Groups:
    """The largest groups, and the number of smaller ones."""

    total: int
    largest: tuple[Group, ...]
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
        statuses: the columns of the matrix.
        matrix: a line for each topic.
        sum: the line for all topics.
        debt: the skipped records, by status and reason.
        readings: the readings that the backend follows instead of the primary ones.
    """

    key: str
    name: str
    short: str
    report: RunReport
    facts: tuple[tuple[str, str], ...]
    statuses: tuple[Status, ...]
    matrix: tuple[Line, ...]
    sum: Line
    debt: tuple[tuple[Status, Groups], ...]
    readings: Groups

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
        result.append(_overview(run, key, _short(run, [each.assessment.run.header.backend for each in runs])))
    return result


def _short(run: RunReport, backends: Sequence[BackendHeader]) -> str:
    """Return the shortest name of a run that no other run has."""
    backend = run.assessment.run.header.backend
    if sum(other.name == backend.name for other in backends) == 1:
        return backend.name
    return backend.title if sum(other.title == backend.title for other in backends) == 1 else run.name


def _overview(run: RunReport, key: str, short: str) -> Overview:
    assessment = run.assessment
    statuses = tuple(s for s in STATUSES if s in {Status.FAILED, Status.PASSED} or assessment.counts[s])
    by_topic: defaultdict[str, Counter[Status]] = defaultdict(Counter)
    for member in assessment.statuses:
        by_topic[topic_of(member.record.case)][member.status] += 1
    return Overview(
        key,
        run.name,
        short,
        run,
        tuple(_facts(assessment)),
        statuses,
        tuple(_line(label, counts, statuses, backend=key, topic=label) for label, counts in sorted(by_topic.items())),
        _line(run.name, assessment.counts, statuses, backend=key),
        tuple(_debt(assessment)),
        _readings(assessment, key),
    )


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


def summary(runs: Sequence[Overview]) -> tuple[tuple[Status, ...], list[tuple[Overview, Line]]]:
    """Return a matrix of runs and statuses."""
    statuses = tuple(s for s in STATUSES if any(s in run.statuses for run in runs))
    return statuses, [(run, _line(run.name, run.assessment.counts, statuses, backend=run.key)) for run in runs]


def _line(name: str, counts: Counter[Status], statuses: Iterable[Status], **filters: str) -> Line:
    cells = tuple(Count(s, counts[s], link(**filters, status=s.value)) for s in statuses)
    return Line(name, link(**filters), cells, counts.total())


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


def _readings(assessment: Assessment, key: str) -> Groups:
    followed = Counter(readings for member in assessment.statuses if (readings := figures.readings(member.ruling)))
    texts = {readings: " or ".join(str(Combination(names)) for names in readings) for readings in followed}
    # A search finds a record by any name of a reading.
    hrefs = {
        texts[readings]: link(backend=key, q=readings[0][0]) for readings in followed if list(map(len, readings)) == [1]
    }
    return _groups(Counter({texts[readings]: count for readings, count in followed.items()}), hrefs)


def _groups(counts: Counter[str], hrefs: Mapping[str, str] | None = None) -> Groups:
    largest = [Group(text, n, (hrefs or {}).get(text, "")) for text, n in counts.most_common(_GROUPS)]
    return Groups(counts.total(), tuple(largest), len(counts) - len(largest))


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

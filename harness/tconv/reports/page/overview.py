"""The overview of a run: the part of the page that the template writes and that needs no script."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from tconv.cases.patterns import topic_of
from tconv.gate.status import Status
from tconv.reports import phrases
from tconv.reports.notes import notes_of
from tconv.reports.page import figures
from tconv.reports.red import other_lines
from tconv.reports.run_names import run_names
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.entries import WaiverUse
    from tconv.gate.waivers import Waiver
    from tconv.reports.notes import Noted

_GROUPS = 12
_AGREEING = 5
_GOT = re.compile(r" \(got .*\)(?= \[|$)", re.DOTALL)


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
    """Records with a common text, and the filter that shows them; empty where it would show others too."""

    text: str
    count: int
    href: str = ""


@dataclass(frozen=True, slots=True)
class Groups:
    """The largest groups, and how many smaller ones there are."""

    total: int
    largest: tuple[Group, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Overview:
    """A run for the template.

    Attributes:
        key: the run in links.
        name: the run in headings.
        short: the run beside a number: its backend alone where no other run has it.
        assessment: the run, judged by the gate.
        facts: names and values from the run's header.
        statuses: the columns of the matrix.
        matrix: a line for each topic.
        sum: the line of all topics.
        debt: the skipped records, by status and reason.
        readings: the readings that the backend follows instead of the primary ones.
        reasons: why it is red beyond the cases that failed, in sentences.
        notes: what is noted of records without being a failure.
    """

    key: str
    name: str
    short: str
    assessment: Assessment
    facts: tuple[tuple[str, str], ...]
    statuses: tuple[Status, ...]
    matrix: tuple[Line, ...]
    sum: Line
    debt: tuple[tuple[Status, Groups], ...]
    readings: Groups
    reasons: tuple[str, ...]
    notes: tuple[Noted, ...]


def overviews(assessments: Sequence[Assessment]) -> list[Overview]:
    """Return the overview of every run, each with a key of its own."""
    uses: Counter[str] = Counter()
    result = []
    for name, assessment in zip(run_names(assessments), assessments, strict=True):
        header = assessment.run.header
        key = f"{header.backend.title.replace(' ', '-')}:{header.dialect}"
        uses[key] += 1
        if (number := uses[key]) > 1:
            key = f"{key}~{number}"
        alone = sum(other.run.header.backend.name == header.backend.name for other in assessments) == 1
        result.append(_overview(assessment, key, name, header.backend.name if alone else name))
    return result


def _overview(assessment: Assessment, key: str, name: str, short: str) -> Overview:
    statuses = tuple(s for s in STATUSES if s in {Status.FAILED, Status.PASSED} or assessment.counts[s])
    by_topic: defaultdict[str, Counter[Status]] = defaultdict(Counter)
    for member in assessment.statuses:
        by_topic[topic_of(member.record.case)][member.status] += 1
    return Overview(
        key,
        name,
        short,
        assessment,
        tuple(_facts(assessment)),
        statuses,
        tuple(_line(label, counts, statuses, backend=key, topic=label) for label, counts in sorted(by_topic.items())),
        _line(name, assessment.counts, statuses, backend=key),
        tuple(_debt(assessment)),
        _readings(assessment, key),
        tuple(other_lines(assessment)),
        tuple(notes_of(assessment)),
    )


def link(**filters: str) -> str:
    """Return the fragment that filters the page; the script reads it with decodeURIComponent."""
    return "#" + "&".join(f"{key}={quote(value, safe='/,=:+')}" for key, value in filters.items())


def href(address: str | None) -> str:
    """Return an address that may become a link; empty for any but http and https."""
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
    yield "Backend", header.backend.title
    yield "Dialect", header.dialect
    yield "Tier", header.tier
    if header.patterns:
        yield "Patterns", "  ".join(header.patterns)
    if header.shard:
        yield "Shard", header.shard
    yield "Cases", _recorded(len(run.records), header.cases)
    yield "In the backend", f"{sum(record.seconds for record in run.records):.1f} s"
    yield "Started", header.started
    yield "tconv", header.tconv
    yield "Corpus", header.corpus
    yield "Timeout", f"{figures.number(header.timeout)} s"
    if sums := "; ".join(phrases.sums_found(run.records)):
        yield "Sums", sums
    if header.backend.environment:
        yield "Environment", _pairs(header.backend.environment, " ")
    if header.backend.machine:
        yield "Machine", _pairs(header.backend.machine, " ")
    if notes := phrases.nothing_passed(assessment):
        yield "Shown", "; ".join(notes)
    if unasked := phrases.unasked(assessment):
        yield "Not asked again", unasked
    yield from _waiver_facts(assessment)
    if header.platform:
        yield "Platform", _pairs(header.platform, " ")


def _waiver_facts(assessment: Assessment) -> Iterable[tuple[str, str]]:
    if waivers := assessment.run.header.waivers:
        yield "Waivers", phrases.other_waivers(assessment) or str(waivers)
    if unfit := phrases.waivers_of_other_options(assessment):
        yield "Waivers of other options", unfit
    if others := phrases.waivers_of_other_versions(assessment):
        yield "Waivers of other versions", others
    for use in assessment.waivers.implemented:
        yield "Declared unsupported", phrases.implemented(use)


def _recorded(records: int, cases: int) -> str:
    return f"{records:,}" if records == cases else f"{records:,} recorded of {cases:,}: the run is not complete"


def _pairs(named: Mapping[str, str], between: str) -> str:
    return ", ".join(f"{name}{between}{value}" for name, value in named.items())


def _debt(assessment: Assessment) -> Iterable[tuple[Status, Groups]]:
    for status in (Status.UNSUPPORTED, Status.INEXPRESSIBLE):
        # Reasons that differ only in the value that was found count as the same.
        reasons = Counter(
            _GOT.sub("", phrases.reason(member)) for member in assessment.statuses if member.status is status
        )
        if reasons:
            yield status, _groups(reasons)


def _readings(assessment: Assessment, key: str) -> Groups:
    names = Counter(name for member in assessment.statuses for name in figures.readings(member.ruling))
    return _groups(names, {name: link(backend=key, q=name) for name in names if " " not in name})


def _groups(counts: Counter[str], hrefs: Mapping[str, str] | None = None) -> Groups:
    largest = [Group(text, n, (hrefs or {}).get(text, "")) for text, n in counts.most_common(_GROUPS)]
    return Groups(counts.total(), tuple(largest), len(counts) - len(largest))


def agreeing(use: WaiverUse) -> tuple[list[tuple[str, str]], int]:
    """Return the first cases of a wide waiver that agree, with their links, and how many more there are."""
    first = use.agreeing[:_AGREEING]
    return [(case, link(case=case)) for case in first], len(use.agreeing) - len(first)


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

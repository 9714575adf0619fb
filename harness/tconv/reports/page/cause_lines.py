"""The causes of a page's records: one line for each, across all runs and statuses; failures come first."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from tconv.dialects import DIALECTS
from tconv.dialects.readings import Combination
from tconv.evidence.hypotheses import Follows, Misreads
from tconv.gate.status import FAILING, MixedReadings, ReadingChanged, Status
from tconv.reports.cause_sentences import formula
from tconv.reports.causes import rank_severity
from tconv.reports.commands import CASE, of_cause, offered
from tconv.reports.words import EXPLAINED, STATUSES
from tconv.shown_texts import shortened
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.gate.status import GroupKey, Ruling
    from tconv.reports.causes import Cause
    from tconv.reports.report import RunReport

_LONGEST = 280
"""The most characters of a cause's words."""


@dataclass(frozen=True, slots=True)
class CauseLine:
    """A cause, with its records in all runs.

    Attributes:
        name: its name in a query, `cause=refused-valid-3f2a`; the same on each page that has it.
        number: its place on the page, from 1.
        words: what happens.
        more: what a reader may want next: formulas, names, a message, an example, how certain it is.
        clause: the text's words on it; may be empty.
        kinds: the kinds of verdict of its records.
        rule: the formulas that the runtime computes instead, learnt from all answers of the run; empty for no rule.
        misreading: the misreading that explains it; empty if there is none.
        counts: for each run, the number of its records by status.
        members: the run and the id of each record: first the example, whose numbers are quoted, then the smallest.
        steps: what a reader may do next, with a command.
    """

    name: str
    number: int
    words: str
    more: tuple[str, ...]
    clause: str
    kinds: tuple[str, ...]
    rule: str
    misreading: str
    counts: tuple[Counter[Status], ...]
    members: tuple[tuple[int, str], ...]
    steps: tuple[tuple[str, str], ...]

    @property
    def total(self) -> Counter[Status]:
        """The number of records by status."""
        return sum(self.counts, Counter())

    @property
    def worst(self) -> Status:
        """The most urgent of its statuses."""
        return next(status for status in STATUSES if self.total[status])


def cause_lines(runs: Sequence[RunReport]) -> list[CauseLine]:
    """Return the causes of all runs: the most urgent status first, and for one status in the order of `find_causes`."""
    groups: defaultdict[GroupKey, list[tuple[int, Cause]]] = defaultdict(list)
    for number, run in enumerate(runs):
        for status in EXPLAINED:
            for cause in run.causes.get(status, ()):
                groups[_key(cause)].append((number, cause))
    lines = [_line(_name(key, found), found, runs) for key, found in groups.items()]
    order = list(STATUSES)
    lines.sort(key=lambda of: (order.index(of.worst), rank_severity(of.kinds), -of.total[of.worst], of.members[0]))
    return [replace(line, number=number) for number, line in enumerate(lines, 1)]


def _key(cause: Cause) -> GroupKey:
    """Return the key of a cause, which is the same in all runs."""
    ruling = cause.members[0].ruling
    if cause.status is Status.DISPUTED and isinstance(ruling, ver.Disputed) and ruling.choices:
        return cause.status, tuple(ruling.choices)
    return cause.group


def _name(key: GroupKey, causes: Sequence[tuple[int, Cause]]) -> str:
    """Return a name for a cause that does not depend on the rest of the page."""
    digest = blake2b(repr(key).encode(), digest_size=3).hexdigest()
    return f"{min(causes[0][1].kinds, key=lambda kind: rank_severity([kind]))}-{digest}"


def _steps(report: RunReport, cause: Cause) -> Iterator[tuple[str, str]]:
    """Yield what a reader may do next: reproduce it, report it, and waive it, pin it or declare it."""
    assessment = report.assessment
    header, records = assessment.run.header, assessment.run.argument
    yield "Reproduce", of_cause(assessment, cause)
    if cause.status is Status.FAILED:
        member = next(member for member in cause.members if member.record.case == cause.example)
        known = dict(offered(header, member))
        if "bug report" in known:
            yield "Report", known["bug report"].replace(f"'{CASE}'", shlex.quote(cause.example))
    if cause.status in FAILING:
        verb = "Waive" if cause.status is Status.FAILED else "Declare"
        yield verb, f"tconv waivers propose {records} --output waivers.yaml"
    if cause.status is Status.DISPUTED:
        yield "Pin", f"tconv waivers pin {records} --waivers waivers.yaml"


def _line(name: str, causes: Sequence[tuple[int, Cause]], reports: Sequence[RunReport]) -> CauseLine:
    runs = len(reports)
    run, largest = max(causes, key=lambda item: item[1].count)
    example = run, largest.example
    counts: tuple[Counter[Status], ...] = tuple(Counter() for _ in range(runs))
    for run, cause in causes:
        counts[run][cause.status] += cause.count
    sizes = {(run, member.record.case): member.record.size for run, cause in causes for member in cause.members}
    members = sorted(sizes, key=lambda member: (member != example, sizes[member], member[0]))
    explanation = largest.explanation
    return CauseLine(
        name,
        0,
        shortened(largest.line, _LONGEST),
        largest.more,
        _clause(largest),
        tuple(sorted({kind for _, cause in causes for kind in cause.kinds})),
        "; ".join(map(formula, explanation.what.rules))
        if explanation and isinstance(explanation.what, Follows)
        else "",
        str(explanation.what.name) if explanation and isinstance(explanation.what, Misreads) else "",
        counts,
        tuple(members),
        tuple(_steps(reports[example[0]], largest)),
    )


def _clause(cause: Cause) -> str:
    """Return the words of the text about a cause."""
    if cause.explanation is not None:
        return cause.explanation.clause
    member = cause.members[0]
    if member.waiver is not None:
        return member.waiver.clause
    dialect = DIALECTS.get(member.record.dialect)
    followed = {name for together in readings(member.ruling) for name in together}
    cited = (reading.cites for reading in (dialect.disputed if dialect else ()) if reading.name in followed)
    return "; ".join(filter(None, cited))


def readings(verdict: Ruling) -> tuple[tuple[str, ...], ...]:
    """Return the readings that the backend follows instead of the primary ones, as tuples of names that go together.

    If several give the same output, all of them are returned.
    """
    match verdict:
        case ver.Disputed(choices=choices) | ReadingChanged(choices=choices):
            return tuple(Combination.parse(choice).names for choice in choices)
        case ver.Inconclusive(readings=followed) | MixedReadings(readings=followed) if followed:
            return (followed,)
        case _:
            return ()


def cause_numbers(lines: Sequence[CauseLine]) -> dict[tuple[int, str], int]:
    """Return the number of each record's cause, by run and case."""
    return {member: line.number for line in lines for member in line.members}

"""The causes of a page's records: one line each across all runs and statuses, what failed first."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tconv.diagnosis.misreadings import meanings
from tconv.dialects import DIALECTS
from tconv.dialects.readings import Combination
from tconv.gate.status import Status
from tconv.learning.situations import situation_names
from tconv.reports.causes import causes
from tconv.reports.phrases import phrase
from tconv.reports.statuses import STATUSES
from tconv.shown_texts import shortened
from tconv.verdict.kinds import Disputed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.learning import Lesson
    from tconv.reports.causes import Cause

EXPLAINED = (Status.FAILED, Status.REPORTED, Status.DISPUTED, Status.MISTRUSTED, Status.WAIVED)
"""The statuses that have a cause; the others are as they should be, or were not asked."""
_LONGEST = 280
"""Characters of a cause's words."""


@dataclass(frozen=True, slots=True)
class CauseLine:
    """A cause, with its records in all runs.

    Attributes:
        number: its place on the page, from 1: `cause=3` in a query.
        words: what happens.
        message: what the runtime answers to the example.
        evidence: how well it is known, or what else was seen; may be empty.
        clause: the text's words on it; may be empty.
        shares: what its cases have in common, and others have not; may be empty.
        conditional: whether that is a condition under which nearly all answers are wrong.
        learnt: whether the words are a rule that was learnt from all answers of the run.
        counts: for each run, its records by status.
        undeclared: whether its failures are unsupported cases that nobody declared.
        asked_again: whether more is known of its answers than that others like them depend on the calls before.
        members: the run and the id of each record: first its example, whose numbers are quoted, then the smallest.
    """

    number: int
    words: str
    message: str
    evidence: str
    clause: str
    shares: str
    conditional: bool
    learnt: bool
    counts: tuple[Counter[Status], ...]
    undeclared: bool
    asked_again: bool
    members: tuple[tuple[int, str], ...]

    @property
    def total(self) -> Counter[Status]:
        """The records by status."""
        return sum(self.counts, Counter())

    @property
    def worst(self) -> Status:
        """The most urgent of its statuses."""
        return next(status for status in STATUSES if self.total[status])


def cause_lines(assessments: Sequence[Assessment]) -> list[CauseLine]:
    """Return the causes of all runs: the most urgent status first, and of a status the order of `causes`."""
    groups: defaultdict[tuple[str, ...], list[tuple[int, Status, Cause]]] = defaultdict(list)
    for run, assessment in enumerate(assessments):
        for status in EXPLAINED:
            if assessment.counts[status]:
                for cause in causes(assessment, status):
                    groups[_key(cause, status)].append((run, status, cause))
    lines = [_line(found, len(assessments)) for found in groups.values()]
    order = list(STATUSES)
    lines.sort(key=partial(_place, order))
    return [_numbered(line, number) for number, line in enumerate(lines, 1)]


def _place(order: Sequence[Status], line: CauseLine) -> tuple[int, bool, bool, int, str]:
    """Return what decides where a line stands."""
    count = line.total[line.worst]
    return order.index(line.worst), not line.asked_again, line.undeclared, -count, line.words


def _numbered(line: CauseLine, number: int) -> CauseLine:
    return replace(line, number=number)


def _key(cause: Cause, status: Status) -> tuple[str, ...]:
    """Return what a cause has in every run in which it is the same."""
    if cause.lesson is not None:
        return ("learnt", _rules(cause.lesson))
    if status is Status.MISTRUSTED:
        return (status,)
    if readings := _readings(cause.members[0]) if status is Status.DISPUTED else "":
        return (status, readings)
    return cause.group


def _readings(member: RecordStatus) -> str:
    ruling = member.ruling
    return " or ".join(ruling.choices) if isinstance(ruling, Disputed) else ""


def _line(causes: list[tuple[int, Status, Cause]], runs: int) -> CauseLine:
    run, status, largest = max(causes, key=lambda item: item[2].count)
    example = run, largest.example
    counts: tuple[Counter[Status], ...] = tuple(Counter() for _ in range(runs))
    for run, its_status, cause in causes:
        counts[run][its_status] += cause.count
    sizes = {(run, member.record.case): member.record.size for run, _, cause in causes for member in cause.members}
    members = sorted(sizes, key=lambda member: (member != example, sizes[member], member[0]))
    words, evidence = _words(largest, status)
    shown = next(member for member in largest.members if member.record.case == largest.example)
    shares, conditional = str(_shared(largest) or ""), bool(largest.symptom or largest.unanswered)
    return CauseLine(
        0,
        shortened(words, _LONGEST),
        phrase(shown.ruling),
        evidence,
        _clause(largest),
        shares,
        conditional,
        largest.lesson is not None,
        counts,
        largest.undeclared,
        largest.asked_again,
        tuple(members),
    )


def _shared(cause: Cause) -> object:
    """Return what the calls of a cause have in common; None where that is not known."""
    if cause.lesson is not None:
        return cause.lesson.where
    if cause.unanswered is not None:
        return cause.unanswered.condition
    return cause.common if cause.symptom is None else cause.symptom.condition


def _words(cause: Cause, status: Status) -> tuple[str, str]:
    """Return what happens, and the evidence for it."""
    if cause.lesson is not None:
        return _rules(cause.lesson), f"{cause.lesson.fits:,} of {cause.lesson.of:,} answers fit"
    if cause.symptom is not None:
        return cause.line, cause.symptom.evidence
    if cause.unanswered is not None:
        return cause.line, cause.unanswered.evidence
    if status is Status.MISTRUSTED:
        return STATUSES[status].total, ""
    if status is Status.DISPUTED and (readings := _readings(cause.members[0])):
        return f"follows {_described(readings, cause.members[0].record.dialect)}", ""
    if status is Status.FAILED and _is_explained(cause):
        return f"as if {_described(cause.group[-1], cause.members[0].record.dialect, cause.where)}", cause.what
    return cause.line or cause.what, ""


def _rules(lesson: Lesson) -> str:
    return f"under {situation_names(lesson.situations)}: {'; '.join(map(str, lesson.rules))}"


def _is_explained(cause: Cause) -> bool:
    return cause.group[:1] == ("explained",)


def _described(names: str, dialect_name: str, where: str = "") -> str:
    """Return names with what they say, and with the condition on the calls, if there is one."""
    named_, meaning = f"{names} where {where}" if where else names, says(names, dialect_name)
    return f"{named_}: {meaning}" if meaning else named_


def says(names: str, dialect_name: str) -> str:
    """Return what each of some readings or misreadings says, by their names joined with ` + `."""
    dialect = DIALECTS.get(dialect_name)
    known = meanings(dialect) if dialect else {}
    all_names = (name for together in names.split(" or ") for name in Combination.parse(together).names)
    return "; ".join(known[name] for name in all_names if name in known)


def _clause(cause: Cause) -> str:
    """Return the words of the text that a cause is about."""
    if cause.lesson is not None:
        return cause.lesson.clause
    member = cause.members[0]
    if member.waiver is not None:
        return member.waiver.clause
    return "; ".join(_cited(member)) if member.status is Status.DISPUTED else ""


def _cited(member: RecordStatus) -> Iterator[str]:
    dialect = DIALECTS.get(member.record.dialect)
    for reading in dialect.disputed if dialect else ():
        if reading.name in _readings(member).split(" + ") and reading.cites:
            yield reading.cites


def cause_numbers(lines: Sequence[CauseLine]) -> dict[tuple[int, str], int]:
    """Return the number of the cause of each record, by its run and its case."""
    return {member: line.number for line in lines for member in line.members}

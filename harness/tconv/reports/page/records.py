"""The records as data for the page's script: columns of small integers, and details that it reads when needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.patterns import facts_of, topic_of
from tconv.dialects import DIALECTS
from tconv.gate.status import RULINGS
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.cause_sentences import says
from tconv.reports.commands import offered
from tconv.reports.page import overview
from tconv.reports.page.blocks import Distinct, Table, block, table_block
from tconv.reports.page.cause_lines import cause_numbers, readings
from tconv.reports.page.problems import Problems
from tconv.reports.phrases import capitalised, explanation, phrase, reason, tolerance
from tconv.reports.words import STATUSES
from tconv.shown_texts import shortened
from tconv.verdict.kinds import Agreed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus, Ruling
    from tconv.records.headers import RunHeader
    from tconv.reports.page.cause_lines import CauseLine
    from tconv.reports.page.overview import Overview

MOST_CAUSES = 100
"""The most causes that the page lists, each with a bug report for its example."""
_PROSE = {"message": "Message", "stderr": "Standard error, its end", "reason": "Reason"}
"""The long texts of a verdict, with their headings."""
_LONGEST = 200
"""The most characters of a phrase in the table."""
_STATUSES = {status: number for number, status in enumerate(STATUSES)}
_KINDS = {kind: number for number, kind in enumerate(RULINGS)}
_COLUMNS = ("run", "case", "status", "kind", "phrase", "cause", "commands", "detail", "problem", "seconds", "size")
_TRANSITIONS = {None: 0} | {transition: number for number, transition in enumerate(Transition, 1)}


@dataclass(frozen=True, slots=True)
class RecordBlocks:
    """The blocks of a page's records, as text for its elements.

    Attributes:
        data: the data of the tables, which is read with the page.
        details: the details of each record that is not a plain pass.
        problems: what the dialect says about each case. Both are read with the first case that is opened.
    """

    data: str
    details: str
    problems: str


def record_blocks(
    runs: Sequence[Overview],
    lines: Sequence[CauseLine],
    find: Callable[[str], Case | None],
    issue: Callable[[Assessment, RecordStatus], str | None],
) -> RecordBlocks:
    """Return the records of runs as blocks.

    Args:
        runs: the runs.
        lines: the causes of their records.
        find: returns the case with an id; None if there is none.
        issue: returns the bug report of a record; None if there is nothing to report.
    """
    examples = {line.members[0] for line in lines[:MOST_CAUSES]}
    issues = {
        (run, member.record.case): issue(assessment, member)
        for run, assessment in enumerate(each.assessment for each in runs)
        for member in assessment.statuses
        if (run, member.record.case) in examples
    }
    records = _Records(runs, lines, Problems(find), issues)
    values = {
        "statuses": [[status.value, look.symbol, look.is_red] for status, look in STATUSES.items()],
        "kinds": list(_KINDS),
        "runs": [_run(run) for run in runs],
        "waivers": records.waivers,
        "readings": _readings(runs),
        "causes": [
            {"name": line.name, "words": line.words, "clause": line.clause, "rule": line.rule} for line in lines
        ],
        "ids": records.ids,
        "facts": records.facts.values(),
        "phrases": list(records.phrases),
        "commands": list(records.commands),
    }
    facts = {f"fact {name}": numbers for name, numbers in records.facts.numbers().items()}
    if any(records.changes):
        values["transitions"] = list(Transition)
        records.columns["since"] = tuple(
            _TRANSITIONS[changes.get(member.record.case, _UNCHANGED)[0]]
            for run, changes in zip(runs, records.changes, strict=True)
            for member in run.assessment.statuses
        )
    data = block(values, {name: np.array(column) for name, column in records.columns.items()} | facts)
    return RecordBlocks(data, table_block(records.details), table_block(records.problems.table))


_Change = tuple[Transition | None, str, "RecordStatus | None"]
"""What became of a case since a baseline, the backend of the baseline, and its record there."""
_UNCHANGED: _Change = (None, "", None)


def _changes(run: Overview) -> dict[str, _Change]:
    """Return the changes of a run's cases since its baseline; empty without a baseline."""
    if (since := run.report.since) is None:
        return {}
    backend = since.old.assessment.run.header.backend.title
    before = {member.record.case: member for member in since.old.assessment.statuses}
    return {case: (group.transition, backend, before.get(case)) for group in since.groups for case in group.cases}


class _Records:
    """The records of runs, column by column. If records share a case, a phrase or a waiver, it is stored once."""

    def __init__(
        self,
        runs: Sequence[Overview],
        lines: Sequence[CauseLine],
        problems: Problems,
        issues: Mapping[tuple[int, str], str | None],
    ) -> None:
        self.facts, self.details, self.problems = Table(), Table(), problems
        self.phrases: Distinct[str] = Distinct()
        self.commands: Distinct[tuple[tuple[str, str], ...]] = Distinct()
        self._command_numbers: dict[tuple[object, ...], int] = {}
        self.waivers: list[dict[str, str]] = []
        self._waiver_numbers: dict[tuple[int, str], int] = {}
        self._causes, self._issues = cause_numbers(lines), issues
        self.changes = [*map(_changes, runs)]
        self._misreadings = [line.misreading for line in lines]
        self.ids = sorted({member.record.case for run in runs for member in run.assessment.statuses})
        self._cases = {case: number for number, case in enumerate(self.ids)}
        facts = {case: facts_of_case for run in runs for case, facts_of_case in run.assessment.facts.items()}
        for case in self.ids:
            known = facts.get(case) or facts_of(case)
            self.facts.append({"topic": topic_of(case), **known})
        headers = [run.assessment.run.header for run in runs]
        rows = [
            self._row(run, header, member)
            for run, header in enumerate(headers)
            for member in runs[run].assessment.statuses
        ]
        self.columns = dict(zip(_COLUMNS, zip(*rows, strict=True) if rows else [()] * len(_COLUMNS), strict=True))

    def _row(self, run: int, header: RunHeader, member: RecordStatus) -> tuple[float, ...]:
        """Return a record's value in each of `_COLUMNS`."""
        record = member.record
        text = _said(member.ruling)
        waiver = self._waiver(run, member)
        cause = self._causes.get((run, record.case), 0)
        detail = _detail(member, waiver, self._misreadings[cause - 1] if cause else "")
        if issue := self._issues.get((run, record.case)):
            detail["issue"] = issue
        _, backend, was = self.changes[run].get(record.case, _UNCHANGED)
        if was is not None:
            detail["was"] = (backend, was.status.value, was.ruling.kind, _said(was.ruling))
        dialect = DIALECTS.get(record.dialect)
        return (
            run,
            self._cases[record.case],
            _STATUSES[member.status],
            _KINDS[member.ruling.kind],
            self.phrases[text if member.waiver is None else f"{member.waiver.name}: {text}"],
            cause,
            self._commands_number(run, header, member),
            self.details.append(detail) + 1 if detail else 0,
            self.problems.number(record, dialect) if dialect else 0,
            # Four digits, as in the table: more would compress badly.
            round(record.seconds, 4) if math.isfinite(record.seconds) else math.nan,
            record.size[0],
        )

    def _commands_number(self, run: int, header: RunHeader, member: RecordStatus) -> int:
        record = member.record
        key = run, record.dialect, type(record.verdict), type(member.ruling), record.varies
        if key not in self._command_numbers:
            self._command_numbers[key] = self.commands[tuple(offered(header, member))]
        return self._command_numbers[key]

    def _waiver(self, run: int, member: RecordStatus) -> int | None:
        if member.waiver is None:
            return None
        number = self._waiver_numbers.setdefault((run, member.waiver.name), len(self.waivers))
        if number == len(self.waivers):
            self.waivers.append(overview.waiver_facts(member.waiver))
        return number


def _run(run: Overview) -> dict[str, str]:
    header = run.assessment.run.header
    return {
        "key": run.key,
        "name": run.name,
        "title": header.backend.title,
        "short": run.short,
        "backend": header.backend.spec or header.backend.name,
        "dialect": header.dialect,
    }


def _readings(runs: Sequence[Overview]) -> dict[str, dict[str, str]]:
    """Return the meaning of each followed reading, by dialect and name."""
    followed = {
        (member.record.dialect, name)
        for run in runs
        for member in run.assessment.statuses
        for names in readings(member.ruling)
        for name in names
    }
    meanings: dict[str, dict[str, str]] = {}
    for dialect_name in sorted({dialect_name for dialect_name, _ in followed} & DIALECTS.keys()):
        for reading in DIALECTS[dialect_name].disputed:
            if (dialect_name, reading.name) in followed:
                meanings.setdefault(dialect_name, {})[reading.name] = reading.says
    return meanings


def _said(verdict: Ruling) -> str:
    """Return a verdict's phrase in the table."""
    return shortened(" ".join(phrase(verdict).split()), _LONGEST)


def _detail(member: RecordStatus, waiver: int | None, misreading: str) -> dict[str, Any]:
    """Return what the view of a case shows of a record in addition to its phrase; nothing for a plain pass.

    If several misreadings give the output, the one that explains the cause is shown, if there is one.
    """
    record, ruling = member.record, member.ruling
    if isinstance(ruling, Agreed) and not ruling.notes and record.call is None:
        return {}
    explained = [each for each in member.why.explained if str(each) == misreading] or member.why.explained
    placed = member.why.placement
    earlier = record.earlier[-1:] and f"{len(record.earlier)} did not pass, the last {record.earlier[-1]}"
    columns = {
        "readings": readings(ruling),
        "wrong": getattr(ruling, "wrong", None),
        "prose": tuple((heading, text) for name, heading in _PROSE.items() if (text := getattr(ruling, name, ""))),
        "reason": "" if member.waiver else reason(member),
        "tolerance": tolerance(record),
        "why": capitalised(explanation(record, member.why)),
        "earlier": earlier,
        "artifact": record.artifact,
        "placement": placed and (placed.output, placed.strides, placed.dilations, placed.pads_begin),
        "candidates": tuple((str(together), says(together.names, record.dialect)) for together in explained),
        "waiver": waiver,
    }
    return {key: value for key, value in columns.items() if value not in {None, "", ()}}

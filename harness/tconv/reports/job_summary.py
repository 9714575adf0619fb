"""The summary of a CI job in GitHub's Markdown: the answer, the counts, and the causes of failures."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tconv.gate.status import FAILING
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.markdown import code, escaped
from tconv.reports.statuses import STATUSES
from tconv.reports.terminal import command_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.gate.status import Status
    from tconv.reports.between_runs.comparing import Comparison, Group
    from tconv.reports.report import Report, RunReport

# GitHub cuts a summary off after one megabyte.
_MOST, _MOST_COMPARED = 20, 40
"""The most causes of one status, and of a comparison."""
_MOST_CASES = 50
"""The most ids for one cause of a comparison."""
_TABLE = ("| cases | what | command that shows more |", "|--:|---|---|")
_LISTED = (Transition.NEW, Transition.CHANGED)
"""Transitions for which a comparison lists the cases."""


def markdown(report: Report) -> str:
    """Return the summary of runs, and the changes of their cases if there is a baseline."""
    lines = [f"## tconv: {'red' if report.is_red else 'green'}", "", *_table(report.runs), ""]
    for run in report.runs:
        for text in _noted(run):
            lines += [f"- {escaped(f'{run.name}: {text}')}", ""]
    for run in report.runs:
        lines += _why(run)
    if comparisons := list(report.comparisons):
        lines += ["## Since the baseline", ""]
        for comparison in comparisons:
            lines += _compared(comparison)
    return "\n".join(lines).rstrip("\n") + "\n"


def _noted(run: RunReport) -> Iterator[str]:
    yield from (note.text for note in run.notes if not note.is_minor)
    for note in run.record_notes:
        what = ": ".join(filter(None, (note.name, note.meaning)))
        yield f"noted of {note.count:,}, such as {note.example}: {what}"


def _table(runs: Sequence[RunReport]) -> Iterator[str]:
    shown = [status for status in STATUSES if any(run.assessment.counts[status] for run in runs)]
    yield "| | " + " | ".join(["result", *shown]) + " |"
    yield "|---|---|" + "--:|" * len(shown)
    for run in runs:
        counts = [f"{run.assessment.counts[status]:,}" for status in shown]
        yield f"| {escaped(run.name)} | {'red' if run.reasons else 'green'} | {' | '.join(counts)} |"


def _why(run: RunReport) -> Iterator[str]:
    if not run.reasons:
        return
    yield f"### {escaped(run.name)}"
    yield ""
    yield from (f"- {escaped(reason)}" for reason in run.red)
    yield ""
    for status in FAILING:
        yield from _causes(run, status)


def _compared(comparison: Comparison) -> Iterator[str]:
    yield f"### {escaped(comparison.title)}"
    yield ""
    yield f"**{escaped(comparison.sentence)}**" if comparison.worse else escaped(comparison.sentence)
    yield ""
    yield from (f"- {escaped(note.text)}" for note in comparison.notes)
    if comparison.differences:
        yield ""
        yield "What differs besides the answers:"
        yield ""
        for each in comparison.differences:
            yield f"- {escaped(each.name)}: {escaped(each.old or 'not said')}, now {escaped(each.new or 'not said')}"
    shown, more = comparison.groups[:_MOST_COMPARED], comparison.groups[_MOST_COMPARED:]
    if shown:
        yield ""
        yield "| | cases | cause | for example |"
        yield "|---|--:|---|---|"
    for group in shown:
        yield f"| {group.transition} | {len(group.cases):,} | {escaped(group.what)} | {code(group.example)} |"
    yield ""
    if more:
        yield f"{len(more)} smaller causes are left out."
        yield ""
    for group in shown:
        if group.transition in _LISTED and len(group.cases) > 1:
            yield from _cases(group)


def _cases(group: Group) -> Iterator[str]:
    what = escape(f"{group.transition}, {len(group.cases):,} cases: {group.what}")
    yield f"<details><summary>{what}</summary>"
    yield ""
    yield from (f"- {code(case)}" for case in group.cases[:_MOST_CASES])
    if (more := len(group.cases) - _MOST_CASES) > 0:
        yield f"- and {more:,} more"
    yield ""
    yield "</details>"
    yield ""


def _causes(run: RunReport, status: Status) -> Iterator[str]:
    causes = run.causes.get(status)
    if not causes:
        return
    yield from _TABLE
    for cause in causes[:_MOST]:
        words = command_of(run.assessment, cause)
        yield f"| {cause.count:,} | {escaped(cause.what)} | {code(words)} |"
    if rest := causes[_MOST:]:
        yield f"| {sum(cause.count for cause in rest):,} | in {len(rest)} smaller causes | |"
    yield ""

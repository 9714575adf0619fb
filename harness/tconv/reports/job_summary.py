"""The summary of a CI job in GitHub's Markdown: the answer, the counts, and the causes of what failed."""

from __future__ import annotations

from html import escape
from textwrap import shorten
from typing import TYPE_CHECKING

from tconv.gate.status import Status
from tconv.reports.between_runs import regressions
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.causes import causes
from tconv.reports.markdown import code, escaped
from tconv.reports.notes import notes_of
from tconv.reports.phrases import notes_on
from tconv.reports.red import red_lines
from tconv.reports.run_names import run_names
from tconv.reports.statuses import STATUSES
from tconv.reports.terminal import command, command_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs import Comparison
    from tconv.reports.between_runs.comparing import Group

# GitHub cuts a summary off at a megabyte.
_MOST, _MOST_COMPARED = 20, 40
"""Causes of one status, and of a comparison."""
_MOST_CASES = 50
"""Ids of one cause of a comparison."""
_TABLE = ("| cases | what | command that shows more |", "|--:|---|---|")
_LISTED = (Transition.NEW, Transition.CHANGED)
"""Transitions of which a comparison lists the cases."""
_FOLDED = (Status.REPORTED, Status.MISTRUSTED, Status.DISPUTED, Status.WAIVED)


def markdown(assessments: Sequence[Assessment], comparisons: Sequence[Comparison] = ()) -> str:
    """Return the summary of runs, and what became of their cases since a baseline where there is one."""
    red = [assessment for assessment in assessments if assessment.red]
    worse = sum(comparison.worse for comparison in comparisons)
    because = f": {worse:,} {'case' if worse == 1 else 'cases'} became worse" if worse and not red else ""
    names = run_names(assessments)
    lines = [
        f"## tconv: {'red' if red or worse else 'green'}{because}",
        "",
        *_table(assessments, names, comparisons),
        "",
    ]
    for name, assessment in zip(names, assessments, strict=True):
        for note in notes_on(assessment):
            lines += [f"- {escaped(f'{name}: {note}')}", ""]
    for name, assessment in zip(names, assessments, strict=True):
        lines += _why(name, assessment)
    if comparisons:
        lines += ["## Since the baseline", ""]
        for comparison in comparisons:
            lines += _compared(comparison)
    for name, assessment in zip(names, assessments, strict=True):
        lines += _known(name if len(names) > 1 else "", assessment)
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(assessments: Sequence[Assessment], names: Sequence[str], comparisons: Sequence[Comparison]) -> Iterator[str]:
    shown = [status for status in STATUSES if any(assessment.counts[status] for assessment in assessments)]
    yield "| | " + " | ".join(["gate", *shown]) + " |"
    yield "|---|---|" + "--:|" * len(shown)
    for name, assessment in zip(names, assessments, strict=True):
        counts = [f"{assessment.counts[status]:,}" for status in shown]
        red = assessment.red or regressions(assessment, comparisons)
        yield f"| {escaped(name)} | {'red' if red else 'green'} | {' | '.join(counts)} |"


def _why(name: str, assessment: Assessment) -> Iterator[str]:
    if not assessment.red:
        return
    yield f"### {escaped(name)}"
    yield ""
    yield from (f"- {escaped(reason)}" for reason in red_lines(assessment))
    yield ""
    yield from _causes(assessment, Status.FAILED)


def _known(name: str, assessment: Assessment) -> Iterator[str]:
    """Yield the causes of what is no failure, behind a line that opens them and begins with the run's name, if any."""
    of_run = f"{escape(name)}: " if name else ""
    for status in _FOLDED:
        if count := assessment.counts[status]:
            yield f"<details><summary>{of_run}{count:,} {status}: {STATUSES[status].total}</summary>"
            yield ""
            yield from _causes(assessment, status)
            yield "</details>"
            yield ""
    if notes := notes_of(assessment):
        yield f"<details><summary>{of_run}noted, and no failure</summary>"
        yield ""
        yield from _TABLE
        for note in notes:
            what = ": ".join(filter(None, (note.name, note.meaning)))
            yield f"| {note.count:,} | {escaped(what)} | {code(command(assessment, note.example))} |"
        yield ""
        yield "</details>"
        yield ""


def _compared(comparison: Comparison) -> Iterator[str]:
    yield f"### {escaped(comparison.title)}"
    yield ""
    yield f"**{escaped(comparison.sentence)}**" if comparison.worse else escaped(comparison.sentence)
    yield ""
    yield from (f"- {escaped(note)}" for note in comparison.notes)
    if comparison.differences:
        names = shorten(", ".join(difference.name for difference in comparison.differences), 200)
        yield ""
        yield f"<details><summary>What differs besides the answers: {escape(names)}</summary>"
        yield ""
        yield "| | old | new |"
        yield "|---|---|---|"
        for name, old, new in comparison.differences:
            yield f"| {escaped(name)} | {escaped(old)} | {escaped(new)} |"
        yield ""
        yield "</details>"
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


def _causes(assessment: Assessment, status: Status) -> Iterator[str]:
    causes_of_status = causes(assessment, status)
    if not causes_of_status:
        return
    yield from _TABLE
    for cause in causes_of_status[:_MOST]:
        words = command_of(assessment, cause, status)
        yield f"| {cause.count:,} | {escaped(cause.what)} | {code(words)} |"
    if rest := causes_of_status[_MOST:]:
        yield f"| {sum(cause.count for cause in rest):,} | in {len(rest)} smaller causes | |"
    yield ""

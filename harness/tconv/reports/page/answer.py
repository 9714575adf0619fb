"""The answer that the page begins with: red or green, and why, in a sentence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tconv.gate.status import FAILING, Status
from tconv.reports.notes import NOTHING_PASSED
from tconv.reports.page.cause_lines import rules_text
from tconv.reports.statuses import STATUSES
from tconv.shown_texts import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.assessment import Assessment
    from tconv.learning import Lesson
    from tconv.reports.page.cause_lines import CauseLine
    from tconv.reports.report import Report

_LONGEST = 140
"""Characters of a cause in the sentence; its line has all of it."""


def answer(report: Report, lines: Sequence[CauseLine]) -> str:
    """Return why the runs are red, or what green means, in a sentence that goes on after `Red:` or `Green:`.

    Args:
        report: the runs.
        lines: their causes, those of failures first.
    """
    failed, undeclared = ([line for line in lines if line.total[status]] for status in FAILING)
    if failed or undeclared:
        return _failures(failed, undeclared, len(report.runs))
    if reasons := [reason for run in report.runs for reason in run.red]:
        return f"no case failed, but {shortened(reasons[0], 2 * _LONGEST)}"
    nothing = [note.text for run in report.runs for note in run.notes if note.name == NOTHING_PASSED]
    if nothing and len(report.runs) == 1:
        return ", and ".join(nothing)
    assessments = [run.assessment for run in report.runs]
    return "every deviation is known" if any(map(_deviations, assessments)) else "every answer is as expected"


def totals(report: Report) -> list[tuple[Status, int]]:
    """Return how many records of all runs each status has, without those that have none."""
    counts = sum((run.assessment.counts for run in report.runs), Counter[Status]())
    return [(status, counts[status]) for status in STATUSES if counts[status]]


def _deviations(assessment: Assessment) -> int:
    return assessment.counts[Status.WAIVED] + assessment.counts[Status.REPORTED]


def _failures(failed: Sequence[CauseLine], undeclared: Sequence[CauseLine], runs: int) -> str:
    """Return what failed: wrong answers first, and what is only undeclared in few words beside them."""
    if not failed:
        return _counted(undeclared, Status.UNDECLARED, runs) + _largest(undeclared, Status.UNDECLARED)
    more = f"; and {_counted(undeclared, Status.UNDECLARED, runs)}" if undeclared else ""
    return _counted(failed, Status.FAILED, runs) + _largest(failed, Status.FAILED) + more


def _counted(lines: Sequence[CauseLine], status: Status, runs: int) -> str:
    """Return how many cases have a status, in how many runs, of how many causes."""
    failed = sum(line.total[status] for line in lines)
    red = sum(any(line.counts[run][status] for line in lines) for run in range(runs))
    what = "failure" if failed == 1 else "failures"
    if status is Status.UNDECLARED:
        what = f"unsupported that {'is' if failed == 1 else 'are'} not declared"
    where = f" in {red} of {runs} runs" if runs > 1 else ""
    return f"{failed:,} {what}{where}, {'one cause' if len(lines) == 1 else f'{len(lines)} causes'}"


def _largest(lines: Sequence[CauseLine], status: Status) -> str:
    """Return the end of a sentence about failures: the cause of most of them; empty where each has its own."""
    largest = max(lines, key=lambda line: line.total[status])
    most = largest.total[status]
    if len(lines) == 1:
        return f": {_named(largest)}"
    return f"; the largest, {most:,}: {_named(largest)}" if most > 1 else ""


def _named(line: CauseLine) -> str:
    """Return a cause in few words: what its cases share says most to a reader who comes for the first time."""
    if line.shares:
        joint = " where" if line.conditional else ", all are"
        return f"{' or '.join(line.kinds)}{joint} {line.shares}"
    if line.lesson is not None:
        return _of_rule(line.lesson, line.words)
    return shortened(line.message if line.worst is Status.UNDECLARED else line.words, _LONGEST)


def _of_rule(lesson: Lesson, words: str) -> str:
    """Return a learnt rule in few words, with whole formulas or none: what is cut may be what makes the difference."""
    if len(words) <= _LONGEST:
        return words
    without_text = rules_text(lesson, [f"{rule.computed}, the text says another" for rule in lesson.rules])
    if len(without_text) <= _LONGEST:
        return without_text
    return rules_text(lesson, [f"{rule.quantity} is not what the text says" for rule in lesson.rules])

"""The answer that the page begins with: red or green, and why, in a sentence."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tconv.gate.status import RULINGS, Status
from tconv.reports.phrases import nothing_passed
from tconv.reports.red import other_lines
from tconv.reports.statuses import STATUSES
from tconv.shown_texts import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs import Comparison
    from tconv.reports.page.cause_lines import CauseLine

_LONGEST = 140
"""Characters of a cause in the sentence; its line has all of it."""
_OWED = re.compile(r", the text says .*?(?=; |$)")
"""The end of a learnt rule: the formula of the text."""
_FORMULA = re.compile(r"(\w+) is .*?(?=; \w+ is |$)")
"""A quantity with its formulas."""
_KINDS = re.compile(r"[a-z-]+(?: or [a-z-]+)*(?=[: ])")
"""Kinds of verdict at the beginning of a cause."""


def is_red(assessments: Sequence[Assessment], comparisons: Sequence[Comparison]) -> bool:
    """Return whether a run is red, or a case became worse than in its baseline."""
    return any(assessment.red for assessment in assessments) or any(comparison.worse for comparison in comparisons)


def answer(
    assessments: Sequence[Assessment], lines: Sequence[CauseLine], comparisons: Sequence[Comparison] = ()
) -> str:
    """Return why the runs are red, or what green means, in a sentence that goes on after `Red:` or `Green:`.

    Args:
        assessments: the runs.
        lines: their causes, those of failures first.
        comparisons: what became of their cases since a baseline.
    """
    if red := [line for line in lines if line.total[Status.FAILED]]:
        return _failures(red, len(assessments))
    reasons = [reason for assessment in assessments for reason in other_lines(assessment)]
    if reasons:
        return f"no case failed, but {shortened(reasons[0], 2 * _LONGEST)}"
    if worse := sum(comparison.worse for comparison in comparisons):
        return f"no case failed, but {worse:,} {'case is' if worse == 1 else 'cases are'} worse than in the baseline"
    if len(assessments) == 1 and (notes := nothing_passed(assessments[0])):
        return ", and ".join(notes)
    return "every deviation is known" if any(_deviations(a) for a in assessments) else "every answer is as owed"


def totals(assessments: Sequence[Assessment]) -> list[tuple[Status, int]]:
    """Return how many records of all runs each status has, without those that have none."""
    counts = sum((assessment.counts for assessment in assessments), Counter[Status]())
    return [(status, counts[status]) for status in STATUSES if counts[status]]


def _deviations(assessment: Assessment) -> int:
    return assessment.counts[Status.WAIVED] + assessment.counts[Status.REPORTED]


def _failures(lines: Sequence[CauseLine], runs: int) -> str:
    """Return what failed: wrong answers first, and what is only undeclared in few words beside them."""
    wrong = [line for line in lines if not line.undeclared]
    undeclared = [line for line in lines if line.undeclared]
    if not wrong or not undeclared:
        return _counted(lines, runs) + _largest(lines)
    return f"{_counted(wrong, runs)}{_largest(wrong)}; and {_counted(undeclared, runs)}"


def _counted(lines: Sequence[CauseLine], runs: int) -> str:
    """Return how many cases failed, in how many runs, of how many causes; all of them undeclared, or none."""
    failed = sum(line.total[Status.FAILED] for line in lines)
    red = sum(any(line.counts[run][Status.FAILED] for line in lines) for run in range(runs))
    what = "failure" if failed == 1 else "failures"
    if lines[0].undeclared:
        what = f"unsupported that {'is' if failed == 1 else 'are'} not declared"
    where = f" in {red} of {runs} runs" if runs > 1 else ""
    return f"{failed:,} {what}{where}, {'one cause' if len(lines) == 1 else f'{len(lines)} causes'}"


def _largest(lines: Sequence[CauseLine]) -> str:
    """Return the end of a sentence about failures: the cause of most of them; empty where each has its own."""
    largest = max(lines, key=lambda line: line.total[Status.FAILED])
    most = largest.total[Status.FAILED]
    if len(lines) == 1:
        return f": {_named(largest)}"
    return f"; the largest, {most:,}: {_named(largest)}" if most > 1 else ""


def _named(line: CauseLine) -> str:
    """Return a cause in few words: what its cases share says most to a reader who comes for the first time."""
    if line.learnt and not line.shares:
        return _of_rule(line.words)
    if not line.shares:
        return shortened(line.message if line.undeclared else line.words, _LONGEST)
    kinds = _kinds(line.words)
    if line.conditional:
        return f"{kinds} where {line.shares}".lstrip()
    return f"{kinds}, all are {line.shares}" if kinds else f"all are {line.shares}"


def _kinds(words: str) -> str:
    """Return the kinds of verdict that the words of a cause begin with; empty where they begin otherwise."""
    beginning = _KINDS.match(words)
    return beginning[0] if beginning and RULINGS.keys() >= set(beginning[0].split(" or ")) else ""


def _of_rule(words: str) -> str:
    """Return a learnt rule in few words, with whole formulas or none: what is cut may be what makes the difference."""
    if len(words) <= _LONGEST:
        return words
    runtime_s = _OWED.sub(", the text says otherwise", words)
    return runtime_s if len(runtime_s) <= _LONGEST else _FORMULA.sub(r"\1 is not what the text says", words)

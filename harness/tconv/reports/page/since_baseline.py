"""What became of the cases of a page's runs since a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.reports.between_runs.transitions import Transition
from tconv.reports.page.overview import link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.reports.between_runs.comparing import Comparison, Group
    from tconv.reports.page.overview import Overview

_MOST = 12
"""Causes of a comparison on the page; `tconv report --verbose` has all."""


@dataclass(frozen=True, slots=True)
class Change:
    """How many cases have a transition, and the filter that shows them; empty where the run has not asked them."""

    transition: Transition
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Since:
    """A comparison of one of the page's runs with its baseline.

    Attributes:
        comparison: the comparison.
        changes: its transitions that some case has.
        largest: the first causes, each with the link to its example; empty where the run has not asked that.
        more: how many causes are left out.
    """

    comparison: Comparison
    changes: tuple[Change, ...]
    largest: tuple[tuple[Group, str], ...]
    more: int


def since_baseline(runs: Sequence[Overview], comparisons: Sequence[Comparison]) -> dict[str, list[Since]]:
    """Return the comparisons of each run, by its key; runs that are not compared are left out.

    Args:
        runs: the page's runs.
        comparisons: comparisons whose new runs are among them.
    """
    by_case: dict[str, list[Since]] = {}
    for run in runs:
        for comparison in comparisons:
            if comparison.new is run.assessment:
                by_case.setdefault(run.key, []).append(_since(run.key, comparison))
    return by_case


def _since(key: str, comparison: Comparison) -> Since:
    changes = tuple(
        Change(transition, count, "" if transition is Transition.GONE else link(backend=key, since=transition.value))
        for transition in Transition
        if (count := comparison.count(transition))
    )
    largest = tuple(
        (group, "" if group.transition is Transition.GONE else link(case=group.example, run=key))
        for group in comparison.groups[:_MOST]
    )
    return Since(comparison, changes, largest, max(len(comparison.groups) - _MOST, 0))


def transitions(runs: Sequence[Overview], comparisons: Sequence[Comparison]) -> Mapping[tuple[int, str], Transition]:
    """Return what became of the cases that are not as they were, by the number of their run and their id.

    With several baselines it is the most urgent.
    """
    numbers = {id(run.assessment): number for number, run in enumerate(runs)}
    transitions_found: dict[tuple[int, str], Transition] = {}
    for comparison in comparisons:
        for group in comparison.groups:
            for case in group.cases:
                key = numbers[id(comparison.new)], case
                transitions_found[key] = min(
                    transitions_found.get(key, group.transition), group.transition, key=list(Transition).index
                )
    return transitions_found

"""Why the operator is wrong in a graph and right alone: the smallest set of levels that fails, and its condition.

For example, a context with four levels fails, so tconv also ran two smaller ones. With only a Pad before the operator
the graph fails; with the three other levels it is right. So the Pad explains the failure, and all other failures with
the same smallest set.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.patterns import levels_of, twin_of, with_levels
from tconv.diagnosis import single_explanations
from tconv.evidence.calls import answer_of
from tconv.evidence.hypotheses import Explanation, InContext
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tconv.evidence.calls import Calls
    from tconv.records.record import Record

_FEWEST = 4
"""A misreading must explain so many failures in contexts, or all if there are fewer."""
_SAID = ver.RefusedValid | ver.BackendError | ver.Crashed
"""Failures that differ in their words."""
_NOT_ASKED = ("unsupported", "timed-out")
"""Failures that are not tried in a smaller context: their words name what is missing, or each takes the time limit."""


def explain_contexts(calls: Calls) -> Iterator[Explanation]:
    """Yield the explanations of the failures in contexts, those of the most cases first."""
    # Waived failures count too: a waiver does not change which set is the smallest.
    kinds = {answer.record.case: kind_of(answer.record) for answer in calls.answers}
    members: dict[InContext, list[int]] = defaultdict(list)
    named = _named(calls)
    for case, levels in find_smallest(kinds).items():
        number = calls.numbers[case]
        answer = calls.answers[number]
        if case not in named and answer.failure is not None:
            words = answer.failure.words if isinstance(answer.verdict, _SAID) else ""
            members[InContext(answer.failure.kind, levels, words)].append(number)
    ids = [*calls.numbers]
    levels_of_each = [set(levels_of(case)) for case in ids]
    for what, numbers in sorted(members.items(), key=lambda item: (-len(item[1]), item[0].levels)):
        failing = np.zeros_like(calls.failed)
        failing[numbers] = True
        # A right context with these levels helps to find the condition of the failures.
        with_levels_too = np.array([levels.issuperset(what.levels) for levels in levels_of_each], dtype=bool)
        right = calls.right & with_levels_too
        terms = (calls.condition(failing, right) or ()) if right.any() and len(numbers) > 1 else ()
        # A condition must hold for all these failures.
        terms = terms if (calls.meeting(terms) | ~failing).all() else ()
        holds = calls.meeting(terms)
        yield Explanation(
            what,
            terms,
            tuple(ids[number] for number in numbers),
            int((failing & holds).sum()),
            frozenset(ids[number] for number in np.flatnonzero(right & holds)),
            int(right.sum()),
        )


def with_changes(explanation: Explanation, changed: Iterable[Record]) -> Explanation:
    """Return an explanation with the changes that make the smallest context right.

    Args:
        explanation: an explanation of some failures of a run.
        changed: the records of contexts that were run with a change.
    """
    if not isinstance(what := explanation.what, InContext):
        return explanation
    smallest = {with_levels(case, what.levels) for case in explanation.cases}
    right = [of for of in changed if of.case in smallest and isinstance(of.verdict, ver.Allowed)]
    return replace(explanation, changes=tuple(of.changed for of in right if of.changed is not None))


def _named(calls: Calls) -> set[str]:
    """Return the failures in contexts that a misreading explains, if it explains more than a few of them.

    A few outputs of a wrong fusion may equal those of a misreading by chance.
    """
    wrong = {
        answer.record.case: answer.why.explained
        for answer in calls.answers
        if answer.failure is not None and isinstance(answer.verdict, ver.WrongValues) and levels_of(answer.record.case)
    }
    names = single_explanations(wrong)
    counts = Counter(names.values())
    return {case for case, name in names.items() if counts[name] >= min(_FEWEST, len(wrong))}


def kind_of(record: Record) -> str | None:
    """Return the kind of failure of a record; None if it is no failure."""
    shown = answer_of(record).failure
    return None if shown is None else shown.kind


def find_smallest(kinds: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """Return the smallest failing set of levels of each failing context, if its operator alone does not fail.

    Args:
        kinds: the kind of failure of each case; None if it does not fail.
    """
    return {case: smallest_known(case, kinds) or levels_of(case) for case in failing_contexts(kinds)}


def failing_contexts(kinds: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the contexts that fail, and whose operator alone was run and does not fail."""
    for case, kind in kinds.items():
        twin = twin_of(case)
        if kind not in {None, *_NOT_ASKED} and twin is not None and kinds.get(twin, kind) is None:
            yield case


def smallest_known(case: str, kinds: Mapping[str, str | None]) -> tuple[str, ...] | None:
    """Return the smallest proper subset of the levels of a case that fails in the same way; None if none is known."""
    levels = levels_of(case)
    for subset in chain.from_iterable(combinations(levels, size) for size in range(1, len(levels))):
        if kinds.get(with_levels(case, subset)) == kinds[case]:
            return subset
    return None

"""The smallest set of levels of a context that fails: the backend is asked for contexts with fewer levels.

For example, a context with four levels fails. First the backend is asked for the operator alone, if the run lacks it,
and then for each level alone. The first of these is the level whose contexts fail most often. If one fails as all four
do, it is the smallest set. Then the context is asked again without this level, because another failure may be hidden.
Each of these calls is a case of the same sweep, with its own id. The choice depends on outcomes, and never on waivers.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

from tconv.cases.patterns import levels_of, twin_of, with_levels
from tconv.evidence.contexts import failing_contexts, kind_of, smallest_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tconv.cases.case import Case
    from tconv.records.record import Record
    from tconv.records.record_file import Run

MOST = 400
"""The most cases that are asked in a run."""


def ask_smaller(
    run: Run, find: Callable[[str], Case | None], ask: Callable[[list[Case]], list[Record]], most: int = MOST
) -> None:
    """Ask for contexts with fewer levels than failing ones, until the smallest set of each is known.

    Args:
        run: the records; `ask` adds the new records to it.
        find: returns a case by its id; None if there is none.
        ask: asks the backend for cases, and returns their records.
        most: the most cases to ask; those of the smallest sets come first.
    """
    known = {record.case: kind_of(record) for record in (*run.records, *run.asked)}
    alone = [twin for case, kind in known.items() if kind is not None and (twin := twin_of(case)) is not None]
    most -= _ask_all(alone, known, find, ask, most)
    suspicion = _suspicion(known)
    looked_at: set[str] = set()
    while most > 0 and (open_ := sorted(case for case in failing_contexts(known) if case not in looked_at)):
        looked_at.update(open_)
        tries = {case: iter(_smaller(case, suspicion)) for case in open_}
        while tries and most > 0:
            tries = {case: rest for case, rest in tries.items() if smallest_known(case, known) is None}
            # One case of each, because the first is usually the right one.
            following = {case: next((text for text in rest if text not in known), "") for case, rest in tries.items()}
            tries = {case: tries[case] for case, text in following.items() if text}
            most -= _ask_all(filter(None, following.values()), known, find, ask, most)
        rests = [_without(case, levels) for case in open_ if (levels := smallest_known(case, known))]
        most -= _ask_all([rest for rest in rests if levels_of(rest)], known, find, ask, most)


def _suspicion(kinds: Mapping[str, str | None]) -> dict[str, float]:
    """Return the part of the contexts with each level that fail."""
    with_level: dict[str, list[bool]] = defaultdict(list)
    for case, kind in kinds.items():
        for level in levels_of(case):
            with_level[level].append(kind is not None)
    return {level: sum(fails) / len(fails) for level, fails in with_level.items()}


def _smaller(case: str, suspicion: Mapping[str, float]) -> list[str]:
    """Return the contexts with fewer levels: the fewest first, and for equal numbers the most suspicious."""
    levels = levels_of(case)
    subsets = [subset for size in range(1, len(levels)) for subset in combinations(levels, size)]
    subsets.sort(key=lambda subset: (len(subset), -sum(suspicion[level] for level in subset)))
    return [with_levels(case, subset) for subset in subsets]


def _without(case: str, levels: Iterable[str]) -> str:
    return with_levels(case, set(levels_of(case)) - set(levels))


def _ask_all(
    ids: Iterable[str],
    known: dict[str, str | None],
    find: Callable[[str], Case | None],
    ask: Callable[[list[Case]], list[Record]],
    most: int,
) -> int:
    """Ask for cases that are not yet known; return their number."""
    cases = [case for text in dict.fromkeys(ids) if text not in known and (case := find(text)) is not None][:most]
    for record in ask(cases) if cases else ():
        known[record.case] = kind_of(record)
    return len(cases)

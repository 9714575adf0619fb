"""The smallest set of levels of a context that fails: found by asking the backend for contexts with fewer levels.

For example, of a context with four levels the backend is asked for each level alone; if one of them fails as all four
do, that level is the smallest set, and the context is asked again without it: another failure may hide behind it. Each
of these is a case of the same sweep, with an id of its own. What is asked depends on outcomes, and never on waivers.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from tconv.cases.patterns import levels_of, twin_of, with_levels
from tconv.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tconv.cases.case import Case
    from tconv.records.record import Record
    from tconv.records.record_file import Run

MOST = 400
"""Cases that are asked in a run at most: OpenVINO, with fifty failing contexts, needed two hundred."""


def ask_smaller(
    run: Run, find: Callable[[str], Case | None], ask: Callable[[list[Case]], list[Record]], most: int = MOST
) -> None:
    """Ask for contexts with fewer levels than those that fail, until the smallest set of each is known.

    Args:
        run: the records; `ask` adds to it what comes.
        find: returns a case by its id; None if there is none.
        ask: asks the backend for cases, and returns their records.
        most: how many are asked at most, those of the smallest sets first.
    """
    known = {record.case: _kind(record) for record in (*run.records, *run.asked)}
    looked_at: set[str] = set()
    while open_ := sorted(case for case in _failing(known) if case not in looked_at):
        looked_at.update(open_)
        for size in range(1, max(map(_count, open_))):
            subsets = [smaller for case in open_ if _smallest(case, known) is None for smaller in _smaller(case, size)]
            most -= _ask_all(subsets, known, find, ask, most)
        rests = [_without(case, levels) for case in open_ if (levels := _smallest(case, known))]
        most -= _ask_all([rest for rest in rests if levels_of(rest)], known, find, ask, most)


def find_smallest(kinds: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """Return the smallest failing set of levels of each failing context whose operator alone does not fail.

    Args:
        kinds: how each case fails; None if it does not.
    """
    return {case: _smallest(case, kinds) or levels_of(case) for case in _failing(kinds)}


def _kind(record: Record) -> str | None:
    shown = failure(record, record.verdict, ())
    return None if shown is None else shown.kind


def _failing(kinds: Mapping[str, str | None]) -> Iterator[str]:
    for case, kind in kinds.items():
        if kind is not None and (twin := twin_of(case)) is not None and kinds.get(twin) is None:
            yield case


def _count(case: str) -> int:
    return len(levels_of(case))


def _smaller(case: str, size: int) -> list[str]:
    levels = levels_of(case)
    return [with_levels(case, subset) for subset in combinations(levels, size)] if size < len(levels) else []


def _smallest(case: str, kinds: Mapping[str, str | None]) -> tuple[str, ...] | None:
    """Return the smallest proper subset of the levels of a case that fails in the same way; None if none is known."""
    for size in range(1, _count(case)):
        for smaller in _smaller(case, size):
            if kinds.get(smaller) == kinds[case]:
                return levels_of(smaller)
    return None


def _without(case: str, levels: Iterable[str]) -> str:
    return with_levels(case, set(levels_of(case)) - set(levels))


def _ask_all(
    ids: Iterable[str],
    known: dict[str, str | None],
    find: Callable[[str], Case | None],
    ask: Callable[[list[Case]], list[Record]],
    most: int,
) -> int:
    """Ask for cases that are not known yet; return how many."""
    cases = [case for text in dict.fromkeys(ids) if text not in known and (case := find(text)) is not None][:most]
    for record in ask(cases) if cases else ():
        known[record.case] = _kind(record)
    return len(cases)

"""Drawn cases on a backend, or on two: what deviates, each kind once, with its first case shrunk."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from tconv.diagnosis import shared
from tconv.investigation.shrinking import shrunk
from tconv.records.failure import Failure, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.pool import Pool
    from tconv.records.record_file import Record

BATCH = 64
"""Cases that are run between two looks at the clock."""
MOST_SHRUNK = 40
"""Findings that are shrunk; of a backend that has more there is something else to say first."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A case that failed, its records, one for each backend that was asked, and what makes another one the same."""

    case: Case
    records: tuple[Record, ...]
    failure: Failure


@dataclass(frozen=True, slots=True)
class Finding:
    """Failures that are one.

    Attributes:
        what: the verdict's kind and the explanation, or its words without numbers.
        count: how many cases failed so.
        first: the id of the first of them.
        smallest: the first of them, shrunk.
        like: the waiver whose example fails alike, though it does not cover the case; None for none.
        whole: whether shrinking came to its end.
    """

    what: str
    count: int
    first: str
    smallest: Deviation
    like: str | None = None
    whole: bool = True


def looking(pool: Pool, known: Callable[[Case, Record], bool]) -> Callable[[Sequence[Case]], list[Deviation]]:
    """Return what runs cases in a pool and returns those that fail.

    Args:
        pool: where.
        known: whether what came of a case is no news.
    """

    def look(cases: Sequence[Case]) -> list[Deviation]:
        records = pool.records(cases)
        return [
            Deviation(case, (record,), found)
            for case, record in ((case, records[case.id]) for case in cases)
            if not known(case, record) and (found := failure(record)) is not None
        ]

    return look


def fuzz(
    cases: Iterable[Case],
    look: Callable[[Sequence[Case]], list[Deviation]],
    more: Callable[[int, int], bool],
) -> list[Deviation]:
    """Run cases, and return those that deviate, in the order in which they were drawn.

    Args:
        cases: what is run, as many as there are, or until `more` says no.
        look: runs some of them.
        more: called with the number of cases run and of those that failed; whether to go on.
    """
    found: list[Deviation] = []
    ran, left = 0, iter(cases)
    while more(ran, len(found)) and (batch := list(islice(left, BATCH))):
        found += look(batch)
        ran += len(batch)
    more(ran, len(found))
    return found


def findings(
    deviations: Sequence[Deviation],
    row: Dialect,
    look: Callable[[Sequence[Case]], list[Deviation]],
    familiar: Mapping[str, Failure],
    progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Finding]:
    """Return what deviations come to, most frequent first: each kind once, with its first case shrunk.

    Args:
        deviations: cases that failed, and their records.
        row: the dialect.
        look: runs simpler cases; a finding is not shrunk to one that is no news.
        familiar: failures of known cases, by the names of their waivers.
        progress: called with the number of findings shrunk and of all.
    """
    groups = _grouped(deviations)
    made: dict[object, Finding] = {}
    order = {one.case.id: number for number, one in enumerate(deviations)}
    for number, (wanted, members) in enumerate(groups.items()):
        progress(number, len(groups))
        one = _finding(wanted, members, row, look if number < MOST_SHRUNK else None, f"shrink-{number}")
        one = replace(one, like=_likeness(one.smallest.failure, familiar))
        # Two explanations of one cause end in one case.
        if before := made.get(said := one.smallest.case.content):
            first = min(before.first, one.first, key=order.__getitem__)
            one = replace(before, count=before.count + one.count, first=first)
        made[said] = one
    return [
        replace(finding, smallest=_named(finding.smallest, number))
        for number, finding in enumerate(sorted(made.values(), key=lambda one: -one.count), start=1)
    ]


def _finding(
    wanted: Failure,
    members: Sequence[Deviation],
    row: Dialect,
    look: Callable[[Sequence[Case]], list[Deviation]] | None,
    name: str,
) -> Finding:
    """Return one kind of failure, its first case shrunk where there is someone to ask."""
    smallest = members[0]
    if look is not None:

        def same(case: Case) -> Deviation | None:
            return next((one for one in look([case]) if wanted.alike(one.failure)), None)

        smallest = shrunk(smallest.case, smallest, row, same, name).answer
    what = _what(wanted, smallest.failure)
    return Finding(what, len(members), members[0].case.id, smallest, whole=look is not None)


def _grouped(deviations: Sequence[Deviation]) -> dict[Failure, list[Deviation]]:
    explained = shared({one.case.id: one.failure.explained for one in deviations})
    groups: dict[Failure, list[Deviation]] = defaultdict(list)
    for one in deviations:
        name = explained.get(one.case.id)
        groups[replace(one.failure, explained=(name,) if name else ())].append(one)
    # The most frequent are shrunk first.
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _what(wanted: Failure, smallest: Failure) -> str:
    """Return a failure in words; a small case may be explained where a large one took too long."""
    if explained := wanted.explained or smallest.explained:
        return f"{wanted.kind} as if {explained[0]}"
    return f"{wanted.kind}: {wanted.words}" if wanted.words else wanted.kind


_SAYS_LITTLE = {"died", "timed-out"}
"""Kinds of failures that have the same words whatever their cause."""


def _likeness(found: Failure, familiar: Mapping[str, Failure]) -> str | None:
    """Return the first waiver whose example fails alike, and in words that mean something."""
    if found.kind in _SAYS_LITTLE or not (found.explained or found.words):
        return None
    return next((name for name, known in familiar.items() if found.alike(known)), None)


def _named(found: Deviation, number: int) -> Deviation:
    name = f"findings/{found.failure.kind}-{number}"
    records = tuple(replace(record, case=name) for record in found.records)
    return replace(found, case=replace(found.case, id=name), records=records)

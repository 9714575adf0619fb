"""Random cases on a backend: the kinds of deviations, each with its first case shrunk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from tconv.diagnosis import single_explanations
from tconv.investigation.shrinking import shrunk
from tconv.records.failure import Failure, failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.pool import Pool
    from tconv.records.record import Record

BATCH = 64
"""The number of cases between two looks at the clock."""
MOST_SHRUNK = 40
"""The most findings that are shrunk; further ones are reported as they were drawn."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A case that failed, its record, and the failure, which is compared with others."""

    case: Case
    record: Record
    failure: Failure


Look = Callable[[Sequence["Case"]], list[Deviation]]
"""Runs cases and returns those that deviate."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A kind of failure.

    Attributes:
        what: the kind of verdict with the explanation; without one, with its words without numbers.
        count: the number of cases with this failure.
        first: the id of the first of them.
        smallest: the first of them, shrunk.
        is_shrunk: whether the first case was shrunk.
    """

    what: str
    count: int
    first: str
    smallest: Deviation
    is_shrunk: bool = True


def looking(pool: Pool, known: Callable[[Case, Record], bool]) -> Look:
    """Return a function that runs cases in a pool and returns those that fail.

    Args:
        pool: the pool of a backend.
        known: whether the record of a case is already known.
    """

    def look(cases: Sequence[Case]) -> list[Deviation]:
        records = pool.records(cases)
        return [
            Deviation(case, record, new)
            for case, record in ((case, records[case.id]) for case in cases)
            if not known(case, record) and (new := failure(record)) is not None
        ]

    return look


@dataclass(slots=True)
class Fuzzing:
    """The findings of drawn cases so far; they remain if drawing or shrinking is interrupted.

    Attributes:
        dialect: the dialect.
        deviations: the cases that failed, in the order in which they were drawn.
        smallest: the shrunk first case of each kind of failure, if it is already shrunk.
    """

    dialect: Dialect
    deviations: list[Deviation] = field(default_factory=list)
    smallest: dict[Failure, Deviation] = field(default_factory=dict)

    def draw(self, cases: Iterable[Case], look: Look, more: Callable[[int, int], bool]) -> None:
        """Run cases, and keep those that deviate.

        Args:
            cases: the cases, perhaps without end.
            look: runs cases and returns those that deviate.
            more: is called with the numbers of cases run and of deviations; returns whether to continue.
        """
        ran, remaining = 0, iter(cases)
        while more(ran, len(self.deviations)) and (batch := list(islice(remaining, BATCH))):
            self.deviations += look(batch)
            ran += len(batch)
        more(ran, len(self.deviations))

    def shrink(self, look: Look, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Shrink the first case of the most frequent kinds of deviations.

        Args:
            look: runs simpler cases and returns those that deviate; a known failure is never the result of shrinking.
            progress: is called with the numbers of findings shrunk so far and of those to shrink.
        """
        groups = list(islice(_grouped(self.deviations).items(), MOST_SHRUNK))
        for number, (kind, members) in enumerate(groups):
            progress(number, len(groups))
            self.smallest[kind] = _shrunk(kind, members[0], self.dialect, look, f"shrink-{number}")

    def findings(self) -> list[Finding]:
        """Return the kinds of deviations, the most frequent first; those that are not shrunk are as they were drawn."""
        findings: dict[object, Finding] = {}
        order = {deviation.case.id: number for number, deviation in enumerate(self.deviations)}
        for kind, members in _grouped(self.deviations).items():
            smallest = self.smallest.get(kind, members[0])
            what = _in_words(kind, smallest.failure)
            finding = Finding(what, len(members), members[0].case.id, smallest, is_shrunk=kind in self.smallest)
            content = smallest.case.content
            # Two explanations of the same cause may shrink to the same case.
            if earlier := findings.get(content):
                first = min(earlier.first, finding.first, key=order.__getitem__)
                finding = replace(earlier, count=earlier.count + finding.count, first=first)
            findings[content] = finding
        return [
            replace(finding, smallest=_renamed(finding.smallest, number))
            for number, finding in enumerate(sorted(findings.values(), key=lambda finding: -finding.count), start=1)
        ]


def _shrunk(kind: Failure, first: Deviation, dialect: Dialect, look: Look, name: str) -> Deviation:
    """Return the smallest deviation of a kind, shrunk from its first case."""

    def same(case: Case) -> Deviation | None:
        return next((deviation for deviation in look([case]) if kind.alike(deviation.failure)), None)

    return shrunk(first.case, first, dialect, same, name).result


def _grouped(deviations: Sequence[Deviation]) -> dict[Failure, list[Deviation]]:
    explained = single_explanations({deviation.case.id: deviation.failure.explained for deviation in deviations})
    groups: dict[Failure, list[Deviation]] = defaultdict(list)
    for deviation in deviations:
        name = explained.get(deviation.case.id)
        groups[replace(deviation.failure, explained=(name,) if name else ())].append(deviation)
    # The most frequent are shrunk first.
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _in_words(failure: Failure, smallest: Failure) -> str:
    """Return a failure in words; the smallest case may have an explanation that the search lacked time for at first."""
    if explained := failure.explained or smallest.explained:
        return f"{failure.kind} as if {explained[0]}"
    return f"{failure.kind}: {failure.words}" if failure.words else failure.kind


def _renamed(deviation: Deviation, number: int) -> Deviation:
    name = f"findings/{deviation.failure.kind}-{number}"
    return replace(deviation, case=replace(deviation.case, id=name), record=replace(deviation.record, case=name))

"""Cases that nobody wrote: drawn at random over all attributes, the same for the same seed, and run until one fails.

A case is drawn from the raw bits of a counter-based generator that is keyed by seed and number: each is the same on
every machine and every numpy, whatever was drawn before it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tconv.case import Cite
from tconv.corpus.building import ImpossibleCase, build
from tconv.diagnosis import shared
from tconv.expectation import Inexpressible, expectation
from tconv.investigation.shrinking import Failure, asking, content, failure, shrunk
from tconv.records import RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tconv.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.pool import Pool
    from tconv.records import Record

T = TypeVar("T")

BATCH = 64
"""Cases that are run between two looks at the clock."""
MOST_SHRUNK = 40
"""Findings that are shrunk; of a backend that has more there is something else to say first."""
LARGEST_SEED = 2**64
_LARGEST = {1: (7, 5), 2: (7, 5), 3: (5, 4), 4: (3, 3)}
"""The largest size of data and filter by rank: more axes, more elements."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A case that failed, and its record."""

    case: Case
    record: Record


@dataclass(frozen=True, slots=True)
class Finding:
    """Failures that are one.

    Attributes:
        what: the verdict's kind and the explanation, or its words without numbers.
        count: how many cases failed so.
        first: the id of the first of them.
        smallest: the first of them, shrunk.
        whole: whether shrinking came to its end.
    """

    what: str
    count: int
    first: str
    smallest: Deviation
    whole: bool = True


class Draws:
    """The choices of one case.

    Args:
        seed: of all cases.
        number: of this one.
    """

    def __init__(self, seed: int, number: int) -> None:
        self._bits = np.random.Philox(key=seed * LARGEST_SEED + number)

    def within(self, low: int, high: int) -> int:
        """Return an integer of low..high."""
        return low + int(self._bits.random_raw()) % (high - low + 1)

    def likely(self, percent: int) -> bool:
        """Return true so often in a hundred."""
        return self.within(1, 100) <= percent

    def one(self, weights: Mapping[T, int]) -> T:
        """Return a key as often as its weight says."""
        left = self.within(1, sum(weights.values()))
        for key, weight in weights.items():
            left -= weight
            if left <= 0:
                return key
        raise AssertionError(weights)

    def axes(self, rank: int, low: int, high: int) -> list[int]:
        """Return an integer of low..high for each axis, as often as not the same one."""
        if self.likely(40):
            return [self.within(low, high)] * rank
        return [self.within(low, high) for _ in range(rank)]


def drawn(seed: int, row: Dialect) -> Iterator[Case]:
    """Yield cases that a dialect can say, without end.

    Args:
        seed: another one gives other cases.
        row: the dialect.
    """
    cites = (Cite(row.name, "drawn by tconv fuzz, not by a clause"),)
    for number in count():
        try:
            case = build(f"fuzz/{seed}-{number}", drawn_settings(Draws(seed, number)), {}, cites=cites)
        except ImpossibleCase:
            continue
        if not isinstance(expectation(case, row), Inexpressible):
            yield case


def drawn_settings(draws: Draws) -> dict[str, Any]:
    """Return the settings of one case; no tensor need have such sizes."""
    rank = draws.one({1: 40, 2: 40, 3: 17, 4: 3})
    return _sizes(draws, rank) | _lists(draws, rank) | _padding(draws, rank) | _presented(draws)


def _sizes(draws: Draws, rank: int) -> dict[str, Any]:
    groups = draws.one({1: 60, 2: 20, 3: 10, 4: 10})
    size, kernel = _LARGEST[rank]
    sizes: dict[str, Any] = {
        "batch": draws.one({1: 60, 2: 30, 3: 9, 0: 1}),
        "channels": groups * draws.within(1, 3),
        "out_channels": groups * draws.within(1, 3),
        "spatial": draws.axes(rank, 1, size),
        "kernel": draws.axes(rank, 1, kernel),
    }
    if draws.likely(1):
        sizes["spatial"][draws.within(0, rank - 1)] = 0
    if groups > 1 or draws.likely(30):
        sizes["groups"] = groups
    return sizes


def _lists(draws: Draws, rank: int) -> dict[str, Any]:
    lists: dict[str, Any] = {}
    if draws.likely(75):
        lists["strides"] = draws.axes(rank, 1, 4)
    if draws.likely(50):
        lists["dilations"] = draws.axes(rank, 1, 3)
    if draws.likely(30):
        lists["output_padding"] = draws.axes(rank, 0, 3)
    if draws.likely(25):
        lists["kernel_shape"] = "kernel"
    return lists


def _padding(draws: Draws, rank: int) -> dict[str, Any]:
    mode = draws.one({None: 45, "explicit": 10, "valid": 11, "same_upper": 17, "same_lower": 17})
    padding: dict[str, Any] = {} if mode is None else {"auto_pad": mode}
    # Beside a mode most dialects cannot say pads.
    for name in ("pads_begin", "pads_end"):
        if draws.likely(60 if mode in {None, "explicit"} else 5):
            padding[name] = draws.axes(rank, 0, 4)
    if draws.likely(25):
        padding["output_shape"] = [f"full{one:+}" if one else "full" for one in draws.axes(rank, -3, 3)]
    return padding


def _presented(draws: Draws) -> dict[str, Any]:
    formats = {
        "data_format": draws.one({None: 55, "NCX": 10, "NXC": 35}),
        "filter_format": draws.one({None: 55, "IOX": 10, "XOI": 20, "GIOX": 15}),
    }
    return {name: value for name, value in formats.items() if value is not None} | {
        "bias": draws.likely(50),
        "dtype": draws.one({"f32": 70, "f16": 22, "f64": 4, "bf16": 4}),
        "data": draws.one({"integers": 75, "normal": 20, "wide": 5}),
        "seed": draws.within(0, 999),
        "shapes": draws.one({"static": 75, "symbolic": 25}),
        "filter_source": draws.one({"initializer": 75, "input": 25}),
    }


def fuzz(
    cases: Iterable[Case],
    pool: Pool,
    known: Callable[[Case, Record], bool],
    more: Callable[[int, int], bool],
) -> list[Deviation]:
    """Run cases, and return those that fail, in the order in which they were drawn.

    Args:
        cases: what is run, as many as there are, or until `more` says no.
        pool: where.
        known: whether what came of a case is no news.
        more: called with the number of cases run and of those that failed; whether to go on.
    """
    found: list[Deviation] = []
    ran, left = 0, iter(cases)
    while more(ran, len(found)) and (batch := {case.id: case for case in islice(left, BATCH)}):
        records = {line.case: RECORD.validate_json(line.text) for line in pool.run(list(batch.values()))}
        found += [Deviation(case, records[name]) for name, case in batch.items() if not known(case, records[name])]
        ran += len(batch)
    more(ran, len(found))
    return found


def findings(
    deviations: Sequence[Deviation],
    row: Dialect,
    pool: Pool,
    known: Callable[[Case, Record], bool],
    progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Finding]:
    """Return what deviations come to, most frequent first: each kind once, with its first case shrunk.

    Args:
        deviations: cases that failed, and their records.
        row: the dialect.
        pool: where simpler cases are run.
        known: whether what came of a case is no news; a finding is not shrunk to such a case.
        progress: called with the number of findings shrunk and of all.
    """
    ask, groups = asking(pool), _grouped(deviations)
    made: dict[object, Finding] = {}
    order = {one.case.id: number for number, one in enumerate(deviations)}
    for number, (wanted, members) in enumerate(groups.items()):
        progress(number, len(groups))
        smallest, whole = members[0], number < MOST_SHRUNK
        if whole:

            def same(case: Case, record: Record, wanted: Failure = wanted) -> bool:
                return wanted.alike(failure(record)) and not known(case, record)

            result = shrunk(smallest.case, smallest.record, row, ask, same, f"shrink-{number}")
            smallest = Deviation(result.case, result.record)
        one = Finding(_what(wanted, smallest.record), len(members), members[0].case.id, smallest, whole)
        # Two explanations of one cause end in one case.
        if before := made.get(said := content(smallest.case)):
            first = min(before.first, one.first, key=order.__getitem__)
            one = replace(before, count=before.count + one.count, first=first)
        made[said] = one
    return [
        replace(finding, smallest=_named(finding.smallest, number))
        for number, finding in enumerate(sorted(made.values(), key=lambda one: -one.count), start=1)
    ]


def _grouped(deviations: Sequence[Deviation]) -> dict[Failure, list[Deviation]]:
    explained = shared({one.record.case: one.record.diagnosis for one in deviations})
    groups: dict[Failure, list[Deviation]] = defaultdict(list)
    for one in deviations:
        if (found := failure(one.record)) is not None:
            name = explained.get(one.record.case)
            groups[replace(found, explained=(name,) if name else ())].append(one)
    # The most frequent are shrunk first.
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


def _what(wanted: Failure, smallest: Record) -> str:
    """Return a failure in words; a small case may be explained where a large one took too long."""
    if explained := wanted.explained or smallest.diagnosis:
        return f"{wanted.kind} as if {explained[0]}"
    return f"{wanted.kind}: {wanted.words}" if wanted.words else wanted.kind


def _named(found: Deviation, number: int) -> Deviation:
    name = f"findings/{found.record.verdict.kind}-{number}"
    return Deviation(replace(found.case, id=name), replace(found.record, case=name))

"""Failed cases are asked again, each alone in a fresh worker: does the answer depend on the calls before it?

A plan that is cached by the shapes alone, or a buffer that is not cleared, gives wrong answers that a fresh process
does not give. So failures wait for the end of the run. Then the smallest failure of each of the largest groups is asked
again. If one of these has a different answer, further failures are asked again, as many as there is time for.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

from tconv.cases.patterns import path_of
from tconv.records.failure import failure
from tconv.records.record import FreshAnswer
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.cases.case import Case
    from tconv.records.record import Record

TIMES = 3
"""How often a failed case is asked again. From the second time on free memory is filled with a pattern, so an output
that the runtime never writes changes."""
_FIRST = 6
"""How many failures are asked again in every run, one of each group: a group may have a cause of its own."""
_LONGEST_SECONDS = 10.0
"""After this time no further failure is asked again: each needs a process, and some runtimes start slowly."""
_KILLED = "SIGKILL"


class WaitingFailures:
    """The failures of a run that wait for its end.

    Args:
        fails: returns whether a record of a case is a failure.

    Attributes:
        records: the records of the failures that were not asked again, by the ids of their cases.
    """

    def __init__(self, fails: Callable[[Case, Record], bool] = lambda *_: False) -> None:
        self._fails = fails
        self._cases: dict[str, Case] = {}
        self._order: Iterator[Record] = iter(())
        self._ends: float | None = None
        self._asked = 0
        self._varies = False
        self.records: dict[str, Record] = {}

    @property
    def are_asked(self) -> bool:
        """Whether all other cases have records, and failures are asked again."""
        return self._ends is not None

    def take(self, case: Case, record: Record) -> bool:
        """Return whether a record is a failure that may vary; if it is, it waits."""
        if not record.may_vary or not self._fails(case, record):
            return False
        self._cases[case.id], self.records[case.id] = case, record
        return True

    def next(self) -> Case | None:
        """Return the next case to ask again; None if there is none, or no time left."""
        if self._ends is None:
            self._order, self._ends = _in_order([*self.records.values()]), monotonic() + _LONGEST_SECONDS
        if (self._asked >= _FIRST and not self._varies) or monotonic() > self._ends:
            return None
        self._asked += 1
        return next((self._cases[record.case] for record in islice(self._order, 1)), None)

    def answered(self, alone: Record) -> Record | None:
        """Return the record of a waiting failure with its second answer; None if the case is not a waiting failure."""
        if (record := self.records.pop(alone.case, None)) is None:
            return None
        killed = isinstance(alone.verdict, ver.Crashed) and alone.verdict.cause == _KILLED
        # Perhaps the machine was busy, or had no memory left.
        if killed or isinstance(alone.verdict, ver.TimedOut):
            return record
        same = is_same(record, alone)
        self._varies |= not same
        first_only = isinstance(alone.verdict, ver.Unstable) and alone.verdict.first_only
        return replace(record, alone=FreshAnswer(alone.verdict.kind, same=same, first_only=first_only))


def _in_order(failures: list[Record]) -> Iterator[Record]:
    """Yield first the smallest failure of each group (the largest group first), then all others, the smallest first."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in sorted(failures, key=lambda record: record.size):
        name = str(record.diagnosis[0]) if record.diagnosis else path_of(record.case)
        groups[record.verdict.kind, name].append(record)
    in_order = sorted(groups.values(), key=len, reverse=True)
    yield from (group[0] for group in in_order)
    yield from sorted((record for group in in_order for record in group[1:]), key=lambda record: record.size)


def is_same(after_others: Record, alone: Record) -> bool:
    """Return whether a failure is the same in a fresh process: same words, and same figures if the sums are exact."""
    verdict = after_others.verdict
    if verdict.kind != alone.verdict.kind:
        return False
    if isinstance(verdict, ver.WrongShape) or (isinstance(verdict, ver.Differed) and verdict.rule == "exact"):
        # As texts, since NaN is not equal to itself.
        return repr(verdict) == repr(alone.verdict)
    before, again = failure(after_others), failure(alone)
    if before and again and before.words != again.words:
        return False
    # A diagnosis that ran out of time has no names.
    both = after_others.diagnosis and alone.diagnosis
    return not both or not set(after_others.diagnosis).isdisjoint(alone.diagnosis)

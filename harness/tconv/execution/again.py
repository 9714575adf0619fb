"""Wrong answers asked again, each alone in a fresh worker: whether they depend on the calls before them.

A plan that is remembered by the shapes alone, or a buffer that is not cleared, gives wrong answers that a fresh process
does not. Their values look like many other mistakes. So failures wait for the end of the run. Then the smallest of each
of the largest groups is asked again; if one of them has another answer, as many others as there is time for.
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
"""How often a wrong answer is asked again. From the second time on free memory is filled: an output that was never
written changes then."""
_FIRST = 6
"""So many failures are asked again in any run: those of as many groups, each of which may have a cause of its own."""
_LONGEST_SECONDS = 10.0
"""After this time no other failure is asked again: a process for each takes long if a runtime starts slowly."""
_KILLED = "SIGKILL"


class WaitingFailures:
    """The failures of a run that wait for its end.

    Args:
        fails: returns whether a record of a case is a failure.

    Attributes:
        records: the records of those that were not asked again, by their ids.
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
        """Let a record wait if it is one of these failures; return whether it is."""
        if not record.may_vary or not self._fails(case, record):
            return False
        self._cases[case.id], self.records[case.id] = case, record
        return True

    def next(self) -> Case | None:
        """Return the next case that is to be asked again; None if there is none, or no time left."""
        if self._ends is None:
            self._order, self._ends = _in_order([*self.records.values()]), monotonic() + _LONGEST_SECONDS
        if (self._asked >= _FIRST and not self._varies) or monotonic() > self._ends:
            return None
        self._asked += 1
        return next((self._cases[record.case] for record in islice(self._order, 1)), None)

    def answered(self, alone: Record) -> Record | None:
        """Return the record of a failure that was asked again, with what came of it; None of any other case."""
        if (record := self.records.pop(alone.case, None)) is None:
            return None
        killed = isinstance(alone.verdict, ver.Crashed) and alone.verdict.cause == _KILLED
        # A busy machine is slow, and one without memory kills.
        if killed or isinstance(alone.verdict, ver.TimedOut):
            return record
        same = is_same(record, alone)
        self._varies |= not same
        first_only = isinstance(alone.verdict, ver.Unstable) and alone.verdict.first_only
        return replace(record, alone=FreshAnswer(alone.verdict.kind, same=same, first_only=first_only))


def _in_order(failures: list[Record]) -> Iterator[Record]:
    """Yield failures in the order in which they are asked again: the smallest of each group that may have one cause.

    That of the largest group is the first. Then all others come, the smallest first.
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in sorted(failures, key=lambda record: record.size):
        name = str(record.diagnosis[0]) if record.diagnosis else path_of(record.case)
        groups[record.verdict.kind, name].append(record)
    in_order = sorted(groups.values(), key=len, reverse=True)
    yield from (group[0] for group in in_order)
    yield from sorted((record for group in in_order for record in group[1:]), key=lambda record: record.size)


def is_same(after_others: Record, alone: Record) -> bool:
    """Return whether a failure is the same in a fresh process: in words, and in figures if sums have no rounding."""
    verdict = after_others.verdict
    if verdict.kind != alone.verdict.kind:
        return False
    if isinstance(verdict, ver.WrongShape) or (isinstance(verdict, ver.Differed) and verdict.rule == "exact"):
        # As texts, since NaN is not equal to itself.
        return repr(verdict) == repr(alone.verdict)
    before, again = failure(after_others), failure(alone)
    if before and again and before.words != again.words:
        return False
    # A search for names that ran out of time has none.
    both = after_others.diagnosis and alone.diagnosis
    return not both or not set(after_others.diagnosis).isdisjoint(alone.diagnosis)

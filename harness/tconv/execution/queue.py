"""The cases that wait for a worker, and the one rule for those at which a worker ended.

If a worker ends during a case, killed or silent, the case is asked again, alone in a fresh worker. If that one ends
too, that is its verdict. If it answers, the record says both: how the worker ended after other cases, and what came of
the case alone. If the first worker had been asked nothing else, the case is not asked again.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tconv.records.record import FreshAnswer, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.backends.outcome import Died, TimedOut
    from tconv.cases.case import Case

CHUNK = 32
"""Cases that a worker is given at a time; so few that the last chunks of several workers end at about the same time."""


_MOST_IN_VAIN = 3


class _End(NamedTuple):
    """How a worker ended at a case, and which cases it was asked before."""

    outcome: Died | TimedOut
    earlier: tuple[str, ...]


class Queue:
    """Cases that wait.

    Args:
        cases: read as they are needed.

    Attributes:
        alone: those that must be asked alone.
    """

    def __init__(self, cases: Iterable[Case]) -> None:
        self.alone: deque[Case] = deque()
        self._cases = iter(cases)
        self._next: deque[Case] = deque()
        self._returned: deque[Case] = deque()
        self._ends: dict[str, _End] = {}
        self._in_vain: Counter[str] = Counter()

    @property
    def has_others(self) -> bool:
        """Whether a case waits that need not be asked alone."""
        if not self._next:
            self._next.extend(islice(self._cases, CHUNK))
        return bool(self._returned or self._next)

    def take(self) -> tuple[list[Case], bool]:
        """Return a chunk of cases, and whether they may be judged a few together; none if `has_others` says so.

        Not those that were put back: answers that were not judged yet ended with their worker, and would again.
        """
        source = self._returned if self.has_others and self._returned else self._next
        return [source.popleft() for _ in range(min(CHUNK, len(source)))], source is self._next

    def put_back(self, cases: Iterable[Case]) -> None:
        """Let cases wait again, before the others; one that must be asked alone waits for that."""
        for case in reversed([*cases]):
            (self.alone if case.id in self._ends else self._returned).appendleft(case)

    def ended(self, case: Case, outcome: Died | TimedOut, earlier: tuple[str, ...] | None) -> bool:
        """Return whether a worker's end is the verdict of the case; else the case waits to be asked alone.

        Args:
            case: the case.
            outcome: how the worker ended.
            earlier: the cases that it was asked before; None for none.
        """
        if earlier is None or self._ends.pop(case.id, None) is not None:
            self._ends.pop(case.id, None)
            return True
        self._ends[case.id] = _End(outcome, earlier)
        self.alone.append(case)
        return False

    def asked_in_vain(self, case: Case) -> bool:
        """Let a case wait to be asked alone, as nothing is known of how a worker ended at it; False after some times.

        Perhaps the backend did it, perhaps somebody else.
        """
        self._in_vain[case.id] += 1
        if self._in_vain[case.id] > _MOST_IN_VAIN:
            return False
        self.alone.append(case)
        return True

    def answered(self, record: Record) -> Record:
        """Return the record of a case; with how a worker ended at it before, if one did."""
        end = self._ends.pop(record.case, None)
        if end is None:
            return record
        alone = FreshAnswer(record.verdict.kind, same=False)
        return Record(record.case, record.backend, record.dialect, end.outcome, alone=alone, earlier=end.earlier)

"""The cases that wait for a worker, and the one rule for failures: what fails after others is asked again alone.

If a worker ends during a case, killed or silent, the case is asked again, alone in a fresh worker. If that one ends
too, that is its verdict. If it answers, the record says both: how the worker ended after other cases, and what came of
the case alone. If the first worker had been asked nothing else, the case is not asked again.

Some of the wrong answers are asked again too, at the end, see `again`.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tconv.backends.outcome import Crashed, TimedOut
from tconv.records.record import FreshAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.execution.again import WaitingFailures
    from tconv.records.record import Record

CHUNK = 32
"""Cases that a worker is given at a time; so few that the last chunks of several workers end at about the same time."""


_MOST_IN_VAIN = 3


class Queue:
    """Cases that wait.

    Args:
        cases: read as they are needed.
        failures: takes wrong answers, some of which are asked again at the end.

    Attributes:
        alone: those that must be asked alone.
    """

    def __init__(self, cases: Iterable[Case], failures: WaitingFailures) -> None:
        self.alone: deque[Case] = deque()
        self._failures = failures
        self._cases = iter(cases)
        self._next: deque[Case] = deque()
        self._returned: deque[Case] = deque()
        self._ends: dict[str, Record] = {}
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

    def has_answer(self, case: Case) -> bool:
        """Return whether a case that must be asked alone had an answer, a wrong one."""
        return case.id in self._failures.records

    def ask_failures_again(self, count: int) -> None:
        """Let up to so many failures wait to be asked alone."""
        self.alone.extend(islice(iter(self._failures.next, None), count))

    def put_back(self, cases: Iterable[Case]) -> None:
        """Let cases wait again, before the others; one that must be asked alone waits for that."""
        for case in reversed([*cases]):
            is_alone = case.id in self._ends or self.has_answer(case)
            (self.alone if is_alone else self._returned).appendleft(case)

    def answered(self, case: Case, record: Record, earlier: tuple[str, ...] | None) -> Iterator[Record]:
        """Yield the record of a case if nothing more is asked of it; if not, the case waits to be asked alone.

        Args:
            case: the case.
            record: what came of it now.
            earlier: the cases that the worker was asked before; None for none.
        """
        ended = isinstance(record.verdict, Crashed | TimedOut)
        if (before := self._ends.pop(case.id, None)) is not None:
            yield record if ended else replace(before, alone=FreshAnswer(record.verdict.kind, same=False))
        elif (failure := self._failures.answered(record)) is not None:
            yield failure
        elif ended and earlier is not None:
            self._ends[case.id] = replace(record, earlier=earlier)
            self.alone.append(case)
        elif not self._failures.take(case, record):
            yield record

    def asked_in_vain(self, case: Case) -> bool:
        """Let a case wait to be asked alone, as nothing is known of how a worker ended at it; False after some times.

        Perhaps the backend did it, perhaps somebody else.
        """
        self._in_vain[case.id] += 1
        if self._in_vain[case.id] > _MOST_IN_VAIN:
            return False
        self.alone.append(case)
        return True

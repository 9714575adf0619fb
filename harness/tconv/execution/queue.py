"""The cases that wait for a worker, and the one rule for crashes: a case that ends a worker is asked again alone.

If a worker crashes or times out at a case, the case is asked again, alone in a fresh worker. If that worker ends too,
this is the verdict. If it answers, the record has both: how the worker ended after other cases, and the answer alone.
A case that was the first one of its worker is not asked again.

Some wrong answers are asked again too, at the end, see `again`.
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
"""Cases that a worker is given at a time. There are few, so that several workers end at about the same time."""
_MOST_IN_VAIN = 3


class Queue:
    """Cases that wait.

    Args:
        cases: read as they are needed.
        failures: takes wrong answers, some of which are asked again at the end.

    Attributes:
        alone: the cases that must be asked alone.
    """

    def __init__(self, cases: Iterable[Case], failures: WaitingFailures) -> None:
        self.alone: deque[Case] = deque()
        self._failures = failures
        self._cases = iter(cases)
        self._next: deque[Case] = deque()
        self._ends: dict[str, Record] = {}
        self._in_vain: Counter[str] = Counter()

    @property
    def has_others(self) -> bool:
        """Whether a case waits that may be asked after others."""
        if not self._next:
            self._next.extend(islice(self._cases, CHUNK))
        return bool(self._next)

    def take(self) -> list[Case]:
        """Return a chunk of cases; none if `has_others` is false."""
        return [self._next.popleft() for _ in range(min(CHUNK, len(self._next)))] if self.has_others else []

    def has_answer(self, case: Case) -> bool:
        """Return whether a case that must be asked alone had a wrong answer before."""
        return case.id in self._failures.records

    def ask_failures_again(self, count: int) -> None:
        """Queue up to `count` failures, to be asked alone."""
        self.alone.extend(islice(iter(self._failures.next, None), count))

    def put_back(self, cases: Iterable[Case]) -> None:
        """Queue cases again, before the others; those that must be asked alone with the others of that kind."""
        for case in reversed([*cases]):
            is_alone = case.id in self._ends or self.has_answer(case)
            (self.alone if is_alone else self._next).appendleft(case)

    def answered(self, case: Case, record: Record, earlier: tuple[str, ...] | None) -> Iterator[Record]:
        """Yield the record of a case if it is final; if not, the case waits to be asked alone.

        Args:
            case: the case.
            record: its record now.
            earlier: the cases that the worker was asked before; None if this was its first.
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
        """Queue a case to be asked alone, as it is not known why its worker ended; return False after a few times."""
        self._in_vain[case.id] += 1
        if self._in_vain[case.id] > _MOST_IN_VAIN:
            return False
        self.alone.append(case)
        return True

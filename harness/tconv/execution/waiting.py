"""The cases that wait for a worker, in chunks, and companies of which a worker died."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from tconv.execution.process import Chunk
from tconv.records.record import Line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tconv.cases.case import Case

CHUNK = 32
"""Cases in a message; so few that the last chunks of several workers end at about the same time."""

_SPREAD = 4
"""Cases in a message after a death, so that several workers share those that follow."""


class Waiting:
    """Cases that wait: those that were put back first, then the others as they come.

    Args:
        cases: taken a chunk at a time.
        size: how many cases a chunk has.
    """

    def __init__(self, cases: Iterable[Case], size: int = CHUNK) -> None:
        self._cases = iter(cases)
        self._size = size
        self._returned: deque[Chunk] = deque()
        self._prepared: list[Case] = []

    def prepare(self) -> None:
        """Make the cases of the next chunk while the workers work, so that none waits for it."""
        if not self._prepared:
            self._prepared = list(islice(self._cases, self._size))

    def next(self) -> Chunk | None:
        """Return the next chunk; None where no case waits."""
        if self._returned:
            return self._returned.popleft()
        self.prepare()
        cases, self._prepared = self._prepared, []
        return Chunk(cases) if cases else None

    def put_back(self, chunk: Chunk) -> None:
        """Let cases wait again, before all others."""
        if chunk.cases:
            self._returned.appendleft(chunk)

    def spread(self, chunk: Chunk) -> None:
        """Let cases wait again as `put_back` does, in small chunks: where one case is deadly, its neighbours may be."""
        for start in reversed(range(0, len(chunk.cases), _SPREAD)):
            self.put_back(chunk._replace(cases=chunk.cases[start : start + _SPREAD]))


@dataclass(slots=True)
class DeadlyCompany:
    """A company of which a worker died or at which it hung, twice: its cases are asked alone.

    Attributes:
        ids: its cases.
        outcome: how the worker ended.
        awaited: how many of its cases have no record yet.
        lines: the lines of these, alone, as far as they are there.
    """

    ids: tuple[str, ...]
    outcome: ver.Died | ver.TimedOut
    awaited: int
    lines: list[Line] = field(default_factory=list)

    def judged(self, line: Line) -> Iterator[Line]:
        """Take a line, and yield all with the last; where no case ends a worker alone, each differs in company."""
        self.lines.append(line)
        if len(self.lines) < self.awaited:
            return
        records = [line.record for line in self.lines]
        survived = not any(isinstance(record.verdict, ver.Died | ver.TimedOut) for record in records)
        for record in records:
            # What is wrong alone too is told as that.
            right = isinstance(record.verdict, ver.Agreed | ver.Disputed | ver.Mistrusted)
            differs = ver.DiffersInCompany(self.ids, ended(self.outcome), record.verdict.kind)
            yield Line.of(replace(record, verdict=differs) if survived and right else record)


def ended(outcome: ver.Died | ver.TimedOut) -> str:
    """Return how a worker ended, in a few words."""
    return outcome.cause if isinstance(outcome, ver.Died) else f"no answer in {outcome.seconds:g} s"

"""The cases that wait for a worker, in chunks."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from tconv.execution.process import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable

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

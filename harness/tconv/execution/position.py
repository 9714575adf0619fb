"""Where a worker is, in memory that it shares with its parent and that outlives it.

A store into memory costs a thousandth of a message, so that a worker can say of every call that it makes it; and what
it said last can be read after it died.
"""

from __future__ import annotations

import ctypes
from math import inf, isfinite
from multiprocessing.sharedctypes import RawArray
from operator import lt
from time import monotonic
from typing import Final

_MESSAGE, _CALLS, _FIRST, _CALLING, _SINCE, _COMPANY, _INDEX = range(7)
_NOWHERE: Final = -1


class Position:
    """A worker's position, handed over while it is started. The worker writes it, its parent reads it.

    Each number is stored at once.

    Args:
        most: how many cases it asks together at most.
    """

    def __init__(self, most: int = 1) -> None:
        # Numbers of eight bytes are stored whole on every processor that Python runs on. A clock that both processes
        # read alike is the monotonic one.
        self._cells = RawArray(ctypes.c_double, _INDEX + most)
        self._most = most
        self._cells[_INDEX] = self._cells[_FIRST] = _NOWHERE
        self._cells[_SINCE] = monotonic()

    def at(self, message: int) -> list[int]:
        """Return the index of the case that it is at, or those of a company; none where it has not begun with any.

        The indices of a company increase. Where a runtime has left other numbers there, only the first is returned.

        Args:
            message: how many messages the worker was sent: what it says of the one before is of no use.
        """
        if self._whole(_INDEX) == _NOWHERE or self._whole(_MESSAGE) != message:
            return []
        indices = [self._whole(cell) for cell in range(_INDEX, _INDEX + self.company)]
        return indices if all(map(lt, indices, indices[1:])) else indices[:1]

    @property
    def most(self) -> int:
        """How many cases it has room for."""
        return self._most

    @property
    def message(self) -> int:
        """How many messages it has had."""
        return self._whole(_MESSAGE)

    @property
    def company(self) -> int:
        """How many cases it asks together."""
        return min(max(1, self._whole(_COMPANY)), self._most)

    @property
    def fresh(self) -> bool:
        """Whether the backend has been called for nothing but what it is at since the worker started."""
        calls, first, index = map(self._whole, (_CALLS, _FIRST, _INDEX))
        return index != _NOWHERE and (calls == 0 or (calls == 1 and first == index))

    @property
    def calling(self) -> bool:
        """Whether it waits for the backend."""
        return self._whole(_CALLING) == 1

    @property
    def since(self) -> float:
        """When it came there, by the monotonic clock."""
        since = self._cells[_SINCE]
        return since if since <= monotonic() else -inf

    def _whole(self, cell: int) -> int:
        """Return a number as an integer; a runtime that writes outside its own memory may have left anything."""
        value = self._cells[cell]
        return int(value) if isfinite(value) else _NOWHERE

    def renew(self) -> None:
        """Be a process in which the backend has been called for nothing."""
        self._cells[_CALLS] = 0
        self._cells[_FIRST] = self._cells[_INDEX] = _NOWHERE
        self._move(_CALLING, 0)

    def receive(self) -> None:
        """Have a message, and be at none of its cases."""
        self._cells[_INDEX] = _NOWHERE
        if self._cells[_CALLS]:
            # What is called from now on is not the first.
            self._cells[_FIRST] = _NOWHERE
        self._move(_MESSAGE, self._whole(_MESSAGE) + 1)

    def begin(self, index: int, *others: int) -> None:
        """Come to a case, or to a company of cases."""
        self._cells[_COMPANY] = 1
        self._move(_INDEX, index)
        if others:
            # The number last: a parent that reads before it finds a case that is asked alone.
            end = _INDEX + 1 + len(others)
            self._cells[_INDEX + 1 : end] = list(others)
            self._cells[_COMPANY] = 1 + len(others)

    def call(self) -> None:
        """Call the backend."""
        if not self._cells[_CALLS]:
            self._cells[_FIRST] = self._cells[_INDEX]
        self._cells[_CALLS] += 1
        self._move(_CALLING, 1)

    def answered(self) -> None:
        """Have the backend's answer."""
        self._move(_CALLING, 0)

    def _move(self, cell: int, value: int) -> None:
        # The time first: whoever reads between the two stores finds the deadline too late, never too early.
        self._cells[_SINCE] = monotonic()
        self._cells[cell] = value

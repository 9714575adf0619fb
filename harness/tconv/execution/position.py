"""What a worker is doing, in memory that it shares with its parent and that is still there after the worker has died.

A store into memory costs a thousandth of a message, so that a worker can store the begin and the end of every call. Its
parent reads the last state after the worker has died.
"""

from __future__ import annotations

import ctypes
from math import inf, isfinite
from multiprocessing.sharedctypes import RawArray
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MESSAGE, _CALLS, _FIRST, _CALLING, _SINCE, _SEAL, _COMPANY, _INDEX = range(8)
_NOWHERE: Final = -1
_KEY: Final = 1729.5
"""Added to every seal, so that memory that is filled with zeros, or with any integer, has no valid seal."""


class Position:
    """A worker's position. It is passed to the worker as that starts; the worker writes it, and its parent reads it.

    A runtime that writes outside of its own memory may write here too. A seal, computed from the numbers, tells whether
    they are those that the worker stored.

    Args:
        most: how many cases it asks together at most.
    """

    def __init__(self, most: int = 1) -> None:
        # Numbers of eight bytes are stored whole on every processor that Python runs on. A clock that both processes
        # read alike is the monotonic one.
        self._cells = RawArray(ctypes.c_double, _INDEX + most)
        self._most = most
        self._message = 0
        self._cells[_FIRST] = _NOWHERE
        self.receive(0)

    def at(self, message: int) -> list[int] | None:
        """Return the indices of the cases that it asks; none before the first one, None where the seal is wrong.

        Args:
            message: how many messages the worker was sent; a position in an earlier message counts as none.
        """
        indices = self._cells[_INDEX : _INDEX + self.company]
        if self._cells[_SEAL] != _sealed(self._cells[_MESSAGE], indices):
            return None
        return [] if indices[0] == _NOWHERE or self._cells[_MESSAGE] != message else [int(index) for index in indices]

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
        """When it began with what it is doing, in seconds of the monotonic clock."""
        since = self._cells[_SINCE]
        return since if since <= monotonic() else -inf

    def _whole(self, cell: int) -> int:
        """Return a number as an integer; a runtime that writes outside its own memory may have left anything."""
        value = self._cells[cell]
        return int(value) if isfinite(value) else _NOWHERE

    def renew(self) -> None:
        """Reset the count of calls: this process is a new copy, in which the backend has not been called."""
        self._cells[_CALLS] = 0
        self._cells[_FIRST] = _NOWHERE
        self._move(_CALLING, 0)

    def receive(self, message: int) -> None:
        """Store the number of the message that was received; none of its cases has begun."""
        if self._cells[_CALLS]:
            # What is called from now on is not the first.
            self._cells[_FIRST] = _NOWHERE
        self._message = message
        self._come_to(_NOWHERE)

    def begin(self, *indices: int) -> None:
        """Store which case, or which cases of a company, are worked at."""
        self._come_to(*indices)

    def _come_to(self, *indices: int) -> None:
        # The time is stored first: a reader between the stores finds a deadline that is too late, never too early.
        self._cells[_SINCE] = monotonic()
        self._cells[_MESSAGE] = self._message
        self._cells[_INDEX : _INDEX + len(indices)] = list(indices)
        self._cells[_COMPANY] = len(indices)
        self._cells[_SEAL] = _sealed(self._message, indices)

    def call(self) -> None:
        """Store that a call of the backend begins."""
        if not self._cells[_CALLS]:
            self._cells[_FIRST] = self._cells[_INDEX]
        self._cells[_CALLS] += 1
        self._move(_CALLING, 1)

    def answered(self) -> None:
        """Store that the call has returned."""
        self._move(_CALLING, 0)

    def _move(self, cell: int, value: int) -> None:
        self._cells[_SINCE] = monotonic()
        self._cells[cell] = value


def _sealed(message: float, indices: Sequence[float]) -> float:
    return _KEY + message + len(indices) + sum(indices)

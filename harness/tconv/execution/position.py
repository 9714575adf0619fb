"""What a worker is doing, in memory that it shares with its parent and that is still there after the worker has died.

A store into memory costs a thousandth of a message, so that a worker can store the begin and the end of every call. Its
parent reads the last state after the worker has died.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from math import inf, isfinite
from multiprocessing.sharedctypes import RawArray
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NOWHERE: Final = -1
"""The place of a worker that has not begun with a case of its message."""
_MESSAGE, _CALLS, _FIRST, _CALLING, _PROBING, _SINCE, _SEAL, _INDEX = range(8)
_KEY: Final = 1729.5
"""Added to every seal, so that memory that is filled with zeros, or with any integer, has no valid seal."""


class Position:
    """A worker's position. It is passed to the worker as that starts; the worker writes it, and its parent reads it.

    A runtime that writes outside of its own memory may write here too. A seal, computed from the numbers, tells whether
    they are those that the worker stored.
    """

    def __init__(self) -> None:
        # Numbers of eight bytes are stored whole on every processor that Python runs on. A clock that both processes
        # read alike is the monotonic one.
        self._cells = RawArray(ctypes.c_double, _INDEX + 1)
        self._message = 0
        self._cells[_FIRST] = NOWHERE
        self.receive(0)

    def at(self, message: int) -> int | None:
        """Return the index of the case that it works at, or `NOWHERE`; None if the seal is wrong.

        Args:
            message: how many messages the worker was sent; a position in an earlier message counts as `NOWHERE`.
        """
        if self._cells[_SEAL] != _sealed(self._cells[_MESSAGE], self._cells[_INDEX]):
            return None
        return self._whole(_INDEX) if self._cells[_MESSAGE] == message else NOWHERE

    @property
    def message(self) -> int:
        """How many messages it has had."""
        return self._whole(_MESSAGE)

    @property
    def fresh(self) -> bool:
        """Whether the backend has been called for nothing but what it is at since the worker started."""
        calls, first, index = map(self._whole, (_CALLS, _FIRST, _INDEX))
        return index != NOWHERE and (calls == 0 or (calls == 1 and first == index))

    @property
    def calling(self) -> bool:
        """Whether it waits for the backend."""
        return self._whole(_CALLING) == 1

    @property
    def in_probe(self) -> bool:
        """Whether it asks a probe for the verdict of the case that it is at; what happens then is not the case's."""
        return self._whole(_PROBING) == 1

    @property
    def since(self) -> float:
        """When it began with what it is doing, in seconds of the monotonic clock."""
        since = self._cells[_SINCE]
        return since if since <= monotonic() else -inf

    def _whole(self, cell: int) -> int:
        """Return a number as an integer; a runtime that writes outside its own memory may have left anything."""
        value = self._cells[cell]
        return int(value) if isfinite(value) else NOWHERE

    def renew(self) -> None:
        """Reset the count of calls: this process is a new copy, in which the backend has not been called."""
        self._cells[_CALLS] = self._cells[_PROBING] = 0
        self._cells[_FIRST] = NOWHERE
        self._move(_CALLING, 0)

    def receive(self, message: int) -> None:
        """Store the number of the message that was received; none of its cases has begun."""
        if self._cells[_CALLS]:
            # What is called from now on is not the first.
            self._cells[_FIRST] = NOWHERE
        self._message = message
        self._come_to(NOWHERE)

    def begin(self, index: int) -> None:
        """Store which case is worked at."""
        self._come_to(index)

    def _come_to(self, index: int) -> None:
        # The time is stored first: a reader between the stores finds a deadline that is too late, never too early.
        self._cells[_SINCE] = monotonic()
        self._cells[_MESSAGE] = self._message
        self._cells[_INDEX] = index
        self._cells[_SEAL] = _sealed(self._message, index)

    def call(self) -> None:
        """Store that a call of the backend begins."""
        if not self._cells[_CALLS]:
            self._cells[_FIRST] = self._cells[_INDEX]
        self._cells[_CALLS] += 1
        self._move(_CALLING, 1)

    def answered(self) -> None:
        """Store that the call has returned."""
        self._move(_CALLING, 0)

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Store for this context that a probe is asked."""
        self._cells[_PROBING] = 1
        try:
            yield
        finally:
            self._cells[_PROBING] = 0

    def _move(self, cell: int, value: int) -> None:
        self._cells[_SINCE] = monotonic()
        self._cells[cell] = value


def _sealed(message: float, index: float) -> float:
    return _KEY + message + index

"""Where a worker is, in memory that it shares with its parent and that outlives it.

A store into memory costs a thousandth of a message, so that a worker can say of every call that it makes it; and what
it said last can be read after it died.
"""

from __future__ import annotations

import ctypes
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

_CALLS, _FIRST, _INDEX, _COMPANY, _CALLING, _SINCE = range(6)
_NOWHERE: Final = -1


class Position:
    """A worker's position. The worker writes it, its parent reads it; each number is stored at once.

    Args:
        context: of the process that is to share it; it can be handed over while that process is started.
    """

    def __init__(self, context: BaseContext) -> None:
        # Numbers of eight bytes are stored whole on every processor that Python runs on. A clock that both processes
        # read alike is the monotonic one.
        self._cells = context.RawArray(ctypes.c_double, 6)
        self._cells[_INDEX] = _NOWHERE
        self._cells[_SINCE] = monotonic()

    @property
    def index(self) -> int | None:
        """Which case of its message it is at; of a company, which is the first; None between messages."""
        index = int(self._cells[_INDEX])
        return None if index == _NOWHERE else index

    @property
    def company(self) -> int:
        """How many cases it asks together."""
        return int(self._cells[_COMPANY])

    @property
    def fresh(self) -> bool:
        """Whether the backend has been called for nothing else since the worker started."""
        calls, first, index = (self._cells[cell] for cell in (_CALLS, _FIRST, _INDEX))
        return index != _NOWHERE and (calls == 0 or (calls == 1 and first == index))

    @property
    def calling(self) -> bool:
        """Whether it waits for the backend."""
        return bool(self._cells[_CALLING])

    @property
    def since(self) -> float:
        """When it came there, by the monotonic clock."""
        return float(self._cells[_SINCE])

    def begin(self, index: int, company: int = 1) -> None:
        """Come to a case, or to a company of cases whose first it is."""
        self._cells[_COMPANY] = company
        self._move(_INDEX, index)

    def call(self) -> None:
        """Call the backend."""
        if not self._cells[_CALLS]:
            self._cells[_FIRST] = self._cells[_INDEX]
        self._cells[_CALLS] += 1
        self._move(_CALLING, 1)

    def answered(self) -> None:
        """Have the backend's answer."""
        self._move(_CALLING, 0)

    def rest(self) -> None:
        """Wait for the next message."""
        self._move(_INDEX, _NOWHERE)

    def _move(self, cell: int, value: int) -> None:
        # The time first: whoever reads between the two stores finds the deadline too late, never too early.
        self._cells[_SINCE] = monotonic()
        self._cells[cell] = value

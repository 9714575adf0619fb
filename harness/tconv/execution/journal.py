"""The journal: lines from a worker to its supervisor, in a pipe that can still be read after the worker's end.

Each line has a checksum. A runtime may write into any open descriptor, but its bytes have no valid checksum and are
ignored. A line also begins with a newline, so bytes before it do no harm.

A line is `WORD N TIME TEXT`. N is the number of a case. The time is of the monotonic clock, which all processes share.
The words are

- `begin`: tconv begins to work on the case.
- `call` and `answered`: the backend is called for the case; it has returned.
- `probe`: the backend is called for a probe of its sums.
- `record`: the text is the record.
- `done`: all cases up to this one have records.
- `info` and `error`: what the worker says of its backend; why it cannot go on.
"""

from __future__ import annotations

import os
import select
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_AT_ONCE = 2**20
"""Bytes that are read before other workers have their turn: a runtime may write without end."""
_LONGEST_LINE = 2**24


class Journal:
    """The writing end, in a worker.

    Args:
        descriptor: the pipe; None if nobody reads the journal.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor
        self._at = 0
        self._probes = False

    def begin(self, number: int) -> None:
        """Write that tconv begins to work on a case."""
        self._at = number
        self.write("begin")

    def call(self) -> None:
        """Write that the backend is called."""
        self.write("probe" if self._probes else "call")

    def answered(self) -> None:
        """Write that the call has returned."""
        self.write("probe" if self._probes else "answered")

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Write that a probe is asked in this context; what happens then does not count for the case."""
        self._probes = True
        try:
            self.write("probe")
            yield
        finally:
            self._probes = False
        self.write("answered")

    def write(self, word: str, text: str = "") -> None:
        """Write a line.

        Raises:
            OSError: the pipe is closed.
        """
        if self._descriptor is None:
            return
        body = f"{word} {self._at} {monotonic()!r} {text}".encode()
        rest = b"\n%08x %b\n" % (crc32(body), body)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                # A runtime may have made the pipe non-blocking.
                select.select([], [self._descriptor], [], 1.0)


class Entry(NamedTuple):
    """A line of a journal.

    Attributes:
        word: the kind of line.
        number: the number of the case.
        time: when it was written.
        text: the rest of the line.
    """

    word: str
    number: int
    time: float
    text: str


class JournalReader:
    """The reading end, in the supervisor.

    Args:
        descriptor: the pipe, which is non-blocking.

    Attributes:
        ended: whether no process can write any more.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = b""
        self.ended = False

    def read(self) -> Iterator[Entry]:
        """Yield the new lines; those without a valid checksum are left out."""
        read = 0
        while not self.ended and read < _MOST_AT_ONCE:
            try:
                data = os.read(self._descriptor, 2**16)
            except BlockingIOError:
                return
            self.ended = not data
            read += len(data)
            *lines, self._buffer = (self._buffer + data).split(b"\n")
            if len(self._buffer) > _LONGEST_LINE:
                self._buffer = b""
            yield from filter(None, map(self._entry, lines))

    def _entry(self, line: bytes) -> Entry | None:
        checksum, _, body = line.partition(b" ")
        with suppress(ValueError):
            if checksum == b"%08x" % crc32(body):
                word, number, time, text = body.decode().split(" ", 3)
                return Entry(word, int(number), min(float(time), monotonic()), text)
        return None

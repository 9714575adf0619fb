"""Standard output and error as the command writes to them: printable text, whatever a name or a path holds."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from select import select
from typing import TYPE_CHECKING

from tconv.shown_texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, TextIO

    from _typeshed import ReadableBuffer, WriteableBuffer

_STANDARD = (0, 1, 2)
_ERRORS = 2
_NAMES = {1: "standard output", 2: "standard error"}


class NoReader(BaseException):
    """The reader of our output has gone; click would end the command with the code for red."""


class WaitingFile(FileIO):
    """A file that waits where a pipe that does not block is full or empty; Python would lose what follows.

    Another process has made the pipe so, and shares it: to make it block would change it there too. It stays open.

    Args:
        descriptor: the file's.
        mode: as of `open`.
    """

    def __init__(self, descriptor: int, mode: str) -> None:
        super().__init__(descriptor, mode, closefd=False)

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read some bytes; none at the end."""
        while (count := super().readinto(buffer)) is None:
            select([self], [], [])
        return count

    def write(self, data: ReadableBuffer) -> int:
        """Write some bytes."""
        while (count := super().write(data)) is None:
            select([], [self], [])
        return count


def standard_input() -> BinaryIO | None:
    """Return the bytes of standard input; None if it is closed."""
    if sys.stdin is None:
        return None
    raw = getattr(sys.stdin.buffer, "raw", None)
    return BufferedReader(WaitingFile(raw.fileno(), "rb")) if isinstance(raw, FileIO) else sys.stdin.buffer


def say_in_error(text: str) -> None:
    """Write a line to standard error when Python's own stream is left; if nobody can read it, the exit code says it."""
    with suppress(OSError):
        WaitingFile(_ERRORS, "wb").write(text.encode())


class PrintableStream(TextIOWrapper):
    """A stream that escapes what its reader would act upon.

    Args:
        stream: the stream below it.
        goes_on: whether what its reader does not want goes nowhere, instead of ending the command.

    Attributes:
        unescaped: the stream below it, for a console that has made its text printable and adds colours to it.
        goes_on: as above.
    """

    def __init__(self, stream: TextIOWrapper, *, goes_on: bool = False) -> None:
        # What the encoding of the terminal cannot say is escaped too.
        super().__init__(stream.buffer, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering)
        self.unescaped = stream
        self.goes_on = goes_on

    def write(self, text: str) -> int:
        """Write text, printable."""
        try:
            return super().write(printable(text))
        except OSError as error:
            self.lost(error)
            return len(text)

    def flush(self) -> None:
        """Write what is left."""
        try:
            super().flush()
        except OSError as error:
            self.lost(error)

    def lost(self, error: OSError) -> None:
        """Go on to nowhere, or raise what ends the command. A full disk loses an output, but no errors that matter.

        A console that writes to the stream below calls this too.
        """
        if not (self.goes_on and (isinstance(error, BrokenPipeError) or self.fileno() == _ERRORS)):
            if isinstance(error, BrokenPipeError):
                raise NoReader
            # The system does not say which file is full.
            error.filename = error.filename or _NAMES.get(self.fileno())
            # What is left must not fail once more when the command ends.
            to_nowhere(self)
            raise error
        to_nowhere(self)


def to_nowhere(stream: TextIO) -> None:
    """Let a stream without a reader write to nowhere: Python would complain of what it cannot flush at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def printable_streams() -> Iterator[None]:
    """Let standard output and error escape what they are given.

    Raises:
        NoReader: the reader has gone.
        OSError: what was written last cannot be written.
    """
    before = sys.stdout, sys.stderr
    # A file that is opened later must not become standard output: whoever prints would write into it.
    for descriptor in _STANDARD:
        _open_where_closed(descriptor)
    after = sys.stdout, sys.stderr = _printable(sys.stdout, 1), _printable(sys.stderr, 2)
    try:
        yield
        after[0].flush()
    finally:
        sys.stdout, sys.stderr = before
        for stream in after:
            _leave(stream)


def _open_where_closed(descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - as os has it


def _printable(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is None:
        return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    if not isinstance(stream, TextIOWrapper):
        return stream
    stream.flush()
    # Where nobody reads the errors, the exit code still says what they say.
    return PrintableStream(_waiting(stream), goes_on=descriptor == _ERRORS)


def _waiting(stream: TextIOWrapper) -> TextIOWrapper:
    """Return the stream over a file that waits, without a buffer of text; of a test there may be no file below it."""
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, FileIO):
        stream.reconfigure(errors="backslashreplace", write_through=True)
        return stream
    # `python -u` has no buffer; a raw file may write a part of what it is given.
    by_line = stream.line_buffering or stream.write_through
    buffer = BufferedWriter(WaitingFile(raw.fileno(), "wb"))
    return TextIOWrapper(buffer, stream.encoding, "backslashreplace", line_buffering=by_line, write_through=True)


def _leave(stream: TextIO) -> None:
    """Write what is left, and leave the stream below open; what cannot be written is dropped."""
    try:
        stream.flush()
    except (OSError, NoReader):
        # Python would try again at its end, and end with a code of its own.
        to_nowhere(stream)
    if isinstance(stream, PrintableStream):
        with suppress(OSError, NoReader):
            stream.detach()

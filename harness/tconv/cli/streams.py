"""Standard output and error for the command: all text is printable, even if names or paths have control codes."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from select import select
from typing import TYPE_CHECKING

from tconv.shown_texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from _typeshed import ReadableBuffer

_STANDARD = (0, 1, 2)
_ERRORS = 2
_NAMES = {1: "standard output", 2: "standard error"}


class NoReader(BaseException):
    """The reader of our output has gone. By default click would exit with the code for red."""


class WaitingFile(FileIO):
    """A file that waits if a pipe that does not block is full; Python would lose the rest.

    Another process made the pipe so, and shares it: a change here would change it there too. The file stays open.

    Args:
        descriptor: the file's descriptor.
        mode: the mode, as for `open`.
    """

    def __init__(self, descriptor: int, mode: str) -> None:
        super().__init__(descriptor, mode, closefd=False)

    def write(self, data: ReadableBuffer) -> int:
        """Write some bytes."""
        while (count := super().write(data)) is None:
            select([], [self], [])
        return count


def say_in_error(text: str) -> None:
    """Write a line to standard error after Python's own stream is closed. If nobody reads it, the exit code remains."""
    with suppress(OSError):
        WaitingFile(_ERRORS, "wb").write(text.encode())


class PrintableStream(TextIOWrapper):
    """A stream that escapes characters that a terminal would act upon.

    Args:
        stream: the wrapped stream.
        goes_on: whether output that nobody reads is dropped; if not, it ends the command.

    Attributes:
        unescaped: the wrapped stream, for a console that made its text printable and adds colours.
        goes_on: as above.
    """

    def __init__(self, stream: TextIOWrapper, *, goes_on: bool = False) -> None:
        # Characters that the terminal's encoding does not have are escaped too.
        super().__init__(stream.buffer, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering)
        self.unescaped = stream
        self.goes_on = goes_on

    def write(self, text: str) -> int:
        """Write text; control characters are escaped."""
        try:
            return super().write(printable(text))
        except OSError as error:
            self.lost(error)
            return len(text)

    def flush(self) -> None:
        """Write the buffered text."""
        try:
            super().flush()
        except OSError as error:
            self.lost(error)

    def lost(self, error: OSError) -> None:
        """Drop further output, or raise the error that ends the command. On a full disk, standard error drops its text.

        A console that writes to the wrapped stream calls this too.
        """
        if not (self.goes_on and (isinstance(error, BrokenPipeError) or self.fileno() == _ERRORS)):
            if isinstance(error, BrokenPipeError):
                raise NoReader
            # The system does not say which file is full.
            error.filename = error.filename or _NAMES.get(self.fileno())
            # The remaining text must not fail again when the command ends.
            to_nowhere(self)
            raise error
        to_nowhere(self)


def to_nowhere(stream: TextIO) -> None:
    """Redirect a stream without a reader to the null device: Python would report text that it cannot flush at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def printable_streams() -> Iterator[None]:
    """Make standard output and error escape control characters.

    Raises:
        NoReader: the reader has gone.
        OSError: the last text cannot be written.
    """
    before = sys.stdout, sys.stderr
    # If a descriptor is closed, a file opened later would take its number, and prints would go into that file.
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
    # If nobody reads the errors, the exit code still reports them.
    return PrintableStream(_waiting(stream), goes_on=descriptor == _ERRORS)


def _waiting(stream: TextIOWrapper) -> TextIOWrapper:
    """Return the stream over a file that waits, without a buffer of text. In a test there may be no file."""
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, FileIO):
        stream.reconfigure(errors="backslashreplace", write_through=True)
        return stream
    # `python -u` has no buffer, and a raw file may write only a part of the text.
    by_line = stream.line_buffering or stream.write_through
    buffer = BufferedWriter(WaitingFile(raw.fileno(), "wb"))
    return TextIOWrapper(buffer, stream.encoding, "backslashreplace", line_buffering=by_line, write_through=True)


def _leave(stream: TextIO) -> None:
    """Write the buffered text, and leave the wrapped stream open; text that cannot be written is dropped."""
    try:
        stream.flush()
    except (OSError, NoReader):
        # Python would try again at exit, and end with an exit code of its own.
        to_nowhere(stream)
    if isinstance(stream, PrintableStream):
        with suppress(OSError, NoReader):
            stream.detach()

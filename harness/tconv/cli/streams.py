"""Standard output and error as the command writes to them: printable text, whatever a name or a path holds."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

from tconv.shown_texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_STANDARD = (0, 1, 2)
_ERRORS = 2
_NAMES = {1: "standard output", 2: "standard error"}


class NoReader(BaseException):
    """The reader of our output has gone; click would end the command with the code for red."""


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
    stream.reconfigure(errors="backslashreplace", write_through=True)
    # Where nobody reads the errors, the exit code still says what they say.
    return PrintableStream(stream, goes_on=descriptor == _ERRORS)


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

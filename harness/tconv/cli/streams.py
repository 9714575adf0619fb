"""Standard output and error as the command writes to them: printable text, whatever a name or a path holds."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

from tconv.errors import printable

if TYPE_CHECKING:
    from typing import TextIO


class PrintableStream(TextIOWrapper):
    """A stream that escapes what its reader would act upon.

    `unescaped` is the stream below it, for a console that has made its text printable and adds colours to it.
    """

    def __init__(self, stream: TextIOWrapper) -> None:
        # What the encoding of the terminal cannot say is escaped too.
        super().__init__(stream.buffer, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering)
        self.unescaped = stream

    def write(self, text: str) -> int:
        """Write text, printable."""
        return super().write(printable(text))


def make_printable() -> None:
    """Let standard output and error escape what they are given."""
    sys.stdout, sys.stderr = _printable(sys.stdout), _printable(sys.stderr)


def _printable(stream: TextIO) -> TextIO:
    if not isinstance(stream, TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace", write_through=True)
    return PrintableStream(stream)

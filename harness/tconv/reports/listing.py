"""Rows of text on standard output. Every cell can be copied: ids are not folded, broken or padded.

On a terminal that is wide enough they are a table. On a narrower one, and in a pipe, each row is one line.
"""

from __future__ import annotations

import os
import re
import sys
from errno import EPIPE
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from tconv.shown_texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType

WIDEST = 120
"""The most columns of a sentence: wider ones are hard to read, and readers of logs have windows of about this width."""
_NARROWEST = 20
_GAP = "  "


def console() -> Console:
    """Return a console for standard output, with colours only on a terminal, and at most WIDEST columns in a pipe.

    The environment variable COLUMNS sets the width of a line, even in a pipe, if it is a valid number.
    """
    columns = os.environ.get("COLUMNS", "")
    is_width = re.fullmatch(r"[0-9]{1,5}", columns)
    piped = not sys.stdout.isatty() and not is_width
    # The command escapes what is written to its streams; for its colours, a console on a terminal needs the one below.
    below = None if piped else getattr(sys.stdout, "unescaped", None)
    width = max(int(columns), _NARROWEST) if is_width else WIDEST if piped else None
    return PrintableConsole(file=below, width=width, highlight=False)


class PrintableConsole(Console):
    """A console that escapes control characters in its input, so that the only escape codes are its own."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of rich
        # rich would fail on a value that is not a number.
        environment = {name: text for name, text in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        super().__init__(_environ=environment, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of a renderable, with control characters escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Handle it as the command's stream does: rich would end the process with 1, the code of a red run."""
        error = BrokenPipeError(EPIPE, os.strerror(EPIPE))
        lost = getattr(sys.stdout, "lost", None)
        if lost is None:
            raise error
        lost(error)


def print_line(out: Console, line: str, style: str = "") -> None:
    """Print a line unchanged: it has no markup, and if the terminal folds it, it can still be copied as one line."""
    out.print(Text(line, style=style), soft_wrap=True)


def folded(text: str, width: int, first: str = "", indent: str | None = None) -> list[str]:
    """Return text as lines of at most `width` columns, or WIDEST; a longer word, such as an id, is not broken.

    Args:
        text: the text, of any number of lines.
        width: the available columns.
        first: the beginning of the first line.
        indent: the beginning of further lines; None for as many spaces as `first` has characters.
    """
    further = " " * len(first) if indent is None else indent
    lines = wrap(
        text,
        min(width, WIDEST),
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]


def show(out: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print rows.

    Args:
        out: the console.
        columns: the names of the columns.
        rows: a text for each column; an empty one is printed as `-` in a line.
        title: the line above them.
    """
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    is_table = out.is_terminal and sum(widths) + len(_GAP) * len(widths) <= out.width
    if title:
        print_line(out, title, "bold")
    for row in (columns, *rows):
        cells = [(cell or "-").ljust(width if is_table else 0) for cell, width in zip(row, widths, strict=True)]
        print_line(out, _GAP.join(cells).rstrip())

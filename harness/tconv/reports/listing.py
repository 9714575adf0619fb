"""Rows of text on standard output. Every cell can be copied: ids are not folded, broken or padded.

On a terminal that is wide enough they are a table. On a narrower one, and in a pipe, each row is one line.
"""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from tconv.shown_texts import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDEST = 120
"""The most columns of a sentence: wider ones are hard to read, and readers of logs have windows of about this width."""
_NARROWEST = 20
_GAP = "  "


def columns_of_output() -> int:
    """Return the columns of standard output: of the terminal, or of the variable COLUMNS; WIDEST in a pipe."""
    return max(get_terminal_size((WIDEST, 0)).columns, _NARROWEST)


def print_line(line: str, style: str = "") -> None:
    """Print a line unchanged: if the terminal folds it, it can still be copied as one line.

    Args:
        line: the line.
        style: a colour and `bold` or `dim`, for a terminal.
    """
    words = style.split()
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    if not words or is_plain:
        click.echo(line)
        return
    colour = next((word for word in words if word not in {"bold", "dim"}), None)
    styled = click.style(printable(line), fg=colour, bold="bold" in words or None, dim="dim" in words or None)
    # The command's stream would escape the codes of the style.
    click.echo(styled, file=getattr(sys.stdout, "unescaped", None))


def folded(text: str, first: str = "", indent: str | None = None) -> list[str]:
    """Return text as lines that fit into standard output, and into WIDEST; a longer word, such as an id, is not broken.

    Args:
        text: the text, of any number of lines.
        first: the beginning of the first line.
        indent: the beginning of further lines; None for as many spaces as `first` has characters.
    """
    further = " " * len(first) if indent is None else indent
    lines = wrap(
        text,
        min(columns_of_output(), WIDEST),
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]


def show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows.

    Args:
        columns: the names of the columns.
        rows: a text for each column; an empty one is printed as `-` in a line.
    """
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    is_table = sys.stdout.isatty() and sum(widths) + len(_GAP) * len(widths) <= columns_of_output()
    for row in (columns, *rows):
        cells = [(cell or "-").ljust(width if is_table else 0) for cell, width in zip(row, widths, strict=True)]
        print_line(_GAP.join(cells).rstrip())

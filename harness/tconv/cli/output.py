"""What commands write: to standard output, whose reader may leave at any time, or to a file."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tconv.cli.streams import PrintableStream
from tconv.errors import FileError
from tconv.reports import atomic_write
from tconv.reports.listing import columns_of_output, folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@contextmanager
def printing() -> Iterator[None]:
    """Discard what is printed in this context once its reader has gone, as `head` does.

    The command goes on, so its exit code is the same as with a reader.
    """
    stream = sys.stdout
    if not isinstance(stream, PrintableStream):
        # In a test, or if Python itself replaced the stream.
        yield
        return
    before, stream.goes_on = stream.goes_on, True
    try:
        yield
        stream.flush()
    finally:
        stream.goes_on = before


def write_output(text: str, output: Path | None) -> None:
    """Write text to a file, or to standard output.

    Args:
        text: the text, with its last newline.
        output: the file, which is replaced as a whole; None means standard output.

    Raises:
        FileError: the file cannot be written.
    """
    if output is not None:
        atomic_write.write(output, text)
        return
    with printing():
        sys.stdout.write(text)


def print_text(text: str) -> None:
    """Print lines. On a terminal, wide lines are folded between words, and their further parts are indented.

    In a pipe every line is unchanged, for programs that read it.
    """
    for line in text.split("\n"):
        if sys.stdout.isatty() and len(line) > columns_of_output():
            words = line.lstrip()
            indent = " " * (len(line) - len(words))
            click.echo("\n".join(folded(words, indent, f"{indent}    ")))
        else:
            click.echo(line)


def json_text(value: object) -> str:
    """Return a JSON value as indented text."""
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def refuse_unwritable(paths: Sequence[Path | None]) -> None:
    """Report a file that cannot be written, before a run that may take an hour.

    Args:
        paths: the files; None if a file is not wanted. No file is changed, and no folder is left behind.

    Raises:
        FileError: a file cannot be written.
    """
    for path in filter(None, paths):
        at = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        if at == path and at.is_dir():
            raise FileError(path, "must be a file that can be written (got a folder); choose another")
        if not os.access(at, os.W_OK) or (at != path and not at.is_dir()):
            raise FileError(path, f"must be a file that can be written (got {at}, which cannot); choose another")

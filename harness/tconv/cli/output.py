"""What commands write: to standard output, whose reader may leave at any time, or to a file."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tconv.cli.streams import NoReader
from tconv.errors import writing
from tconv.reports import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import TextIO


@contextmanager
def printing() -> Iterator[None]:
    """End quietly what is printed inside of this context where its reader has gone, as `head` does.

    The command goes on, so that its exit code is the one that it has with a reader.
    """
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, NoReader):
        to_nowhere(sys.stdout)


def to_nowhere(stream: TextIO) -> None:
    """Let a stream without a reader write to nowhere: Python would complain of what it cannot flush at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def published(text: str, output: Path | None) -> None:
    """Write text to a file, or to standard output.

    Args:
        text: the text, with its last newline.
        output: the file, which is replaced as a whole; None for standard output.

    Raises:
        FileError: the file cannot be written.
    """
    if output is None:
        with printing():
            sys.stdout.write(text)
        return
    with writing(output):
        atomic_write.write(output, text)


def json_text(value: object) -> str:
    """Return a JSON value as text that a person can read too."""
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def tried(paths: Sequence[Path | None]) -> None:
    """Report a file that cannot be written, before a run that may take an hour and not after it.

    Args:
        paths: the files; None for one that is not wanted. None of them is changed.

    Raises:
        FileError: a file cannot be written.
    """
    for path in filter(None, paths):
        is_new = not path.exists()
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
            if is_new:
                path.unlink()

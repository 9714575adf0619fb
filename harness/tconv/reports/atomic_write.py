"""Files that are replaced as a whole: whoever reads one while it is written gets the old content."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from tconv.errors import writing


def write(destination: Path, text: str) -> None:
    """Write a file in UTF-8, and make its folder where there is none.

    A link stays, and the file that it leads to is replaced. A pipe or a device is written into, and so is
    standard output, also where it is a file: another file in its place would not get what is printed afterwards.

    Raises:
        FileError: it cannot be written; the old file is unchanged.
    """
    # A byte of standard error that is not UTF-8 is decoded to a lone surrogate, which UTF-8 cannot encode.
    data = text.encode("utf-8", "backslashreplace")
    with writing(destination):
        if is_stream(destination):
            _write_into(destination, data)
            return
        file = Path(os.path.realpath(destination))
        # A name that nobody can guess, and no file that is there: a link would be followed to what it leads to.
        partial = file.with_name(f".{token_hex(8)}.partial")
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("xb") as new:
                new.write(data)
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Return whether a path leads to a pipe, a device or standard output, which nothing can take the place of.

    Raises:
        OSError: the system does not tell.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)) or _printed_to(status) is not None


def _write_into(stream: Path, data: bytes) -> None:
    number = _printed_to(stream.stat())
    if number is None:
        with stream.open("ab") as file:
            file.write(data)
        return
    for printed in filter(None, (sys.stdout, sys.stderr)):
        printed.flush()
    # The descriptor itself: the same file, opened again, would be written to from its beginning.
    with os.fdopen(os.dup(number), "wb") as file:
        file.write(data)


def _printed_to(file: os.stat_result) -> int | None:
    """Return which of standard output and standard error a file is; None for neither."""
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(file, os.fstat(number)):
                return number
    return None

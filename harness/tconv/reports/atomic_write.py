"""Files that are replaced as a whole: a program that reads one during a write gets the old content."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from tconv.errors import writing


def write(destination: Path, text: str) -> None:
    """Write a file in UTF-8, and create its folder if it is missing.

    A link stays, and its target is replaced. A pipe or a device is written into. So is standard output, even if it is a
    file: if another file took its place, later prints would not go there.

    Raises:
        FileError: it cannot be written; the old file is unchanged.
    """
    # A byte of standard error that is not UTF-8 was decoded to a lone surrogate, which UTF-8 cannot encode.
    data = text.encode("utf-8", "backslashreplace")
    with writing(destination):
        if is_stream(destination):
            _write_into(destination, data)
            return
        file = Path(os.path.realpath(destination))
        # A name that nobody can guess, for a file that does not exist: a link there would be followed.
        partial = file.with_name(f".{token_hex(8)}.partial")
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("xb") as new:
                new.write(data)
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Return whether a path is a pipe, a device or standard output, which no file can replace.

    Raises:
        OSError: the system does not say.
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
    # The descriptor itself: if the same file were opened again, it would be written from its beginning.
    with os.fdopen(os.dup(number), "wb") as file:
        file.write(data)


def _printed_to(file: os.stat_result) -> int | None:
    """Return which of standard output and standard error a file is; None if it is neither."""
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(file, os.fstat(number)):
                return number
    return None

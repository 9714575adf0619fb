"""Files that are replaced as a whole: a program that reads one during a write gets the old content."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from secrets import token_hex

from tconv.errors import writing


def write(destination: Path, text: str) -> None:
    """Write a file in UTF-8, and create its folder if it is missing.

    A link stays, and its target is replaced. A pipe or a device is written into. If standard output goes into the file,
    the bytes are printed: if another file took its place, later prints would not go there.

    Raises:
        FileError: it cannot be written; the old file is unchanged.
    """
    # A byte of standard error that is not UTF-8 was decoded to a lone surrogate, which UTF-8 cannot encode.
    data = text.encode("utf-8", "backslashreplace")
    with writing(destination):
        if _is_printed_to(destination):
            _print(data)
            return
        if is_stream(destination):
            with destination.open("ab") as stream:
                stream.write(data)
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
    """Return whether a path is a pipe or a device, which no file can replace.

    Raises:
        OSError: the system does not say.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


def _is_printed_to(path: Path) -> bool:
    """Return whether standard output goes into a file, a pipe or a device."""
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except FileNotFoundError:
        return False


def _print(data: bytes) -> None:
    """Print the bytes: the text of standard output may be escaped, and in another encoding than UTF-8."""
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError as error:
        lost = getattr(sys.stdout, "lost", None)
        if lost is None:
            raise
        # The command's stream says how the command ends if its reader has gone.
        lost(error)
    sys.stdout.flush()

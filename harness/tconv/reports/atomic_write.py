"""Files that are replaced as a whole: whoever reads one while it is written gets the old content."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tconv.errors import writing


def write(destination: Path, text: str) -> None:
    """Write a file in UTF-8, and make its folder where there is none.

    A link stays, and the file that it leads to is replaced. A pipe or a device, as /dev/stdout, is written into.

    Raises:
        FileError: it cannot be written; the old file is unchanged.
    """
    # A byte of standard error that is not UTF-8 is decoded to a lone surrogate, which UTF-8 cannot encode.
    data = text.encode("utf-8", "backslashreplace")
    with writing(destination):
        if is_stream(destination):
            destination.write_bytes(data)
            return
        file = Path(os.path.realpath(destination))
        partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_bytes(data)
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Return whether a path leads to a pipe or a device, which nothing can take the place of.

    Raises:
        OSError: the system does not tell.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))

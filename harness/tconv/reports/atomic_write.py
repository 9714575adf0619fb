"""Files that are replaced as a whole: whoever reads one while it is written gets the old content."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from tconv.errors import writing

_DESCRIPTOR = re.compile(r"(?:/dev|/proc/(self|thread-self|\d+))/fd/(\d+)")
_LINKS = 40
"""So many links are followed, as Linux does."""


def write(destination: Path, text: str) -> None:
    """Write a file in UTF-8, and make its folder where there is none.

    A link stays, and the file that it leads to is replaced. A pipe or a device is written into, and so is a descriptor,
    as /dev/stdout, also where it is a file: another file in its place would not get what is printed afterwards.

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
    """Return whether a path leads to a pipe, a device or a descriptor, which nothing can take the place of.

    Raises:
        OSError: the system does not tell.
    """
    if _named_descriptor(path):
        return True
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)) or _printed_to(status) is not None


def _write_into(stream: Path, data: bytes) -> None:
    process, number = _named_descriptor(stream) or ("self", _printed_to(stream.stat()))
    if number is None or process not in {"self", "thread-self", str(os.getpid())}:
        with stream.open("ab") as file:
            file.write(data)
        return
    for printed in filter(None, (sys.stdout, sys.stderr)):
        printed.flush()
    # The descriptor itself: the same file, opened again, would be written to from its beginning.
    with os.fdopen(os.dup(number), "wb") as file:
        file.write(data)


def _named_descriptor(path: Path) -> tuple[str, int] | None:
    """Return the process and the number of the descriptor that a path names, perhaps by links; None for another."""
    name = os.path.abspath(path)  # noqa: PTH100 - Path.resolve would follow the descriptor's own link too
    for _ in range(_LINKS):
        if match := _DESCRIPTOR.fullmatch(name):
            return match[1] or "self", int(match[2])
        try:
            name = os.path.normpath(Path(name).parent / Path(name).readlink())
        except (OSError, ValueError):
            return None
    return None


def _printed_to(file: os.stat_result) -> int | None:
    """Return which of standard output and standard error a file is; None for neither."""
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(file, os.fstat(number)):
                return number
    return None

"""A lock beside a file, so that one run at a time writes it; the error of a second run names the first."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

from tconv.errors import FileError
from tconv.shown_texts import one_line

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST = 200


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock beside a file while it is written; the lock ends with this process, however that ends.

    Raises:
        FileError: another run holds it, or the folder cannot be written.
    """
    if sys.platform == "win32":
        yield
        return
    beside = path.with_name(f".{path.name}.lock")
    with _opened(beside, path) as lock:
        try:
            yield
        finally:
            with suppress(OSError):
                beside.unlink()
            lock.truncate(0)


def _opened(beside: Path, path: Path) -> TextIO:
    """Return the lock's file, locked."""
    while True:
        try:
            # It is no link to a file elsewhere, which would be written.
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise FileError(beside, f"must be a file that can be written ({error.strerror})") from None
        file = os.fdopen(descriptor, "r+", encoding="utf-8", errors="replace")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = one_line(file.read(_LONGEST)) or "another process"
            file.close()
            message = (
                f"must be written by one run at a time (got: {holder} writes it); wait, or choose another --output"
            )
            raise FileError(path, message) from None
        except OSError:
            # A file system without locks, as some of networks are.
            return file
        # Whoever held it before may have removed the file between our two steps.
        with suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == beside.stat().st_ino:
                break
        file.close()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    # Who holds it is a help for others; a full disk has no place for it.
    with suppress(OSError):
        file.truncate(0)
        os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}, since {now},".encode(), 0)
    return file

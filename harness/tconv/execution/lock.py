"""A lock next to a record file: one run at a time writes it, and the error of a second run names the first."""

from __future__ import annotations

import os
import platform
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from errno import ENOLCK, ENOSYS, ENOTSUP
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from tconv.errors import FileError
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST = 200
_NO_LOCKS = {ENOSYS, ENOTSUP, ENOLCK}
"""Errors of file systems without locks, such as some network file systems: nothing protects the file there."""


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock next to a file while it is written; it ends with this process, even if that is killed.

    Raises:
        FileError: another run holds it, or the folder cannot be written.
    """
    beside, holder = (path.with_name(f".{path.name}.{suffix}") for suffix in ("lock", "holder"))
    lock = FileLock(beside, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        message = f"(got: {_said(holder)} writes it); wait, or choose another --output"
        raise FileError(path, f"must be written by one run at a time {message}") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise FileError(beside, f"must be a file that can be written ({error.strerror})") from None
    try:
        # The name of the holder only helps others; a full disk must not stop the run.
        with suppress(OSError):
            # A killed run may have left one. Mode "x" follows no link.
            holder.unlink(missing_ok=True)
            with holder.open("x", encoding="utf-8") as file:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                file.write(f"process {os.getpid()} on {platform.node()}, since {now},")
        yield
    finally:
        for left in (holder, beside):
            with suppress(OSError):
                left.unlink()
        lock.release()


def _said(holder: Path) -> str:
    try:
        with holder.open(encoding="utf-8", errors="replace") as file:
            return one_line(file.read(_LONGEST)) or "another process"
    except OSError:
        return "another process"

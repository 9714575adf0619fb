"""A lock next to a record file: one run at a time writes it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from errno import ENOLCK, ENOSYS, ENOTSUP
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from tconv.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUFFIX = ".lock"
_NO_LOCKS = {ENOSYS, ENOTSUP, ENOLCK}
"""Errors of file systems without locks, such as some network file systems: nothing protects the file there."""


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock next to a file while it is written; it ends with this process, even if that is killed.

    Raises:
        FileError: another run holds it, or the folder cannot be written.
    """
    lock_file = path.with_name(f".{path.name}{SUFFIX}")
    lock = FileLock(lock_file, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        message = (
            "must be written by one run at a time (got another run that writes it); wait, or choose another --output"
        )
        raise FileError(path, message) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise FileError(lock_file, f"must be a file that can be written ({error.strerror})") from None
    try:
        yield
    finally:
        with suppress(OSError):
            lock_file.unlink()
        lock.release()

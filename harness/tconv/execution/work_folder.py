"""The folder of temporary files of a pool: removed at its end, and by a later run where that was killed."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from time import time

from filelock import FileLock, Timeout

_PREFIX = "tconv-run-"
_LOCK = "in-use"
_SETTLED_SECONDS = 60.0
"""So old is a folder whose owner has surely locked it."""


class WorkFolder:
    """A new folder, which is this process's as long as it lives.

    Args:
        above: where it is made; None for where temporary files are.
    """

    def __init__(self, above: str | None = None) -> None:
        above = above or tempfile.gettempdir()
        _remove_abandoned(Path(above))
        self.name = tempfile.mkdtemp(prefix=_PREFIX, dir=above)
        self._lock = _lock_of(self.name)
        # On a file system without locks nobody removes it after us.
        with suppress(OSError):
            self._lock.acquire(blocking=False)

    def cleanup(self) -> None:
        """Remove the folder; what was put in its place is left alone."""
        self._lock.release()
        shutil.rmtree(self.name, ignore_errors=True)


def _lock_of(folder: str | Path) -> FileLock:
    # Whichever thread ends a folder, it is the process that holds it.
    return FileLock(Path(folder) / _LOCK, mode=0o600, thread_local=False, fallback_to_soft=False)


def _remove_abandoned(above: Path) -> None:
    """Remove the folders of pools that were killed: nobody holds their locks."""
    for folder in above.glob(f"{_PREFIX}*"):
        # What is another user's, or not ours to remove, stays.
        with suppress(OSError, Timeout):
            if folder.is_symlink() or time() - folder.stat().st_mtime < _SETTLED_SECONDS:
                continue
            with _lock_of(folder).acquire(blocking=False):
                shutil.rmtree(folder, ignore_errors=True)

"""The folder of temporary files of a pool: removed at its end, and by a later run where that was killed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import time

if sys.platform != "win32":
    import fcntl

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
        self._lock = os.open(Path(self.name) / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if sys.platform != "win32":
            with suppress(OSError):
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def cleanup(self) -> None:
        """Remove the folder; what was put in its place is left alone."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        shutil.rmtree(self.name, ignore_errors=True)


def _remove_abandoned(above: Path) -> None:
    """Remove the folders of pools that were killed: nobody holds their locks."""
    if sys.platform == "win32":
        return
    for folder in above.glob(f"{_PREFIX}*"):
        # What is another user's, or not ours to remove, stays.
        with suppress(OSError):
            if folder.is_symlink() or time() - folder.stat().st_mtime < _SETTLED_SECONDS:
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)

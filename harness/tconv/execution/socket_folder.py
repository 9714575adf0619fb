"""The folder in which multiprocessing puts its socket: with a short path, and removed whatever has become of it."""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import suppress
from multiprocessing import current_process
from typing import Any

from tconv.execution.work_folder import WorkFolder

_LONGEST = 64
"""A system limits the path of a socket to 104 characters."""
_SHORT = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - a new folder in it, which is this user's alone


def make() -> bool:
    """Make the folder, where there is none yet; return whether there is one.

    Multiprocessing's own has the path of `TMPDIR`, stays where a run is killed, and ends the command with a traceback
    where it has gone.
    """
    settings: dict[str, Any] = current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001 - no public way
    if settings.get("tempdir") is None:
        for above in (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), *_SHORT):
            if not 0 < len(os.fsencode(above)) <= _LONGEST:
                continue
            with suppress(OSError):
                folder = WorkFolder(above)
                atexit.register(folder.cleanup)
                settings["tempdir"] = folder.name
                return True
    return settings.get("tempdir") is not None and len(os.fsencode(settings["tempdir"])) <= 2 * _LONGEST

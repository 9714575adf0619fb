"""No process outlives the one that started it (Linux).

The kernel ends it with its parent. Processes whose parents have ended are adopted, in whatever session they are, and
ended by whoever adopts them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PARENT = 1
"""The place of the parent's number in /proc/PID/stat, behind the name."""
_SECONDS = 5.0
"""So long is tried, should processes start others faster than they are ended."""
_adopting = 0
"""The process that adopts, by its number: a fork of it does not."""


# Loaded at import: between a fork and an exec nothing may be loaded.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def control(what: int, value: int) -> bool:
    """Ask the kernel something for this process, as prctl(2) has it; return whether it does so."""
    return _LIBC is not None and _LIBC.prctl(what, value, 0, 0, 0) == 0


def end_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends, also where its process is killed."""
    control(_PR_SET_PDEATHSIG, signal.SIGKILL)


def outlive_parent() -> None:
    """Let the kernel not kill this process any more when the thread that started it ends."""
    control(_PR_SET_PDEATHSIG, 0)


def adopt() -> None:
    """Let what a process below this one leaves behind come to this one, and not to the system's first."""
    global _adopting  # noqa: PLW0603 - the kernel's state of this process, remembered
    if control(_PR_SET_CHILD_SUBREAPER, 1):
        _adopting = os.getpid()


def end_children(but: Collection[int] = ()) -> None:
    """Kill all children of this process, and theirs, which come to it as their parents end.

    Nothing where this process does not adopt: then its children may be others' than ours.

    Args:
        but: children that live on.
    """
    if _adopting != os.getpid():
        return
    deadline = monotonic() + _SECONDS
    spared = set(but)
    # How the runtime ended must be said, also where the system does not tell what it left behind.
    with suppress(OSError):
        while (running := [child for child in children() if child not in spared]) and monotonic() < deadline:
            for child in running:
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                except PermissionError:
                    # It runs with another user's rights.
                    spared.add(child)
            for child in running:
                with suppress(ChildProcessError):
                    os.waitpid(child, os.WNOHANG)
            sleep(0.001)


def children() -> list[int]:
    """Return the children of this process; those that have ended and were not waited for are among them.

    Raises:
        OSError: the system does not tell.
    """
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        # It has ended since, or the system hides it (`hidepid`): then it is another user's, and no child.
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if path.read_text(errors="replace").rpartition(")")[2].split()[_PARENT] == str(os.getpid()):
                pids.append(int(path.parent.name))
    return pids

"""No process outlives the one that started it (Linux).

The kernel ends a process with its parent. Processes whose parents have ended, in any session, are adopted by an
ancestor, which ends them.
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
"""The field of the parent's number in /proc/PID/stat, after the name."""
_SECONDS = 5.0
"""The limit for ending children, as they may start others faster than they are ended."""
_adopting = 0
"""The number of the process that adopts; its forks do not adopt."""


# Loaded at import: nothing may be loaded between a fork and an exec.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def control(what: int, value: int) -> bool:
    """Call prctl(2) for this process; return whether it succeeded."""
    return _LIBC is not None and _LIBC.prctl(what, value, 0, 0, 0) == 0


def end_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends."""
    control(_PR_SET_PDEATHSIG, signal.SIGKILL)


def outlive_parent() -> None:
    """Undo `end_with_parent`."""
    control(_PR_SET_PDEATHSIG, 0)


def adopt() -> None:
    """Let orphans of processes below this one become its children, not those of the system's first process."""
    global _adopting  # noqa: PLW0603 - a state of the process in the kernel
    if control(_PR_SET_CHILD_SUBREAPER, 1):
        _adopting = os.getpid()


def end_children(but: Collection[int] = ()) -> None:
    """Kill all children of this process, and their children, which are adopted as their parents end.

    If this process does not adopt, nothing is done, as its children may not be ours.

    Args:
        but: children that are not killed.
    """
    if _adopting != os.getpid():
        return
    deadline = monotonic() + _SECONDS
    spared = set(but)
    # An error here must not hide how the runtime ended.
    with suppress(OSError):
        while (running := [child for child in children() if child not in spared]) and monotonic() < deadline:
            for child in running:
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                except PermissionError:
                    # It has another user's rights.
                    spared.add(child)
            for child in running:
                with suppress(ChildProcessError):
                    os.waitpid(child, os.WNOHANG)
            sleep(0.001)


def children() -> list[int]:
    """Return the children of this process, including those that have ended and were not waited for.

    Raises:
        OSError: the system does not list processes.
    """
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        # It has ended since, or it is hidden (`hidepid`) as another user's, and so no child.
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if path.read_text(errors="replace").rpartition(")")[2].split()[_PARENT] == str(os.getpid()):
                pids.append(int(path.parent.name))
    return pids

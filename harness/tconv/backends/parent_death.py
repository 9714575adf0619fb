"""No process outlives the one that started it: the kernel ends it, where it can (Linux)."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def _libc() -> ctypes.CDLL | None:
    # Loaded at import: between a fork and an exec nothing may be loaded.
    return ctypes.CDLL(None) if sys.platform == "linux" else None


_LIBC = _libc()


def control(what: int, value: int) -> bool:
    """Ask the kernel something for this process, as prctl(2) has it; return whether it does so."""
    return _LIBC is not None and _LIBC.prctl(what, value, 0, 0, 0) == 0


def end_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends, also where its process is killed."""
    control(_PR_SET_PDEATHSIG, signal.SIGKILL)


def outlive_parent() -> None:
    """Let the kernel not kill this process any more when the thread that started it ends."""
    control(_PR_SET_PDEATHSIG, 0)

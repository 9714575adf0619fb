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


def end_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends, be it that its process is killed."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

"""How a child process ended: its signal or exit code, and the end of its output."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_TAIL = 2000


def ending(code: int | None) -> str:
    """Return the cause of a process's end, as in `Died`: a signal's name, or the exit code."""
    if code is None or code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    # Real-time signals have no names.
    return f"signal {-code}"


def tail(log: Path) -> str:
    """Return the end of what a process printed into a file."""
    with suppress(OSError), log.open("rb") as file:
        # A runtime may have printed more than fits into memory.
        file.seek(max(0, log.stat().st_size - _TAIL))
        return file.read().decode("utf-8", "replace").strip()
    return ""

"""Limits of the system that no command could work below: told before anything is loaded that would end the process."""

from __future__ import annotations

import os
from contextlib import suppress

from tconv.errors import UsageError

_HANDLES = 20
_MEMORY = 160 * 2**20
_MEMORY_OF_A_THREAD = 40 * 2**20
"""What numpy's library, OpenBLAS, reserves for each of its threads."""
_MOST_THREADS = 64
_THREADS = tuple(f"{library}_NUM_THREADS" for library in ("OPENBLAS", "GOTO", "OMP"))
"""The variables that it takes the number of threads from; the first with a positive number counts."""


def refuse_too_little() -> None:
    """Refuse a number of file handles, or an address space, in which numpy or Python's own workers break.

    Raises:
        UsageError: there is too little; numpy's library would end the process with 1, which is the code for red.
    """
    with suppress(ImportError):
        # Not every system has it.
        import resource  # noqa: PLC0415

        handles, memory = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
        needed = _MEMORY + _MEMORY_OF_A_THREAD * _threads()
        if 0 <= handles < _HANDLES:
            raise UsageError(f"open files must be at least {_HANDLES} (got {handles}); raise it with: ulimit -n 1024")
        if 0 <= memory < needed:
            mib = needed >> 20
            got = f"{memory >> 20} MiB"
            raise UsageError(f"memory must be at least {mib} MiB (got {got}); raise it with: ulimit -v {mib << 10}")


def _threads() -> int:
    """Return how many threads numpy's library starts: as many as it is told, at most one for each usable processor."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = [
        int(text) for name in _THREADS if (text := os.environ.get(name, "").strip()).isdecimal() and int(text) > 0
    ]
    return min(processors, _MOST_THREADS, *threads[:1])

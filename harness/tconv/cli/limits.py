"""Limits of the system below which no command works. They are reported before a library ends the process."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Event, Thread

from tconv.errors import UsageError

_HANDLES = 20
_MEMORY = 160 * 2**20
_MEMORY_OF_A_THREAD = 40 * 2**20
"""Bytes that OpenBLAS, numpy's library, reserves for each of its threads."""
_MOST_THREADS = 64
_PROCESSES = 2
"""A run starts at least these: the process that workers are forked from, and a worker."""
_THREADS = tuple(f"{library}_NUM_THREADS" for library in ("OPENBLAS", "GOTO", "OMP"))
"""Variables with OpenBLAS's number of threads; the first with a positive number counts."""


def refuse_too_little() -> None:
    """Refuse a limit of file handles, threads or memory that is too small for numpy or for Python's workers.

    Raises:
        UsageError: a limit is too small. OpenBLAS would end the process with 1, the code for red, or as Ctrl-C does.
    """
    with suppress(ImportError):
        # Not every system has this module.
        import resource  # noqa: PLC0415

        handles, memory = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
        needed = _MEMORY + _MEMORY_OF_A_THREAD * _threads()
        if 0 <= handles < _HANDLES:
            raise UsageError(f"open files must be at least {_HANDLES} (got {handles}); raise it with: ulimit -n 1024")
        if 0 <= memory < needed:
            mib = needed >> 20
            got = f"{memory >> 20} MiB"
            raise UsageError(f"memory must be at least {mib} MiB (got {got}); raise it with: ulimit -v {mib << 10}")
    if not _can_start(more := _threads() + _PROCESSES):
        must = f"processes and threads must be allowed to be {more} more than the user has"
        raise UsageError(f"{must} (got fewer); raise the limit: ulimit -u")


def _can_start(count: int) -> bool:
    """Return whether so many threads can be alive at the same time.

    The limit alone does not show it: it counts all processes of the user, or of the container.
    """
    done, started = Event(), list[Thread]()
    try:
        for _ in range(count):
            thread = Thread(target=done.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return False
    finally:
        done.set()
        for thread in started:
            thread.join()
    return True


def _threads() -> int:
    """Return how many threads OpenBLAS starts: the number in its variables, at most one for each usable processor."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = [
        int(text) for name in _THREADS if (text := os.environ.get(name, "").strip()).isdecimal() and int(text) > 0
    ]
    return min(processors, _MOST_THREADS, *threads[:1])

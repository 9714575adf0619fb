"""How workers are started, and what ties them to the process that they are forked from."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from contextlib import suppress
from multiprocessing import current_process, get_all_start_methods, get_context, parent_process, resource_tracker
from time import sleep
from typing import TYPE_CHECKING, Any

from tconv.backends import orphans
from tconv.backends.parent_death import end_with_parent
from tconv.execution.signals import undisturbed
from tconv.execution.work_folder import WorkFolder

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess

_TRIES = 3
_ENDING_SECONDS = 0.1
_LONGEST_FOLDER = 64
"""A system limits the path of a socket to 104 characters."""
_SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - a new folder in it, which is this user's alone


def start_method() -> ForkServerContext | SpawnContext:
    """Return how workers are started: forked, where that is possible, from a process that has loaded tconv already.

    That process has loaded no runtime and has no threads, so that a forked worker is as good as a new process, and is
    there in a quarter to a tenth of the time. A runtime that dies of hundreds of cases needs hundreds of workers.
    """
    # On macOS numpy's own library must not be used before a fork.
    impossible = sys.platform == "darwin" or "forkserver" not in get_all_start_methods()
    if impossible or not _make_socket_folder():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(["tconv.execution.server"])
    return context


def _make_socket_folder() -> bool:
    """Make the folder of multiprocessing's socket, if there is none yet; return whether there is one with a short path.

    Multiprocessing's own has the path of `TMPDIR`, stays where a run is killed, and ends the command with a traceback
    where it has gone.
    """
    settings: dict[str, Any] = current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001 - no public way
    if settings.get("tempdir") is None:
        for above in (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), *_SHORT_FOLDERS):
            if not 0 < len(os.fsencode(above)) <= _LONGEST_FOLDER:
                continue
            with suppress(OSError):
                folder = WorkFolder(above)
                atexit.register(folder.cleanup)
                settings["tempdir"] = folder.name
                return True
    return settings.get("tempdir") is not None and len(os.fsencode(settings["tempdir"])) <= 2 * _LONGEST_FOLDER


def end_orphans() -> None:
    """End the processes that this one has adopted; those that multiprocessing has started end by themselves."""
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    tracker = resource_tracker._resource_tracker  # noqa: SLF001 - there is no public way
    own = getattr(server, "_forkserver_pid", None), getattr(tracker, "_pid", None)
    orphans.end_children(but=tuple(filter(None, own)))


def prepare() -> None:
    """Start the process that workers are forked from; it loads tconv while the caller does something else."""
    if start_method().get_start_method() != "forkserver":
        return
    from multiprocessing import forkserver  # noqa: PLC0415 - not every system has it

    with undisturbed():
        forkserver.ensure_running()


def started(process: SpawnProcess | ForkServerProcess) -> None:
    """Start a worker, again where the process that workers are forked from is killed meanwhile: another is started."""
    for _ in range(_TRIES - 1):
        with suppress(EOFError, ConnectionError):
            process.start()
            return
        # Its address is refused before the system says that it has ended.
        sleep(_ENDING_SECONDS)
    process.start()


def end_with_server() -> None:
    """Let a worker end with the process that all workers are forked from, which ends with the run.

    A worker that was started otherwise may have been started by a thread that is done, at whose end the kernel would
    kill it. It ends when its connection does.
    """
    if (parent := parent_process()) is not None and parent.pid != os.getppid():
        end_with_parent()


def leave_server() -> None:
    """Close this worker's end of the pipe by which the process that it was forked from learns that the run is gone.

    With it open, a run that is killed while a runtime hangs would leave both processes behind.
    """
    # It is loaded where this worker was forked from that process.
    module = sys.modules.get("multiprocessing.forkserver")
    server: Any = getattr(module, "_forkserver", None)
    if (descriptor := getattr(server, "_forkserver_alive_fd", None)) is not None:
        os.close(descriptor)
        server._forkserver_alive_fd = None  # noqa: SLF001 - there is no public way

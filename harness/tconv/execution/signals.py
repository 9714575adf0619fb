"""Signals while a worker starts: blocked in its parent, and in the worker until it leads its own process group."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from errno import EMFILE
from multiprocessing import get_all_start_methods, get_context, parent_process, resource_tracker
from threading import current_thread, main_thread
from time import sleep
from typing import TYPE_CHECKING, Any

from tconv.backends import orphans
from tconv.backends.parent_death import end_with_parent
from tconv.execution import socket_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess

_BLOCKED = {signal.SIGINT, signal.SIGTERM, *([] if sys.platform == "win32" else [signal.SIGHUP])}
"""Signals that do not reach a worker before it leads its own process group."""
_TRIES = 3
_ENDING_SECONDS = 0.1


def start_method() -> ForkServerContext | SpawnContext:
    """Return how workers are started: forked, where that is possible, from a process that has loaded tconv already.

    That process has no runtime in it and no threads of ours, so that a worker begins as if it was started anew, in
    a quarter to a tenth of the time; a runtime that dies of hundreds of cases needs hundreds of workers.
    """
    # On macOS numpy's own library must not be used before a fork.
    impossible = sys.platform == "darwin" or "forkserver" not in get_all_start_methods()
    if impossible or not socket_folder.made():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(["tconv.execution.server"])
    return context


def end_orphans() -> None:
    """End what has come to this process, where it adopts; what multiprocessing has started ends by itself."""
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


@contextmanager
def undisturbed() -> Iterator[None]:
    """Block signals while a worker is started, and raise them afterwards.

    A signal before the pool has stored the worker would leave a process that nobody ends. The worker inherits the block
    until it has left the terminal's process group: Ctrl-C is for the parent, and must not end the worker with a
    traceback.

    Raises:
        OSError: no worker could be forked, as there are too few file handles or processes. The process that workers are
            forked from says it by an EOFError, which would read as an interrupt.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The start of multiprocessing's resource tracker unblocks signals, so it must not happen inside.
    resource_tracker.ensure_running()
    received: list[int] = []
    try:
        with _collected(received):
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
            try:
                yield
            except EOFError:
                raise OSError(EMFILE, "too few file handles or processes: no worker could be forked") from None
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        for number in received:
            signal.raise_signal(number)


@contextmanager
def _collected(received: list[int]) -> Iterator[None]:
    """Append signals to a list instead of acting on them: one that this thread blocks goes to another (numpy's)."""
    handled = _BLOCKED if current_thread() is main_thread() else set()
    # A handler that was not set from Python is None, and could not be set again.
    before = {number: handler for number in handled if callable(handler := signal.getsignal(number))}
    for number in before:
        signal.signal(number, lambda received_number, _: received.append(received_number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def lead_own_group() -> None:
    """Leave the terminal's process group, and unblock signals."""
    if not hasattr(os, "setsid"):
        return
    os.setsid()
    # A Ctrl-C that was blocked until here was meant for the parent, which ends its workers when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED)
    signal.signal(signal.SIGINT, signal.default_int_handler)


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

"""Signals while a worker starts: blocked in its parent, and in the worker until it leads its own process group."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from errno import EMFILE
from multiprocessing import resource_tracker
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCKED = {signal.SIGINT, signal.SIGTERM, *([] if sys.platform == "win32" else [signal.SIGHUP])}
"""Signals that do not reach a worker before it leads its own process group."""


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

"""Signals while a worker starts: its parent holds them back, and it hears them once it leads its own process group."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from multiprocessing import resource_tracker
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HELD_BACK = {signal.SIGINT, signal.SIGTERM}
"""Signals that a worker does not hear before it leads its own process group."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back signals while a worker is started.

    One that came in between would lose us the worker; and the worker inherits this until it has left the terminal's
    process group, so that Ctrl-C, which is for the parent to act upon, does not end it with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started inside, the tracker would release what is held back.
    resource_tracker.ensure_running()
    came: list[int] = []
    try:
        with _noted(came):
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
            try:
                yield
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        for number in came:
            signal.raise_signal(number)


@contextmanager
def _noted(came: list[int]) -> Iterator[None]:
    """Note signals instead of acting on them: one that this thread holds back is delivered to another (numpy's)."""
    heard = _HELD_BACK if current_thread() is main_thread() else set()
    # A handler that was not set from Python is None, and could not be set again.
    before = {number: handler for number in heard if callable(handler := signal.getsignal(number))}
    for number in before:
        signal.signal(number, lambda caught, _: came.append(caught))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def lead_own_group() -> None:
    """Leave the terminal's process group, and hear signals again."""
    if not hasattr(os, "setsid"):
        return
    os.setsid()
    # What was held back until here was meant for the parent, which ends us if it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_BACK)
    signal.signal(signal.SIGINT, signal.default_int_handler)

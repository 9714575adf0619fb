"""Signals that end the command in words: Ctrl-C, SIGTERM, and SIGHUP, which comes when a terminal is closed."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_SAID = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    _SAID[signal.SIGHUP] = "hung up"
_SHELL = 128
"""What a shell adds to a signal's number for its exit code."""
_AGAIN_SECONDS = 0.01


class Stopped(BaseException):
    """A signal came.

    It is no KeyboardInterrupt: where that leaves `exec` of a text, as dataclasses use it, Python notes that the process
    is to end by the signal, whatever is made of the exception afterwards.

    Attributes:
        number: the signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stoppable(code: Callable[[], int]) -> int:
    """Return what `code` does, or the exit code of the signal that stopped it, after a line that says so.

    Afterwards these signals are ignored: what remains is to end, and the exit code is settled.
    """
    try:
        for number in _SAID:
            # What is ignored stays so: `nohup` ignores SIGHUP, and a shell SIGINT for what it starts in the background.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _stop)
        sys.unraisablehook = partial(_again, sys.unraisablehook)
        result = code()
        _hear(signal.SIG_IGN)
    except Stopped as stopped:
        with suppress(OSError):
            said = _SAID[signal.Signals(stopped.number)]
            click.echo(f"tconv: {said}; a run goes on from here by the same command with --resume", err=True)
        _hear(signal.SIG_IGN)
        return _SHELL + stopped.number
    return result


def _hear(handler: signal.Handlers | Callable[[int, FrameType | None], None]) -> None:
    for number in _SAID:
        signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    # What ends the workers and removes the files is not interrupted again. Signals are not ignored:
    # Python would complain of one that has come already.
    _hear(_overhear)
    raise Stopped(number)


def _overhear(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


def _again(others: Callable[[sys.UnraisableHookArgs], object], unraisable: sys.UnraisableHookArgs) -> None:
    """Send a signal again that came while Python called something whose exceptions it drops, as in `__del__`."""
    match unraisable.exc_value:
        case Stopped(number=number):
            from threading import Timer  # noqa: PLC0415 - hardly ever

            signal.signal(number, _stop)
            Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number)).start()
        case _:
            others(unraisable)

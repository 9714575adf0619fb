"""Signals that end the command with a sentence: Ctrl-C, SIGTERM, and SIGHUP, which comes if a terminal closes."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Timer
    from types import FrameType

_SAID = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    _SAID[signal.SIGHUP] = "hung up"
_SHELL = 128
"""A shell adds this to a signal's number for the exit code."""
_AGAIN_SECONDS = 0.01
_came: list[Stopped] = []
"""The first signal since the command began, if there was one."""
_resent: list[Timer] = []
"""Timers that send a signal again. If the process survives, they are cancelled when the command has ended."""


class Stopped(BaseException):
    """A signal came.

    It is no KeyboardInterrupt. Python notes a KeyboardInterrupt that leaves the `exec` of a text, as dataclasses use
    it, and then ends the process by the signal, even if the exception is caught later.

    Attributes:
        number: the number of the signal.
        outcome: a sentence about the results so far; empty if there are none.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.outcome = ""


class Resumable(click.Command):
    """A command with --resume. If it is stopped, its message names that option."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command; if a signal stops it, the exception carries the hint."""
        try:
            return super().invoke(ctx)
        except Stopped as stopped:
            stopped.outcome = "a run goes on from here by the same command with --resume"
            raise


def signal_that_came() -> Stopped | None:
    """Return the signal that came since the command began, for an error that was caused by it.

    If a signal comes while a library calls Python, the library raises its own exception: a RuntimeError in a
    `__set_name__`, a SchemaError while pydantic builds a class.
    """
    return _came[0] if _came else None


def stoppable(code: Callable[[], int], *, whole_process: bool) -> int:
    """Return the exit code of `code`; if a signal stopped it, print a line, and return the signal's exit code.

    Args:
        code: the function that a signal may stop.
        whole_process: whether the process ends next. If so, these signals are ignored then, even if `code` raises,
            because the exit code is settled. If not, the old handlers are set again.
    """
    _came.clear()
    hook, handlers = sys.unraisablehook, {number: signal.getsignal(number) for number in _SAID}
    try:
        try:
            for number, handler in handlers.items():
                # An ignored signal stays ignored: `nohup` ignores SIGHUP, and a shell ignores SIGINT for background
                # processes.
                if handler != signal.SIG_IGN:
                    signal.signal(number, _stop)
            sys.unraisablehook = partial(_again, hook)
            return code()
        finally:
            # Inside the outer `try`: a signal that comes until here also stops the command.
            _hear(signal.SIG_IGN)
    except Stopped as stopped:
        with suppress(OSError):
            sentence = _SAID[signal.Signals(stopped.number)]
            click.echo(f"tconv: {sentence}{stopped.outcome and f'; {stopped.outcome}'}", err=True)
        _hear(signal.SIG_IGN)
        return _SHELL + stopped.number
    finally:
        for timer in _resent:
            timer.cancel()
            timer.join()
        _resent.clear()
        if not whole_process:
            sys.unraisablehook = hook
            for number, handler in handlers.items():
                # A handler that was not set from Python is None, and cannot be set again.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _hear(handler: signal.Handlers | Callable[[int, FrameType | None], None]) -> None:
    for number in _SAID:
        signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    # Ending the workers and removing the files must not be interrupted. The signals are not ignored, because
    # Python would report one that has come already.
    _hear(_overhear)
    _came[:] = [Stopped(number)]
    raise _came[0]


def _overhear(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


def _again(others: Callable[[sys.UnraisableHookArgs], object], unraisable: sys.UnraisableHookArgs) -> None:
    """Send a signal again if it came while Python called code whose exceptions it drops, such as `__del__`."""
    match unraisable.exc_value:
        case Stopped(number=number):
            from threading import Timer  # noqa: PLC0415 - rarely needed

            signal.signal(number, _stop)
            _resent.append(Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number)))
            _resent[-1].start()
        case _:
            others(unraisable)

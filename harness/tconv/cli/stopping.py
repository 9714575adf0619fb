"""Signals that end the command in words: Ctrl-C, SIGTERM, and SIGHUP, which comes when a terminal is closed."""

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
"""What a shell adds to a signal's number for its exit code."""
_AGAIN_SECONDS = 0.01
_came: list[Stopped] = []
"""The signal that came since the command began, if one did."""
_resent: list[Timer] = []
"""What sends a signal again; whoever is not ended by it cancels them when the command has ended."""


class Stopped(BaseException):
    """A signal came.

    It is no KeyboardInterrupt: where that leaves `exec` of a text, as dataclasses use it, Python notes that the process
    is to end by the signal, whatever is made of the exception afterwards.

    Attributes:
        number: the signal's.
        outcome: what there is of what was done until then, in words; empty where nothing is left of it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.outcome = ""


class Resumable(click.Command):
    """A command with --resume: whoever stops it is shown that option."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command; a signal that stops it carries that hint."""
        try:
            return super().invoke(ctx)
        except Stopped as stopped:
            stopped.outcome = "a run goes on from here by the same command with --resume"
            raise


def signal_that_came() -> Stopped | None:
    """Return the signal that came since the command began, for an error that leaves it afterwards.

    Libraries make an exception of their own of one that comes while they call Python: a RuntimeError in a
    `__set_name__`, a SchemaError while pydantic builds a class.
    """
    return _came[0] if _came else None


def stoppable(code: Callable[[], int], *, whole_process: bool) -> int:
    """Return what `code` does, or the exit code of the signal that stopped it, after a line that says so.

    Args:
        code: what a signal may stop.
        whole_process: whether the process ends next. Then these signals are ignored from here on, whatever `code`
            raises, as the exit code is settled. Otherwise they are handled as they were before.
    """
    _came.clear()
    hook, handlers = sys.unraisablehook, {number: signal.getsignal(number) for number in _SAID}
    try:
        try:
            for number, handler in handlers.items():
                # What is ignored stays so: `nohup` ignores SIGHUP, and a shell SIGINT for what it starts in the
                # background.
                if handler != signal.SIG_IGN:
                    signal.signal(number, _stop)
            sys.unraisablehook = partial(_again, hook)
            return code()
        finally:
            # Inside of the outer `try`: a signal that comes until here is one that stopped the command.
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
    # What ends the workers and removes the files is not interrupted again. Signals are not ignored:
    # Python would complain of one that has come already.
    _hear(_overhear)
    _came[:] = [Stopped(number)]
    raise _came[0]


def _overhear(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


def _again(others: Callable[[sys.UnraisableHookArgs], object], unraisable: sys.UnraisableHookArgs) -> None:
    """Send a signal again that came while Python called something whose exceptions it drops, as in `__del__`."""
    match unraisable.exc_value:
        case Stopped(number=number):
            from threading import Timer  # noqa: PLC0415 - hardly ever

            signal.signal(number, _stop)
            _resent.append(Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number)))
            _resent[-1].start()
        case _:
            others(unraisable)

"""The command in this process: hundreds of faults in files need no hundreds of processes."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tconv.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from campaign import Surroundings

_SECONDS = 20
"""Of processor: other work of the machine is no fault."""
_WAIT = 15
"""So many times these seconds on the clock, and the command waits for something that never comes."""


class _TooLongError(BaseException):
    """The command takes too long."""


def command(surroundings: Surroundings, *arguments: str, seconds: int = _SECONDS) -> tuple[int | None, str]:
    """Return the exit code of a command, None where it takes too long or fails by itself, and what it printed."""
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True)
    with _in(surroundings), _limited(seconds):
        before = sys.argv, sys.stdout, sys.stderr
        sys.argv, sys.stdout, sys.stderr = ["tconv", *arguments], printed, printed
        began = time.process_time()
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except _TooLongError:
            return None, f"no end in {time.process_time() - began:.0f} s of processor"
        except BaseException as error:  # noqa: BLE001 - a traceback in a process of its own
            return None, f"a traceback: {type(error).__name__}: {error!r:.300}"
        finally:
            sys.argv, sys.stdout, sys.stderr = before
    text = printed.buffer.getvalue().decode("utf-8", "surrogateescape")  # type: ignore[attr-defined]  # BytesIO
    if controls := {c for c in text if not c.isprintable() and c not in "\n\t"}:
        return None, f"control characters {controls!r} in {text[-300:]!r}"
    if surroundings.outside.read_text() != "untouched":
        return None, "a file outside was written"
    return code, text


@contextmanager
def _in(surroundings: Surroundings) -> Iterator[None]:
    before = os.getcwd()  # noqa: PTH109 - it goes to os.chdir
    os.chdir(surroundings.folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    signal.alarm(seconds * _WAIT)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)

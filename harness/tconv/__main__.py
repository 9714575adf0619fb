"""`tconv`, and `python -m tconv`.

It handles signals before it imports almost anything. Until then Python answers Ctrl-C with a traceback.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    # typing takes longer to load than all else here.
    from types import FrameType
    from typing import NoReturn

_SAID = {signal.SIGINT: b"tconv: interrupted\n", signal.SIGTERM: b"tconv: terminated\n"}
if sys.platform != "win32":
    _SAID[signal.SIGHUP] = b"tconv: hung up\n"
_SHELL = 128
"""A shell adds this to a signal's number for the exit code."""
_OBJECTS = 50_000
"""New objects between two garbage collections. A run makes many objects that stay, and little cyclic garbage."""


def main() -> NoReturn:
    """Run the command; signals end it with their exit codes, even while it is being imported."""
    for number in _SAID:
        # An ignored signal stays ignored: a shell does so with SIGINT for background processes.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    gc.set_threshold(_OBJECTS)
    from tconv.cli import main as command  # noqa: PLC0415 - this takes the time

    command(whole_process=True)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """End at once: nothing is written yet, and nothing was started."""
    try:
        os.write(2, _SAID[signal.Signals(number)])
    finally:
        os._exit(_SHELL + number)


if __name__ == "__main__":
    main()

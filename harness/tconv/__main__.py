"""`tconv`, and `python -m tconv`.

It loads next to nothing before it hears signals: until then Python answers Ctrl-C, with a traceback.
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
"""What a shell adds to a signal's number for its exit code."""
_OBJECTS = 50_000
"""New objects between two looks for garbage: a run makes many that stay, and few that only a look would find."""


def main() -> NoReturn:
    """Run the command; signals end it with their codes also while it is being imported."""
    for number in _SAID:
        # What is ignored stays so: a shell ignores SIGINT in what it starts in the background.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    gc.set_threshold(_OBJECTS)
    from tconv.cli import main as command  # noqa: PLC0415 - what takes the time

    command(whole_process=True)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """End at once: nothing is written yet, and nothing was started."""
    try:
        os.write(2, _SAID[signal.Signals(number)])
    finally:
        os._exit(_SHELL + number)


if __name__ == "__main__":
    main()

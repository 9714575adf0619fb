"""`tconv`, and `python -m tconv`."""

from __future__ import annotations

import gc
import signal
import sys
from typing import NoReturn

_INTERRUPTED, _TERMINATED = 130, 143
_OBJECTS = 50_000
"""New objects between two looks for garbage: a run makes many that stay, and few that only a look would find."""


def main() -> NoReturn:
    """Run the command; Ctrl-C and SIGTERM end it with their codes also while it is being imported."""
    gc.set_threshold(_OBJECTS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        from tconv.cli import main as command  # noqa: PLC0415 - what takes the time
    except KeyboardInterrupt:
        sys.stderr.write("tconv: interrupted\n")
        sys.exit(_INTERRUPTED)
    command()


if __name__ == "__main__":
    main()

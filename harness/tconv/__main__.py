"""`tconv`, and `python -m tconv`."""

from __future__ import annotations

import sys
from typing import NoReturn

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command; Ctrl-C ends it in words also while it is being imported."""
    try:
        from tconv.cli import main as command  # noqa: PLC0415 - what takes the time
    except KeyboardInterrupt:
        sys.stderr.write("tconv: interrupted\n")
        sys.exit(_INTERRUPTED)
    command()


if __name__ == "__main__":
    main()

"""Files that are there as a whole or not at all: whoever reads one meanwhile finds the one before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write(destination: Path, text: str) -> None:
    """Write a file in UTF-8, its folder too where there is none.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    # A lone surrogate, as a torn byte of standard error decodes to, is no UTF-8.
    data = text.encode("utf-8", "backslashreplace")
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = destination.with_name(f".{destination.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(destination)
    finally:
        partial.unlink(missing_ok=True)

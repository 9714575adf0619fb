"""Files that are replaced as a whole: whoever reads one while it is written gets the old content."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tconv.errors import writing

if TYPE_CHECKING:
    from pathlib import Path


def write(destination: Path, text: str) -> None:
    """Write a file in UTF-8, and make its folder where there is none.

    Raises:
        FileError: it cannot be written; the old file is unchanged.
    """
    # A byte of standard error that is not UTF-8 is decoded to a lone surrogate, which UTF-8 cannot encode.
    data = text.encode("utf-8", "backslashreplace")
    partial = destination.with_name(f".{destination.name}.{os.getpid()}.partial")
    with writing(destination):
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_bytes(data)
            partial.replace(destination)
        finally:
            partial.unlink(missing_ok=True)

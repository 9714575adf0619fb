"""The file of a worker's records as the parent reads it, while the worker appends to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tconv.backends.process_end import own_file

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 2**20
"""A file that is longer is emptied at the next message, so that it does not grow with the run."""


class WorkerRecords:
    """What a worker has written of its records, from where the parent stopped reading.

    Args:
        path: the file; a runtime may have replaced or removed it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def unread(self) -> list[bytes]:
        """Return the lines that are complete and not consumed yet; none where the file cannot be read."""
        try:
            with own_file(self._path) as file:
                file.seek(self._offset)
                written = file.read()
        except OSError:
            return []
        return written[: written.rfind(b"\n") + 1].splitlines(keepends=True)

    def consume(self, line: bytes) -> None:
        """Go on after a line, the first of `unread`."""
        self._offset += len(line)

    def skip_written(self) -> None:
        """Go on after all that is written so far.

        Raises:
            OSError: a runtime has put something in the place of the file, or removed it.
        """
        with own_file(self._path, writable=True) as file:
            self._offset = os.fstat(file.fileno()).st_size
            # Only now and then, as it writes to the disk.
            if self._offset > _MOST_BYTES:
                file.truncate(0)
                self._offset = 0

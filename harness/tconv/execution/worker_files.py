"""A worker's files: what its runtime prints, its records, and the folder of its temporary files.

Only that folder may be written to by a runtime that is confined. The files lie beside it, and the worker has opened
them before its runtime is there: nothing that a runtime puts anywhere is opened in their place.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tconv.backends.process_end import own_file

if TYPE_CHECKING:
    from typing import BinaryIO


_MOST_BYTES = 2**20
"""A file that is longer is emptied at the next message, so that it does not grow with the run."""


class WorkerFiles(NamedTuple):
    """The open files of a worker; both are appended to, without a buffer: what is written outlives the worker.

    Attributes:
        log: what the runtime prints.
        records: the records, a line each.
    """

    log: BinaryIO
    records: BinaryIO


def records_file(log: str) -> Path:
    """Return the file of a worker's records, beside its log."""
    return Path(log).with_suffix(".records")


def temporary_folder(log: str) -> Path:
    """Return the folder of a worker's temporary files, beside its log."""
    return Path(log).with_suffix("")


def make_files(log: str) -> WorkerFiles:
    """Make the files and the folder of a worker.

    Raises:
        OSError: something is there already, such as a link, or they cannot be made.
    """
    temporary_folder(log).mkdir(0o700)
    return WorkerFiles(_new(log), _new(records_file(log)))


def _new(path: str | Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab", buffering=0)


class WorkerRecords:
    """What a worker has written of its records, from where the parent stopped reading; the worker goes on appending.

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

"""A worker's files: what its runtime prints, its records, and the folder of its temporary files.

Only that folder may be written to by a runtime that is confined. The files lie beside it, and the worker has opened
them before its runtime is there: nothing that a runtime puts anywhere is opened in their place.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import BinaryIO


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

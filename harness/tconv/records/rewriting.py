"""Record files that are replaced as a whole, as lines of them have changed."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING

from tconv.errors import writing
from tconv.records.headers import header_line
from tconv.records.record import begin, record_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.records.headers import RunHeader
    from tconv.records.record import Record


def rewrite(path: Path, content: bytes) -> None:
    """Replace a file at once; a link stays, and the file that it leads to is replaced.

    Raises:
        FileError: it cannot be written; the old file is unchanged.
    """
    with writing(path):
        file = path.resolve()
        # A new file, as whoever knew its name could have put a link there.
        descriptor, name = mkstemp(dir=file.parent, prefix=".")
        partial = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as new:
                if hasattr(os, "fchmod"):
                    os.fchmod(descriptor, file.stat().st_mode)
                new.write(content)
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)


def replace_records(path: Path, records: Iterable[Record], header: RunHeader | None = None) -> None:
    """Replace the lines of these records' cases in a record file.

    Args:
        path: the file.
        records: the records.
        header: what the file's header becomes; None for what it is.

    Raises:
        FileError: it cannot be read or written; the old file is unchanged.
    """
    new = {begin(record.case).encode(): record_line(record).encode() + b"\n" for record in records}
    with writing(path):
        lines = path.read_bytes().splitlines(keepends=True)
    # The line of a record begins with its case, and goes on with its backend.
    changed = (new.get(line.partition(b'"backend":')[0], line) for line in lines)
    first = next(changed)
    rewrite(path, b"".join([first if header is None else header_line(header).encode() + b"\n", *changed]))

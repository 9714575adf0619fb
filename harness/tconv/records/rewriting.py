"""A record file that is replaced as a whole: a resumed run has a header of its own."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import mkstemp

from tconv.errors import writing


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

"""The digest of a corpus: of the names of its case files and what is in them."""

from __future__ import annotations

from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

from tconv.corpus.budget import MOST_PATHS
from tconv.corpus.file_reading import case_files, stem
from tconv.documents.document import MAX_BYTES
from tconv.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def digest_of(files: Iterable[tuple[str, Path]]) -> str:
    """Return the digest of case files, each given with what the ids of its cases begin with."""
    digest = sha256()
    for name, path in files:
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"sha256:{digest.hexdigest()[:16]}"


def digest_at(path: Path) -> str | None:
    """Return the digest of the corpus that is at a path; None where none can be there.

    It is for a path that a record file names, by whomever that was written: the files are not parsed, and where more is
    there than a corpus has, nothing of it is read.
    """
    try:
        if len(list(islice(path.rglob("*"), MOST_PATHS + 1))) > MOST_PATHS:
            return None
        files = case_files(path)
        if any(file.stat().st_size > MAX_BYTES for file in files):
            return None
        folder = path if path.is_dir() else path.parent
        return digest_of((stem(file, folder), file) for file in files)
    except (FileError, OSError):
        return None

"""Record files that are held against the corpus: each record must be of a case that the header selects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.errors import FileError, UsageError
from tconv.execution.run import LAST_FAILED
from tconv.execution.selection import Selection
from tconv.records.record_file import read
from tconv.records.shards import Shards

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.records.headers import RunHeader
    from tconv.records.record_file import Run


def read_selected(path: Path, corpus: Corpus) -> Run:
    """Return the run of a record file. The records of another corpus are not held against this one.

    Raises:
        FileError: the file is not there, or something in it is not as it must be.
    """

    def selected(header: RunHeader) -> frozenset[str] | None:
        if header.corpus != corpus.digest or LAST_FAILED in header.patterns:
            # Which cases failed before is not known here.
            return None
        try:
            shard = Shards.parse(header.shard) if header.shard else None
            return Selection(corpus, header.tier, header.patterns, "", shard).known_ids
        except UsageError as error:
            raise FileError(path, str(error), 1) from None

    return read(path, selected)

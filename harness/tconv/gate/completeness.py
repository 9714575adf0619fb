"""Whether the records of a run are all that there must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.records.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.records.record_file import Run


def incomplete(run: Run, digest: str | None) -> Iterator[str]:
    """Yield why the records are not what their header promises."""
    if len(run.records) != run.header.cases:
        yield f"{run.header.cases} cases must have a record (got {len(run.records)}); resume the run"
    if digest is not None and run.header.corpus != digest:
        named = f"name its cases with --cases {run.header.path}, or " if run.header.path else ""
        yield f"the records must be of this corpus, {digest} (got {run.header.corpus}); {named}run it again"


def missing_shards(run: Run) -> Iterator[str]:
    """Yield which shards of a run are not there."""
    if run.header.shard:
        shards = Shards.parse(run.header.shard)
        numbers = ", ".join(map(str, shards.missing))
        yield f"all {shards.count} shards must be there (missing: {numbers}); give the records of every shard"

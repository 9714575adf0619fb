"""The gate's assessment of record files, each with the waivers of its backend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.corpus import Corpus
from tconv.errors import FileError, UsageError
from tconv.execution.selection import Selection
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.reasons import ShardsMissing
from tconv.gate.waivers import choose_waivers
from tconv.records.record_file import read
from tconv.records.shards import Shards, merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tconv.gate.assessment import Assessment
    from tconv.records.headers import RunHeader
    from tconv.records.record_file import Run


def assess_files(
    records: Sequence[Path], cases: Path | None, waivers: str | None, *, strict: bool = False
) -> tuple[list[Assessment], Corpus]:
    """Assess record files, each with the waivers of its backend; also return their corpus.

    The shards of one run are joined; if some are missing, the assessment is incomplete.

    Args:
        records: the files.
        cases: the path after --cases; None for tconv's own corpus.
        waivers: the value of --waivers.
        strict: whether accepting an invalid model is a failure.
    """
    corpus = Corpus.load(cases)
    own = cases is None or waivers is not None
    assessments = [
        assess_with_corpus(run, choose_waivers(waivers, run.header.backend.name), corpus, strict=strict, own=own)
        for run in merged([_relocate(cases, read_selected(path, corpus), corpus) for path in records])
    ]
    return [
        replace(assessment, incomplete=(*assessment.incomplete, *_find_missing_shards(assessment.run)))
        for assessment in assessments
    ], corpus


def read_selected(path: Path, corpus: Corpus) -> Run:
    """Return the run of a record file. Its ids are checked only if its corpus is this one.

    Raises:
        FileError: the file is missing or wrong.
    """

    def selected(header: RunHeader) -> frozenset[str] | None:
        if header.corpus != corpus.digest:
            return None
        try:
            shard = Shards.parse(header.shard) if header.shard else None
            return frozenset(Selection(corpus, header.tier, header.patterns, "", shard).ids())
        except UsageError as error:
            raise FileError(path, str(error), 1) from None

    return read(path, selected)


def _find_missing_shards(run: Run) -> Iterator[ShardsMissing]:
    """Yield the missing shards of a run, if it has shards."""
    if run.header.shard:
        shards = Shards.parse(run.header.shard)
        yield ShardsMissing(shards.count, tuple(shards.missing))


def _relocate(cases: Path | None, run: Run, corpus: Corpus) -> Run:
    """Return a run whose header has the present path of its cases, not the path at the time of the run."""
    if cases is None or run.header.corpus != corpus.digest:
        return run
    return replace(run, header=run.header.model_copy(update={"path": str(cases)}))

"""A run through the gate, as all commands judge it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.comparison.answers import mixed
from tconv.corpus import Corpus
from tconv.gate.assessment import assess
from tconv.gate.waivers import chosen
from tconv.records.record_file import read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import WaiverFile
    from tconv.records.record_file import Run


def assessed(run: Run, waivers: WaiverFile | None, corpus: Corpus, *, strict: bool, own: bool) -> Assessment:
    """Return what a run comes to, and which questions the backend does not answer alike.

    Args:
        run: the records.
        waivers: the backend's known deviations.
        corpus: what the records' ids are of.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers speak of this corpus.
    """
    assessment = assess(run, waivers, corpus.facts, strict=strict, own=own, digest=corpus.digest)
    assessment.mixed = mixed(run, corpus.find, assessment.waived)
    return assessment


def assessed_files(
    records: Sequence[Path], cases: Path | None, waivers: str | None, *, strict: bool = False
) -> tuple[list[Assessment], Corpus]:
    """Return what record files come to, each with the waivers of its backend, and the corpus that they are of.

    Args:
        records: the files.
        cases: what --cases named; None for tconv's own corpus.
        waivers: what --waivers named.
        strict: whether accepting an invalid model is a failure.
    """
    corpus = Corpus.load(cases)
    own = cases is None or waivers is not None
    return [
        assessed(run, chosen(waivers, run.header.backend.name), corpus, strict=strict, own=own)
        for run in map(read, records)
    ], corpus

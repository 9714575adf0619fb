"""A run through the gate, as all commands judge it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.answers import mixed
from tconv.gate import assess

if TYPE_CHECKING:
    from tconv.corpus import Corpus
    from tconv.gate import Assessment
    from tconv.records import Run
    from tconv.waivers import WaiverFile


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

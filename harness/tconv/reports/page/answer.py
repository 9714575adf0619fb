"""The answer at the top of the page: red or green, and the reason in a sentence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tconv.gate.status import SEVERITY, Status
from tconv.reports.notes import NOTHING_PASSED
from tconv.reports.phrases import capitalised
from tconv.reports.words import KINDS
from tconv.shown_texts import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.reports.page.overview import Overview

_LONGEST = 280
"""The most characters of a reason in the sentence; the list below has all of it."""
_OTHER = ("other failure", "other failures")


def answer(runs: Sequence[Overview]) -> str:
    """Return why the runs are red, or what green means, in sentences that follow `Red.` or `Green.`."""
    failures = [f"{run.short}: {', '.join(counts)}" for run in runs if (counts := list(_count_failures(run)))]
    for run in runs:
        if run.report.since is not None and run.report.since.worse:
            old = run.report.since.old.assessment.run.header.backend.title
            failures.append(f"{run.report.since.worse:,} worse than {old}")
    if undeclared := sum(run.assessment.counts[Status.UNDECLARED] for run in runs):
        failures.append(f"Not declared as unsupported: {undeclared:,}")
    if failures:
        return ". ".join(failures)
    if reasons := [reason for run in runs for reason in run.report.red]:
        return f"No case failed, but {shortened(reasons[0], _LONGEST)}"
    nothing = [note.text for run in runs for note in run.report.notes if note.name == NOTHING_PASSED]
    if nothing and len(runs) == 1:
        return capitalised(", and ".join(nothing))
    known = any(run.assessment.counts[status] for run in runs for status in (Status.WAIVED, Status.REPORTED))
    return "Every deviation is known" if known else "Every answer is as expected"


def _count_failures(run: Overview) -> Iterator[str]:
    """Yield the number of a run's failures of each kind, in words."""
    failed = (member.ruling.kind for member in run.assessment.statuses if member.status is Status.FAILED)
    counts = Counter(KINDS[kind].counted or _OTHER for kind in failed)
    for one, several in dict.fromkeys((*(counted for kind in SEVERITY if (counted := KINDS[kind].counted)), _OTHER)):
        if count := counts[one, several]:
            yield f"{count:,} {one if count == 1 else several}"

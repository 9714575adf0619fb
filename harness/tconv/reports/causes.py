"""What the records of one status come to: a line for each cause, the same on the terminal and on the page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.diagnosis import shared
from tconv.gate.status import Status
from tconv.records.failure import failure
from tconv.reports.phrases import headline, phrase

if TYPE_CHECKING:
    from tconv.dialects.readings import Together
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Judged

_LONGEST = 160
"""Characters of what a backend said."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Records that are one line.

    Attributes:
        what: a waiver, a reading, or what a failure is and what one of them is about.
        count: how many records.
        example: the id of one case, the shortest.
    """

    what: str
    count: int
    example: str


def causes(assessment: Assessment, status: Status) -> list[Cause]:
    """Return what the records of a status come to, the largest cause first."""
    groups: dict[tuple[str, ...], list[Judged]] = defaultdict(list)
    members = [judged for judged in assessment.judged if judged.status is status]
    explained = shared({judged.record.case: judged.record.diagnosis for judged in members})
    for judged in members:
        groups[_cause(judged, explained.get(judged.record.case))].append(judged)
    found = []
    for cause, some in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        example = min(some, key=lambda member: len(member.record.case))
        what = _failed(cause, some, example) if status is Status.FAILED else cause[0]
        found.append(Cause(what, len(some), example.record.case))
    return found


def _cause(judged: Judged, explained: Together | None) -> tuple[str, ...]:
    """Return what makes two records one line; of failures the explanation, the words without numbers, or the sweep."""
    verdict = judged.record.verdict
    if judged.waiver is not None:
        return (f"{judged.waiver.name}: {judged.waiver.because}",)
    if judged.status is Status.DISPUTED:
        return (phrase(verdict),)
    if judged.status is not Status.FAILED:
        return (headline(verdict),)
    if explained:
        return ("explained", str(explained))
    found = failure(judged.record)
    if found is not None and found.words:
        return (found.kind, found.words)
    return (verdict.kind, "in", judged.record.case.partition("[")[0])


def _failed(cause: tuple[str, ...], members: list[Judged], example: Judged) -> str:
    """Return a line of failures: what they are, and what one of them is about."""
    kinds = " or ".join(sorted({member.record.verdict.kind for member in members}))
    what = {"explained": f" as if {cause[-1]}", "in": f" in {cause[-1]}"}.get(cause[-2], "")
    record = example.record
    # Of a wrong shape the verdict itself says all.
    described = f"; {record.described}" if record.described and record.verdict.kind != "wrong-shape" else ""
    return f"{kinds}{what}: {_said(example)}{described}"


def _said(judged: Judged) -> str:
    """Return what the backend did with an example, shortened: what a failure is about."""
    said = judged.reason or phrase(judged.record.verdict)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."

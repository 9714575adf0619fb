"""The records of one status grouped by cause, one line for each cause, the same on the terminal and on the page."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.diagnosis import shared
from tconv.dialects.readings import Together
from tconv.gate.status import Status
from tconv.learning import shared_facts
from tconv.records.failure import failure
from tconv.reports.phrases import headline, phrase

if TYPE_CHECKING:
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Judged

_LONGEST = 160
"""Characters of a phrase in a cause; a longer one is cut."""


_AGREEING = (Status.PASSED, Status.DISPUTED)


@dataclass(frozen=True, slots=True)
class Cause:
    """Records with a common cause.

    Attributes:
        what: the waiver, the reading, or the failure with the phrase of its example.
        count: the number of records.
        example: the shortest of the cases' ids.
    """

    what: str
    count: int
    example: str


def causes(assessment: Assessment, status: Status) -> list[Cause]:
    """Return the causes of the records of a status, the largest first."""
    groups: dict[tuple[str, ...], list[Judged]] = defaultdict(list)
    members = [judged for judged in assessment.judged if judged.status is status]
    learnt = {case: lesson for lesson in assessment.learnt for case in lesson.cases if status is Status.FAILED}
    rest = [judged for judged in members if judged.record.case not in learnt]
    explained = shared({judged.record.case: judged.record.diagnosis for judged in rest})
    for judged in members:
        lesson = learnt.get(judged.record.case)
        groups[("learnt", str(lesson)) if lesson else _group(judged, explained.get(judged.record.case))].append(judged)
    result = []
    for group, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        example = min(members, key=lambda member: len(member.record.case))
        match status:
            case Status.FAILED:
                what = _failed(group, members, example) + _doubt(group, assessment)
            case Status.DISPUTED:
                what = _cut(phrase(example.record.verdict))
            case _:
                what = group[0]
        if status is Status.FAILED and group[0] not in {"learnt", "explained"}:
            what += _common(members, assessment)
        result.append(Cause(what, len(members), example.record.case))
    return result


def _group(judged: Judged, explained: Together | None) -> tuple[str, ...]:
    """Return what records of a cause that was not learnt have in common.

    For failures it is the explanation, else the words without their numbers, else the sweep.
    """
    verdict = judged.record.verdict
    if judged.waiver is not None:
        return (f"{judged.waiver.name}: {judged.waiver.because}",)
    if judged.status not in {Status.FAILED, Status.DISPUTED}:
        return (headline(verdict),)
    if explained:
        return ("explained", str(explained))
    known = failure(judged.record)
    if known is not None and known.words:
        return (known.kind, known.words)
    return (verdict.kind, "in", judged.record.case.partition("[")[0])


def _doubt(group: tuple[str, ...], assessment: Assessment) -> str:
    """Return what speaks against the name of a group."""
    denied = assessment.denied.get(Together.parse(group[-1]), 0) if group[0] == "explained" else 0
    return f"; {denied} cases that agree deny it, so it only fits these" if denied else ""


def _common(members: list[Judged], assessment: Assessment) -> str:
    """Return what the cases of a group have in common, and cases that agree have not."""
    ids = [member.record.case for member in members]
    others = [assessment.facts[other.record.case] for other in assessment.judged if other.status in _AGREEING]
    common = shared_facts([assessment.facts[case] for case in ids], others) if len(ids) > 1 else None
    if common is None:
        return ""
    agreeing = f"{common.others} that agree" if common.others else "none that agrees"
    return f"; all {len(ids)} are {common}, and {agreeing}"


def _failed(group: tuple[str, ...], members: list[Judged], example: Judged) -> str:
    """Return the line of a group of failures: their kinds, what they have in common, and the phrase of the example."""
    kinds = " or ".join(sorted({member.record.verdict.kind for member in members}))
    if group[0] == "learnt":
        names = shared({member.record.case: member.record.diagnosis for member in members})
        usual = Counter(map(str, names.values())).most_common(1)
        known = f" (known as {usual[0][0]})" if usual and usual[0][1] == len(members) else ""
        return f"{kinds}: {group[1]}{known}"
    what = {"explained": f" as if {group[-1]}", "in": f" in {group[-1]}"}.get(group[-2], "")
    record = example.record
    # The phrase of a wrong shape already has both shapes.
    described = f"; {record.described}" if record.described and record.verdict.kind != "wrong-shape" else ""
    return f"{kinds}{what}: {_cut(example.reason or phrase(record.verdict))}{described}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

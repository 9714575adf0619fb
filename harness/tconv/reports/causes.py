"""The records of one status grouped by cause, one line for each cause, the same on the terminal and on the page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tconv.diagnosis import shared
from tconv.gate.status import Status
from tconv.records.failure import failure
from tconv.reports.phrases import headline, phrase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.dialects.readings import Together
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Judged

_LONGEST = 160
"""Characters of a phrase in a cause; a longer one is cut."""
_BEGINNING = 40
"""Characters of its beginning that are left of a phrase whose middle is left out."""


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
    explained = shared({judged.record.case: judged.record.diagnosis for judged in members})
    for judged in members:
        groups[_group(judged, explained.get(judged.record.case))].append(judged)
    result = []
    examples = {group: min(members, key=lambda member: len(member.record.case)) for group, members in groups.items()}
    said = {group: example.reason or phrase(example.record.verdict) for group, example in examples.items()}
    cut = _cut(said.values())
    for group, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        example = examples[group]
        match status:
            case Status.FAILED:
                what = _failed(group, members, example, cut[said[group]])
            case Status.DISPUTED:
                what = cut[said[group]]
            case _:
                what = group[0]
        result.append(Cause(what, len(members), example.record.case))
    return result


def _group(judged: Judged, explained: Together | None) -> tuple[str, ...]:
    """Return what records of one cause have in common.

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


def _failed(group: tuple[str, ...], members: list[Judged], example: Judged, said: str) -> str:
    """Return the line of a group of failures: their kinds, what they have in common, and the phrase of the example."""
    kinds = " or ".join(sorted({member.record.verdict.kind for member in members}))
    what = {"explained": f" as if {group[-1]}", "in": f" in {group[-1]}"}.get(group[-2], "")
    record = example.record
    # The phrase of a wrong shape already has both shapes.
    described = f"; {record.described}" if record.described and record.verdict.kind != "wrong-shape" else ""
    return f"{kinds}{what}: {said}{described}"


def _cut(texts: Iterable[str]) -> dict[str, str]:
    """Return each text in at most about `_LONGEST` characters, so that those that begin alike can be told apart."""
    in_order = sorted(set(texts))
    # With how many characters in common neighbours begin: no other text has more in common with either.
    shared = [_alike(*pair) for pair in pairwise(["", *in_order, ""])]
    return {text: _shown(text, max(counts)) for text, counts in zip(in_order, pairwise(shared), strict=True)}


def _alike(one: str, other: str) -> int:
    """Return with how many characters in common two texts begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shown(text: str, shared: int) -> str:
    """Return a text without its end, or where so much of it is shared with another, without a part of that."""
    if len(text) <= _LONGEST:
        return text
    if shared <= _LONGEST // 2:
        return f"{text[:_LONGEST]}..."
    return f"{text[:_BEGINNING]} ... {_shown(text[shared - _BEGINNING // 2 :], 0)}"

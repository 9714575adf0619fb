"""Failures that come by chance, or after other calls: alike ones together.

Of such failures each run shows others. So an entry for those of one run does not hold in the next one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tconv.gate.status import FAILING, MixedReadings
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus

_WRONG = ver.WrongOutput | ver.WrongDtype | MixedReadings | ver.Unstable


def by_chance(assessment: Assessment) -> list[list[RecordStatus]]:
    """Return the failures of which another answer was seen, and others like them that were not asked again.

    Each list has failures of one kind of verdict, with the same words.
    """
    failed = [member for member in assessment.statuses if member.status in FAILING]
    seen = {_words(member) for member in failed if member.record.varies}
    varying = [m for m in failed if _words(m) in seen and (m.record.varies or m.may_vary)]
    found: list[list[RecordStatus]] = []
    for alike in grouped_by_words(varying).values():
        kinds = sorted({member.ruling.kind for member in alike})
        found += [[member for member in alike if member.ruling.kind == kind] for kind in kinds]
    return found


def grouped_by_words(members: Iterable[RecordStatus]) -> dict[str, list[RecordStatus]]:
    """Return failures by what they are in words: all wrong outputs together, others by kind and message."""
    groups: defaultdict[str, list[RecordStatus]] = defaultdict(list)
    for member in members:
        groups[_words(member)].append(member)
    return dict(groups)


def _words(member: RecordStatus) -> str:
    match member.ruling:
        case ver.RefusedValid(message) | ver.BackendError(message) as verdict:
            return f"{verdict.kind}: {without_numbers(message)}"
        case verdict:
            return "wrong" if isinstance(verdict, _WRONG) else verdict.kind

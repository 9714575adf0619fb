"""What is noted of records without being a failure."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus

NO_VALUES = "no-values"
NOTE_MEANINGS = MappingProxyType(
    ver.NOTES
    | {
        "ambiguous": "a refusal that may have another cause than the readings that may explain it",
        NO_VALUES: "only shape and type were compared, as the backend gives no values",
    }
)
"""What notes mean: those of verdicts, and those of records that no verdict notes."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A note of records: what it means, how many have it, and the shortest of their ids.

    A backend's own note has no meaning here: it is an empty text.
    """

    name: str
    meaning: str
    count: int
    example: str


def notes_of(assessment: Assessment) -> list[Noted]:
    """Return the notes of the records of a run, the most frequent first.

    What excuses the values of a case is left out if a misreading of the run would change them, and its condition holds
    for the case: the misreading is more likely than the excuse.
    """
    misread = frozenset[str]().union(*(misread.right for misread in assessment.explained.misread.values()))
    cases: dict[str, list[str]] = {}
    for member in assessment.statuses:
        for note in noted(member):
            if note not in ver.NOTES or member.record.case not in misread:
                cases.setdefault(note, []).append(member.record.case)
    return [
        Noted(note, NOTE_MEANINGS.get(note, ""), len(ids), min(ids, key=lambda case: (len(case), case)))
        for note, ids in sorted(cases.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def noted(member: RecordStatus) -> Iterator[str]:
    """Yield the names of a record's notes."""
    match member.ruling:
        case ver.Agreed(rule="shape") | ver.Disputed(rule="shape"):
            yield NO_VALUES
        case ver.Agreed(notes=notes) | ver.Disputed(notes=notes) | ver.Mistrusted(notes=notes):
            yield from notes

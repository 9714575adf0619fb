"""What is noted of records without being a failure."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from tconv.records.record import Record

NO_VALUES = "no-values"
NOTE_MEANINGS = MappingProxyType(
    ver.NOTES
    | {
        NO_VALUES: "only shape and type were compared, as the backend gives no values",
    }
)
"""What notes mean: those of verdicts, and those of records that a verdict does not note."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A note of records: what it means, how many have it, and the shortest of their ids.

    A backend's own note has no meaning here: it is an empty text.
    """

    name: str
    meaning: str
    count: int
    example: str


def notes_of(records: Iterable[Record], misread: Container[str] = frozenset()) -> list[Noted]:
    """Return the notes of records, the most frequent first.

    Args:
        records: the records of a run.
        misread: the ids of cases that a misreading of the run would change, and which its condition holds for. What
            excuses their values is left out: the misreading is more likely than the excuse.
    """
    cases: dict[str, list[str]] = {}
    for record in records:
        for note in noted(record):
            if note not in ver.NOTES or record.case not in misread:
                cases.setdefault(note, []).append(record.case)
    return [
        Noted(note, NOTE_MEANINGS.get(note, ""), len(ids), min(ids, key=lambda case: (len(case), case)))
        for note, ids in sorted(cases.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def noted(record: Record) -> Iterator[str]:
    """Yield the names of a record's notes."""
    match record.verdict:
        case ver.Agreed(rule="shape") | ver.Disputed(rule="shape"):
            yield NO_VALUES
        case ver.Agreed(notes=notes) | ver.Disputed(notes=notes) | ver.Mistrusted(notes=notes):
            yield from notes

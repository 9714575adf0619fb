"""Notes that are not failures: on how a run was made and judged, and on its records."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.backends.machine import chosen_kernels
from tconv.evidence import Misreads
from tconv.reports import phrases
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus

NO_VALUES, NOTHING_PASSED = "no-values", "nothing-passed"
NOTE_MEANINGS = MappingProxyType(
    ver.NOTES
    | {
        "ambiguous": "a reading may explain the refusal, but another cause is possible too",
        NO_VALUES: "only shape and type were compared, because the backend gives no values",
    }
)
"""The meanings of notes on records: those of verdicts, and those without a verdict's note."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note on how a run was made and judged.

    Attributes:
        name: its subject.
        text: the note, in a sentence.
        is_minor: whether it comes after more important notes, so that a screen may have no room for it.
    """

    name: str
    text: str
    is_minor: bool = False


@dataclass(frozen=True, slots=True)
class RecordNote:
    """A note of records: its meaning, the number of records, and the shortest of their ids.

    The meaning of a backend's own note is an empty text.
    """

    name: str
    meaning: str
    count: int
    example: str


def find_notes(assessment: Assessment) -> Iterator[Note]:
    """Yield the notes on how a run was made and judged."""
    header, uses = assessment.run.header, assessment.waivers
    # For the others, a cause or a waiver gives the reason.
    unexplained = {answers.question for answers in assessment.mixed_unexplained}
    for answers in assessment.mixed:
        yield Note("mixed-readings", phrases.mixed_answers(answers), answers.question not in unexplained)
    if header.shard:
        yield Note("shard", "a shard is not judged by cases of other shards; 'tconv report' joins the records of all")
    for of, chosen in chosen_kernels(header.backend.environment).items():
        yield Note("environment", f"the environment chooses kernels of {of}: {', '.join(chosen)}")
    yield from (Note("sums", text) for text in phrases.sums_found(assessment.run.records))
    yield from (Note("contexts", text) for text in phrases.contexts_executed(assessment.statuses))
    if uses.relative:
        yield Note("relative-waivers", phrases.relative_waivers(assessment))
    yield from (Note(NOTHING_PASSED, text) for text in phrases.nothing_passed(assessment))
    named = (
        ("not-asked-again", phrases.unasked(assessment)),
        ("other-waivers", phrases.other_waivers(assessment)),
        ("waivers-of-other-options", phrases.waivers_of_other_options(assessment)),
        ("waivers-of-other-versions", phrases.waivers_of_other_versions(assessment)),
        *(("wide-declaration", phrases.implemented(use)) for use in uses.implemented),
        ("unpinned", phrases.unpinned(assessment)),
    )
    yield from (Note(name, text) for name, text in named if text)
    for number, use in enumerate(uses.of_state("wide")):
        yield Note("wide-waiver", phrases.wide(use), is_minor=number > 0)


def find_record_notes(assessment: Assessment) -> list[RecordNote]:
    """Return the notes of the records of a run, the most frequent first.

    If a note excuses the values of a case, but a misreading of the run would change them, and its condition holds for
    the case, the note is left out. The misreading is more likely.
    """
    misread = frozenset[str]().union(
        *(each.against for each in assessment.explained if isinstance(each.what, Misreads))
    )
    cases: dict[str, list[str]] = {}
    for member in assessment.statuses:
        for note in list_notes(member):
            if note not in ver.NOTES or member.record.case not in misread:
                cases.setdefault(note, []).append(member.record.case)
    return [
        RecordNote(note, NOTE_MEANINGS.get(note, ""), len(ids), min(ids, key=lambda case: (len(case), case)))
        for note, ids in sorted(cases.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def list_notes(member: RecordStatus) -> Iterator[str]:
    """Yield the names of a record's notes."""
    match member.ruling:
        case ver.Agreed(rule="shape") | ver.Disputed(rule="shape"):
            yield NO_VALUES
        case ver.Agreed(notes=notes) | ver.Disputed(notes=notes) | ver.Inconclusive(notes=notes):
            yield from notes

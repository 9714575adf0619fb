"""Notes that are not failures: on how a run was made and judged, and on its records."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.backends.machine import chosen_kernels
from tconv.cases.patterns import twin_of
from tconv.evidence.hypotheses import Misreads
from tconv.gate.status import FAILING, Status
from tconv.reports.phrases import counted, no_output
from tconv.reports.words import NOTES
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.gate.answers import QuestionAnswers
    from tconv.gate.assessment import Assessment
    from tconv.gate.entries import DeclarationUse, WaiverUse
    from tconv.gate.status import RecordStatus
    from tconv.records.record import Record

_NAMED = 3
"""The most waivers that a note names."""
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
    """A note of records.

    Attributes:
        name: the note.
        meaning: what it means; empty for a backend's own note.
        count: how many records have it.
        example: the shortest of their ids.
    """

    name: str
    meaning: str
    count: int
    example: str


def find_notes(assessment: Assessment) -> Iterator[Note]:
    """Yield the notes on how a run was made and judged."""
    header = assessment.run.header
    # For the others, a cause or a waiver gives the reason.
    unexplained = {answers.question for answers in assessment.mixed_unexplained}
    for answers in assessment.mixed:
        yield Note("mixed-readings", mixed_answers(answers), answers.question not in unexplained)
    if header.shard:
        yield _note("shard")
    for of, chosen in chosen_kernels(header.backend.environment).items():
        yield _note("environment", of=of, kernels=", ".join(chosen))
    yield from (Note("sums", text) for text in sums_found(assessment.run.records))
    yield from (Note("contexts", text) for text in contexts_executed(assessment.statuses))
    yield from (Note(NOTHING_PASSED, text) for text in _nothing_passed(assessment))
    if assessment.unasked:
        yield _note("not-asked-again", failures=counted(assessment.unasked, "failure"))
    yield from _on_waivers(assessment)
    if questions := assessment.pins.unpinned:
        are = counted(len(questions), "question of the text is", "questions of the text are")
        yield _note("unpinned", questions=are, names=", ".join(questions))
    for number, wide in enumerate(assessment.waivers.of_state("wide")):
        yield _note("wide-waiver", is_minor=number > 0, waiver=wide.waiver.name, cases=_agreeing(wide))


def _note(name: str, *, is_minor: bool = False, **values: object) -> Note:
    """Return a note with the sentence of `words.yaml`."""
    return Note(name, NOTES[name].format(**values), is_minor)


def _on_waivers(assessment: Assessment) -> Iterator[Note]:
    """Yield the notes on waivers that are for others, or cover others, and on declarations."""
    uses, backend = assessment.waivers, assessment.run.header.backend
    if uses.relative:
        unneeded = len(uses.of_state("unneeded"))
        yield _note("relative-waivers", backend=uses.relative, waived=len(assessment.waived), unneeded=unneeded)
    if before := assessment.waived_before_by:
        waivers = f"those with the digest {uses.digest}" if uses.digest else "none"
        yield _note("other-waivers", before=before, here=f"{waivers}{', with --strict' if assessment.strict else ''}")
    if uses.of_other_options:
        options = ", ".join(f"{name}={value}" for name, value in backend.options.items())
        yield _note("waivers-of-other-options", options=options or "its defaults")
    if others := uses.of_other_versions:
        named = ", ".join(f"{waiver.name} ({waiver.versions})" for waiver in others[:_NAMED])
        more = f" and {len(others) - _NAMED} more" if others[_NAMED:] else ""
        yield _note("waivers-of-other-versions", version=backend.version, waivers=f"{named}{more}")
    for use in uses.implemented:
        unsupported = counted(use.unsupported, "that is unsupported", "that are unsupported")
        together = f"together with {unsupported}: narrow it"
        remedy = together if use.unsupported else "and none that is unsupported: remove the entry"
        yield _note("wide-declaration", cases=use.entry.words, agreeing=_agreeing(use), remedy=remedy)


def _agreeing(use: DeclarationUse | WaiverUse) -> str:
    """Return how many cases that agree an entry covers, with one of them."""
    return f"{counted(len(use.agreeing), 'case that agrees', 'cases that agree')}, such as {use.agreeing[0]}"


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


def contexts_executed(members: Sequence[RecordStatus]) -> Iterator[str]:
    """Yield in how many contexts the runtime changed the graph: the others show nothing about fusion."""
    answered = [m.record for m in members if twin_of(m.record.case) and ver.is_output(m.record.verdict)]
    if answered:
        changed = sum(bool(record.executed) for record in answered)
        yield (
            f"in {changed} of {len(answered)} contexts with an output the runtime says that it fuses or folds "
            "operations, adds some, or computes in 8 bits; in the others it executes each by itself, or does not say"
        )


def mixed_answers(answers: QuestionAnswers) -> str:
    """Return the answers of a backend to one question, with a case for each."""
    shown_answers = ", and ".join(
        f"{answer.answer} in {counted(answer.count, 'case')}, such as {answer.example.id}" for answer in answers.answers
    )
    return f"mixed readings: the question {answers.question} is answered by {shown_answers}"


def sums_found(records: Iterable[Record]) -> Iterator[str]:
    """Yield what probes found about the sums of each 16-bit type, unless these are kept in f32, as is usual."""
    of_type: dict[DType, dict[DType | None, set[tuple[str, int]]]] = {}
    for sums in dict.fromkeys(record.sums for record in records):
        if sums is not None:
            of_type.setdefault(sums.dtype, {}).setdefault(sums.accumulator, set()).add((sums.filters, sums.rank))
    for dtype, paths in sorted(of_type.items()):
        # If two machines differ, the less precise sum counts.
        narrow = paths.get(dtype, set())
        wide, unknown = (paths.get(accumulator, set()) - narrow for accumulator in (DType.F32, None))
        if narrow:
            besides = "f32, but in " if wide else ""
            found = f"{besides}{dtype} for {_filters(narrow, wide | unknown)}"
            yield f"sums of {dtype} are kept in {found}, as probes found: more error is allowed there"
        if unknown:
            found = _filters(unknown, wide | narrow)
            why = "their probe found no type, or ended the runtime"
            yield f"sums of {dtype} for {found} are judged as kept in f32: {why}"


def _filters(paths: set[tuple[str, int]], others: set[tuple[str, int]]) -> str:
    """Return the filters of some paths, with their rank only if other paths have the same filters."""
    whole = {filters for filters, _ in paths} - {filters for filters, _ in others}
    named = {filters if filters in whole else f"{filters} {rank}-D" for filters, rank in paths}
    return f"{', '.join(sorted(named))} filters"


def _nothing_passed(assessment: Assessment) -> list[str]:
    """Return what a reader of a green run might miss: no output was computed, or all cases are waived.

    If the first is a reason why the run is red, it is no note.
    """
    header, counts = assessment.run.header, assessment.counts
    notes = (
        [no_output(assessment)] if header.patterns or header.shard or any(counts[status] for status in FAILING) else []
    )
    if counts[Status.WAIVED] and counts[Status.WAIVED] == assessment.judged:
        that_were = "" if assessment.judged == counts.total() else " that were judged"
        notes.append(f"nothing passed: all cases{that_were} are waived")
    return [note for note in notes if note]

"""Notes that are not failures: on how a run was made and judged, and on its records."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.backends.machine import chosen_kernels
from tconv.cases.patterns import twin_of
from tconv.evidence import Misreads
from tconv.gate.status import FAILING, Status
from tconv.reports.phrases import no_output
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
    header, uses = assessment.run.header, assessment.waivers
    # For the others, a cause or a waiver gives the reason.
    unexplained = {answers.question for answers in assessment.mixed_unexplained}
    for answers in assessment.mixed:
        yield Note("mixed-readings", mixed_answers(answers), answers.question not in unexplained)
    if header.shard:
        yield Note("shard", "a shard is not judged by cases of other shards; 'tconv report' joins the records of all")
    for of, chosen in chosen_kernels(header.backend.environment).items():
        yield Note("environment", f"the environment chooses kernels of {of}: {', '.join(chosen)}")
    yield from (Note("sums", text) for text in sums_found(assessment.run.records))
    yield from (Note("contexts", text) for text in contexts_executed(assessment.statuses))
    if uses.relative:
        yield Note("relative-waivers", _relative_waivers(assessment))
    yield from (Note(NOTHING_PASSED, text) for text in _nothing_passed(assessment))
    named = (
        ("not-asked-again", _unasked(assessment)),
        ("other-waivers", _other_waivers(assessment)),
        ("waivers-of-other-options", _waivers_of_other_options(assessment)),
        ("waivers-of-other-versions", _waivers_of_other_versions(assessment)),
        *(("wide-declaration", _implemented(use)) for use in uses.implemented),
        ("unpinned", _unpinned(assessment)),
    )
    yield from (Note(name, text) for name, text in named if text)
    for number, use in enumerate(uses.of_state("wide")):
        yield Note("wide-waiver", _wide(use), is_minor=number > 0)


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
        f"{answer.answer} in {answer.count} {'case' if answer.count == 1 else 'cases'}, such as {answer.example.id}"
        for answer in answers.answers
    )
    return f"mixed readings: the question {answers.question} is answered by {shown_answers}"


def _other_waivers(assessment: Assessment) -> str:
    """Return that a run began with other waivers or strictness than those that judge it here; empty if it did not."""
    before = assessment.waived_before_by
    digest = assessment.waivers.digest
    waivers = f"those with the digest {digest}" if digest else "none"
    here = f"{waivers}{', with --strict' if assessment.strict else ''}"
    return f"the run began with the waivers {before}; here they are {here}" if before else ""


def _waivers_of_other_versions(assessment: Assessment) -> str:
    """Return the waivers that would cover failures if they were for this version of the backend; empty if none."""
    waivers, version = assessment.waivers.of_other_versions, assessment.run.header.backend.version
    if not waivers:
        return ""
    named = [f"{waiver.name} ({waiver.versions})" for waiver in waivers[:_NAMED]]
    more = f" and {len(waivers) - _NAMED} more" if waivers[_NAMED:] else ""
    return f"waivers that would cover failures are not for version {version}: {', '.join(named)}{more}"


def _waivers_of_other_options(assessment: Assessment) -> str:
    """Return that no waiver applies, because the file is for other options of the backend; empty if one applies."""
    if not assessment.waivers.of_other_options:
        return ""
    options = ", ".join(f"{name}={value}" for name, value in assessment.run.header.backend.options.items())
    return f"no waiver applies: the waivers are for other options of the backend than {options or 'its defaults'}"


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


def _implemented(use: DeclarationUse) -> str:
    """Return that a declaration of unsupported cases covers cases that agree, and what to do about it."""
    cases = f"{len(use.agreeing)} {'case that agrees' if len(use.agreeing) == 1 else 'cases that agree'}"
    covers = f"{use.entry.words} is declared unsupported, and covers {cases}, such as {use.agreeing[0]}"
    if not use.unsupported:
        return f"{covers}, and none that is unsupported: remove the entry"
    unsupported = f"{use.unsupported} that {'is' if use.unsupported == 1 else 'are'} unsupported"
    return f"{covers}, together with {unsupported}: narrow it"


def _unasked(assessment: Assessment) -> str:
    """Return that no failure was asked again; empty if one was, or if no failure may depend on other calls."""
    if not (count := assessment.unasked):
        return ""
    failures = f"{count:,} {'failure' if count == 1 else 'failures'}"
    return (
        f"it is not known of {failures} whether the answer depends on the calls before it: none was asked again, alone "
        "in a fresh process, as tconv run does when it comes to its end"
    )


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


def _unpinned(assessment: Assessment) -> str:
    """Return how many questions have no pin, so that another allowed answer is no failure; empty if all have one."""
    if not (questions := assessment.pins.unpinned):
        return ""
    are = "question of the text is" if len(questions) == 1 else "questions of the text are"
    return (
        f"{len(questions)} {are} not pinned ({', '.join(questions)}): another allowed answer is no failure; "
        "'tconv waivers pin' writes the pins"
    )


def _relative_waivers(assessment: Assessment) -> str:
    """Return that the waivers belong to another backend, and how many of them are used."""
    uses = assessment.waivers
    return (
        f"the waivers are those of {uses.relative!r}, for whatever version: {len(assessment.waived)} cases are "
        f"waived, and {len(uses.of_state('unneeded'))} waivers are not needed here"
    )


def _wide(use: WaiverUse) -> str:
    """Return that a waiver also covers cases that agree."""
    cases = f"{len(use.agreeing)} {'case that agrees' if len(use.agreeing) == 1 else 'cases that agree'}"
    return f"waiver {use.waiver.name!r} also covers {cases}, such as {use.agreeing[0]}"

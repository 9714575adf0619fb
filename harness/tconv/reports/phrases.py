"""The phrases that all reports share: a verdict, its explanation, a call's attributes, the command to repeat it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, assert_never

from tconv.backends.process_end import main_reason
from tconv.cases.patterns import twin_of
from tconv.dialects import DIALECTS
from tconv.dialects.readings import Combination
from tconv.dialects.rules import contrasted
from tconv.expectation.bound import SYMBOLS
from tconv.gate.status import FAILING, MixedReadings, ReadingChanged, Status
from tconv.records.failure import sentence
from tconv.records.headers import cases_option
from tconv.shown_texts import one_line
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.diagnosis import Diagnosis
    from tconv.gate.answers import QuestionAnswers
    from tconv.gate.assessment import Assessment
    from tconv.gate.entries import DeclarationUse, WaiverUse
    from tconv.gate.status import RecordStatus, Ruling
    from tconv.records.headers import RunHeader
    from tconv.records.record import Change, Record


_NAMED = 3
"""The most waivers that a note names."""
NO_WAIVERS = "--waivers", "none"
"""The options with which a run reports a waived failure as a failure."""
_CONVERTED = {True: ", with the right values", False: ", with wrong values too", None: ""}
"""What follows a wrong type, by whether the values agree after a conversion."""
UNDECLARED = "unsupported, and not declared so"


def phrase(verdict: Ruling) -> str:
    """Return what a verdict, or the gate's ruling, says beyond its kind, in one line."""
    match verdict:
        case ver.Agreed() | ver.Disputed() | MixedReadings() | ver.Inconclusive():
            return _of_allowed_values(verdict)
        case ReadingChanged(question, was, now):
            return f"was {was}, is {now} (question {question})"
        case ver.Differed() | ver.Imprecise():
            return _of_differences(verdict)
        case ver.WrongShape(expected, actual) | ver.WrongDtype(expected, actual):
            after = _CONVERTED[getattr(verdict, "values_agree", None)]
            return f"must be {_bracketed(expected)} (got {_bracketed(actual)}{after})"
        case ver.RefusedValid(text) | ver.BackendError(text) | ver.Unsupported(text):
            return sentence(text)
        case ver.Unstable(text) | ver.NotApplicable(text):
            return one_line(text)
        case ver.AcceptedInvalid(constraint):
            return f"breaks {constraint}, and was answered"
        case ver.Crashed(cause, stderr):
            return ": ".join(filter(None, (cause, sentence(main_reason(stderr)))))
        case ver.TimedOut(seconds):
            return f"no answer within {seconds:g} s"
        case _:
            assert_never(verdict)


def _of_allowed_values(verdict: ver.Allowed | MixedReadings | ver.Inconclusive) -> str:
    """Return what a verdict says about an answer that the text allows."""
    match verdict:
        case ver.Agreed(rule, notes):
            return ", ".join((rule, *notes))
        case ver.Disputed():
            return _disputed(verdict)
        case MixedReadings(readings):
            follows = str(Combination(readings)) if readings else "the text's first answer"
            return f"follows {follows}{_contrast(verdict)}"
        case ver.Inconclusive():
            return _inconclusive(verdict)
        case _:
            assert_never(verdict)


def _of_differences(verdict: ver.WrongValues) -> str:
    place = ",".join(map(str, verdict.first))
    worst = distance(verdict)
    return (
        f"{verdict.wrong} of {verdict.of} elements; [{place}] must be {verdict.expected:.9g} "
        f"(got {verdict.actual:.9g}){worst and f', at worst {worst}'}"
    )


def distance(verdict: ver.WrongValues) -> str:
    """Return how far off the worst element is, as a multiple of the tolerance or in steps; empty if unknown."""
    if verdict.steps is not None:
        return f"{verdict.steps} {'step' if verdict.steps == 1 else 'steps'} of the type, and nothing is allowed"
    return "" if verdict.worst is None else f"{verdict.worst:.3g} times what is allowed"


def _disputed(verdict: ver.Disputed) -> str:
    if verdict.rule == "refusal":
        ambiguous = " perhaps" if verdict.notes else ""
        return f"refused,{ambiguous} as {' or '.join(verdict.choices)} says: {sentence(verdict.message or '')}"
    alike = ", which give the same output" if verdict.alike else ""
    notes = f" ({', '.join(verdict.notes)})" if verdict.notes else ""
    return f"follows {' or '.join(verdict.choices)}{alike}{notes}"


def _contrast(verdict: MixedReadings) -> str:
    """Return the end of a sentence: how the answer of a case differs from that of other cases."""
    changes = (
        reading.change
        for dialect in DIALECTS.values()
        for reading in dialect.disputed
        if reading.name in verdict.readings
    )
    for change in changes:
        if change.question == verdict.question:
            return f": {contrasted(change.answer, verdict.elsewhere)}"
    return f"; other cases answer {verdict.question} by {verdict.elsewhere}"


def _inconclusive(verdict: ver.Inconclusive) -> str:
    follows = (f"follows {Combination(verdict.readings)}",) if verdict.readings else ()
    return ", ".join((_untested(verdict), *follows, *verdict.notes))


def _untested(verdict: ver.Inconclusive) -> str:
    return f"{verdict.untested} of {verdict.of} elements would pass as zero"


def headline(verdict: Ruling) -> str:
    """Return the kind of a verdict, or of the gate's ruling, and its phrase if there is one."""
    return ": ".join(filter(None, (verdict.kind, phrase(verdict))))


def reason(member: RecordStatus) -> str:
    """Return why a record has its status, if a waiver file or another answer decides it; empty if not."""
    if member.status is Status.TWIN_FAILED:
        return f"the operator alone fails too: {twin_of(member.record.case)}"
    if (entry := member.waiver or member.declaration) is not None:
        return entry.because
    match member.ruling:
        case ver.Unsupported(text):
            return f"{UNDECLARED}: {sentence(text)}"
        case ver.NotApplicable(text):
            return text
        case ver.Inconclusive() as inconclusive:
            return _untested(inconclusive)
        case _:
            return ""


def summary(record: Record, ruling: Ruling | None = None, why: Diagnosis | None = None) -> str:
    """Return a verdict, its phrase and its explanation in one line.

    Args:
        record: the record.
        ruling: the gate's ruling on its answer; None for its verdict.
        why: the diagnosis of its output, with the evidence of the run; None for the diagnosis by the output alone.
    """
    parts = (headline(ruling or record.verdict), explanation(record, why or record.why))
    return one_line("; ".join(filter(None, parts)))


def explanation(record: Record, why: Diagnosis) -> str:
    """Return why an output is wrong: the misreadings that give it, or the place of its errors; empty if unknown."""
    if record.varies:
        return fresh_process_phrase(record)
    words = f"as if {' or '.join(map(str, why.explained))}" if why.explained else why.described
    return "; ".join(filter(None, (words, fresh_process_phrase(record))))


def fresh_process_phrase(record: Record) -> str:
    """Return the result of a failed case that was asked again, alone in a fresh process; empty if it was not."""
    if record.alone is None:
        return ""
    if record.alone.same:
        # For sums with rounding it is only compared whether they are wrong.
        same = getattr(record.verdict, "rule", "") != "bound"
        return f"{'the same answer' if same else 'wrong too'} if it is asked alone in a fresh process"
    if record.alone.first_only:
        return "in the run; if it is asked alone in a fresh process, only the first call is wrong"
    if record.alone.kind == "unstable":
        # It may have been the first call of its process in the run too.
        return "in the run; if it is asked alone in a fresh process, its answer varies"
    alone: str = record.alone.kind
    if alone == "agreed":
        alone = "right"
    elif alone == record.verdict.kind:
        alone = "wrong in another way"
    return f"after other calls; if it is asked alone in a fresh process, it is {alone}"


def right_with(change: Change) -> str:
    """Return the change that makes a failing context right."""
    if change.option:
        return f"right with --option {change.option}: what this turns off makes it wrong"
    return f"right if the tensor between {change.apart} is an output of the graph too: so they are joined wrongly"


def tolerance(record: Record) -> str:
    """Return how the tolerance of a wrong output is derived, with the meaning of its letters; empty for none."""
    derived, bounded = record.tolerance or "", getattr(record.verdict, "rule", "") == "bound"
    return f"{derived}; {SYMBOLS}" if derived and bounded else derived


def attribute_words(attributes: Mapping[str, object]) -> str:
    """Return attributes with their values, arrays in brackets."""
    return ", ".join(f"{name}={_bracketed(value)}" for name, value in attributes.items())


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


def other_waivers(assessment: Assessment) -> str:
    """Return that a run began with other waivers or strictness than those that judge it here; empty if it did not."""
    before = assessment.waived_before_by
    digest = assessment.waivers.digest
    waivers = f"those with the digest {digest}" if digest else "none"
    here = f"{waivers}{', with --strict' if assessment.strict else ''}"
    return f"the run began with the waivers {before}; here they are {here}" if before else ""


def waivers_of_other_versions(assessment: Assessment) -> str:
    """Return the waivers that would cover failures if they were for this version of the backend; empty if none."""
    waivers, version = assessment.waivers.of_other_versions, assessment.run.header.backend.version
    if not waivers:
        return ""
    named = [f"{waiver.name} ({waiver.versions})" for waiver in waivers[:_NAMED]]
    more = f" and {len(waivers) - _NAMED} more" if waivers[_NAMED:] else ""
    return f"waivers that would cover failures are not for version {version}: {', '.join(named)}{more}"


def waivers_of_other_options(assessment: Assessment) -> str:
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


def implemented(use: DeclarationUse) -> str:
    """Return that a declaration of unsupported cases covers cases that agree, and what to do about it."""
    cases = f"{len(use.agreeing)} {'case that agrees' if len(use.agreeing) == 1 else 'cases that agree'}"
    covers = f"{use.entry.words} is declared unsupported, and covers {cases}, such as {use.agreeing[0]}"
    if not use.unsupported:
        return f"{covers}, and none that is unsupported: remove the entry"
    unsupported = f"{use.unsupported} that {'is' if use.unsupported == 1 else 'are'} unsupported"
    return f"{covers}, together with {unsupported}: narrow it"


def unasked(assessment: Assessment) -> str:
    """Return that no failure was asked again; empty if one was, or if no failure may depend on other calls."""
    if not (count := assessment.unasked):
        return ""
    failures = f"{count:,} {'failure' if count == 1 else 'failures'}"
    return (
        f"it is not known of {failures} whether the answer depends on the calls before it: none was asked again, alone "
        "in a fresh process, as tconv run does when it comes to its end"
    )


def no_output(assessment: Assessment) -> str:
    """Return that no output was computed that could be compared with the text; empty if there was one."""
    if assessment.computes:
        return ""
    answered = any(isinstance(record.verdict, ver.AcceptedInvalid) for record in assessment.run.records)
    return f"no output {'of a valid call ' if answered else ''}was computed"


def nothing_passed(assessment: Assessment) -> list[str]:
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


def unpinned(assessment: Assessment) -> str:
    """Return how many questions have no pin, so that another allowed answer is no failure; empty if all have one."""
    if not (questions := assessment.pins.unpinned):
        return ""
    are = "question of the text is" if len(questions) == 1 else "questions of the text are"
    return (
        f"{len(questions)} {are} not pinned ({', '.join(questions)}): another allowed answer is no failure; "
        "'tconv waivers pin' writes the pins"
    )


def relative_waivers(assessment: Assessment) -> str:
    """Return that the waivers belong to another backend, and how many of them are used."""
    uses = assessment.waivers
    return (
        f"the waivers are those of {uses.relative!r}, for whatever version: {len(assessment.waived)} cases are "
        f"waived, and {len(uses.of_state('unneeded'))} waivers are not needed here"
    )


def wide(use: WaiverUse) -> str:
    """Return that a waiver also covers cases that agree."""
    cases = f"{len(use.agreeing)} {'case that agrees' if len(use.agreeing) == 1 else 'cases that agree'}"
    return f"waiver {use.waiver.name!r} also covers {cases}, such as {use.agreeing[0]}"


def reproduce(
    record: Record, backend: Sequence[str] = (), cases: str = "", waivers: Sequence[str] | None = None
) -> str:
    """Return the command that runs a record's case again; if the case failed, the command fails too.

    Args:
        record: the record.
        backend: the words of the command line for the backend and its options; empty for the backend's own name.
        cases: the value of --cases; empty for tconv's own corpus.
        waivers: the options that make it a failure; None for options that excuse nothing.
    """
    words = ["tconv", "run", record.case, *(backend or ("--backend", record.backend)), "--dialect", record.dialect]
    excused = excused_by_nothing(record.verdict) if waivers is None else waivers
    return shlex.join([*words, *cases_option(cases), *excused])


def excused_by_nothing(verdict: ver.Verdict) -> tuple[str, ...]:
    """Return the options that make a verdict a failure, even if a waiver covers its case."""
    return (*NO_WAIVERS, "--strict") if isinstance(verdict, ver.AcceptedInvalid) else NO_WAIVERS


def reproduce_in(header: RunHeader, member: RecordStatus) -> str:
    """Return the command that repeats a failure of a run; if the answer varies, the run in one process.

    A failure by a pin needs the waiver file, and no waiver covers it.
    """
    if member.record.varies:
        return reproduce_run(header)
    if not isinstance(member.ruling, ReadingChanged):
        return reproduce(member.record, header.asked, header.path)
    return reproduce(member.record, (*header.asked, *waivers_option(header)), header.path, ())


def reproduce_run(header: RunHeader) -> str:
    """Return the command that repeats answers that depend on earlier calls."""
    return shlex.join([*run_again(header), "--jobs", "1", *NO_WAIVERS])


def run_again(header: RunHeader) -> list[str]:
    """Return the words of the command that repeats a run."""
    words = ["tconv", "run", *header.patterns, *header.asked, "--dialect", header.dialect, "--tier", header.tier]
    return [*words, *cases_option(header.path)]


def waivers_option(header: RunHeader) -> list[str]:
    """Return the option for the waivers with which a run began; none if it took those that ship for its backend."""
    file = header.waivers.file if header.waivers else ""
    return [] if file in {"", f"{header.backend.name}.yaml", "several"} else ["--waivers", file]


def _bracketed(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)

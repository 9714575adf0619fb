"""The phrases that all reports share: a verdict, its explanation, a call's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from tconv.backends.process_end import main_reason
from tconv.cases.patterns import twin_of
from tconv.dialects import DIALECTS
from tconv.dialects.readings import Combination
from tconv.dialects.rules import contrasted
from tconv.expectation.bound import SYMBOLS
from tconv.gate.status import MixedReadings, ReadingChanged, Status
from tconv.records.failure import sentence
from tconv.shown_texts import one_line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.diagnosis import Diagnosis
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus, Ruling
    from tconv.records.record import Change, Record


_CONVERTED = {True: ", with the right values", False: ", with wrong values too", None: ""}
"""What follows a wrong type, by whether the values agree after a conversion."""
UNDECLARED = "unsupported, and not declared so"


def phrase(verdict: Ruling) -> str:
    """Return what a verdict, or the gate's ruling, says beyond its kind, in one line."""
    match verdict:
        case ver.Agreed() | ver.Disputed() | MixedReadings() | ver.Inconclusive():
            return _of_allowed_values(verdict)
        case ReadingChanged(question, was, now):
            return f"follows {_named(now)}, and {_named(was)} is pinned (question {question})"
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
            return ": ".join(filter(None, (cause, sentence(main_reason(stderr, cause)))))
        case ver.TimedOut(seconds):
            return f"no answer within {seconds:g} s"
        case _:
            assert_never(verdict)


def _named(reading: str) -> str:
    return "the text's first answer" if reading == "primary" else reading


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
            also = (f"follows {Combination(verdict.readings)}",) if verdict.readings else ()
            return ", ".join((_untested(verdict), *also, *verdict.notes))
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
        return f"{counted(verdict.steps, 'step')} of the type, and nothing is allowed"
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
        return f"it {'gives the same answer' if same else 'is wrong too'} if it is asked alone in a fresh process"
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


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number with what it counts: `1 case`, `1,024 cases`; `several` is the plural if it is irregular."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def capitalised(text: str) -> str:
    """Return a sentence with a capital letter."""
    return text[:1].upper() + text[1:]


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


def no_output(assessment: Assessment) -> str:
    """Return that no output was computed that could be compared with the text; empty if there was one."""
    if assessment.computes:
        return ""
    answered = any(isinstance(record.verdict, ver.AcceptedInvalid) for record in assessment.run.records)
    return f"no output {'of a valid call ' if answered else ''}was computed"


def _bracketed(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)

"""What a runtime has to change so that it conforms, in a sentence: the end of a diagnosis."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, assert_never

from tconv.records.headers import cases_option
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.learning import Lesson
    from tconv.records.record import Record


def remedy(
    record: Record,
    remaining: Sequence[str],
    meanings: Mapping[str, str],
    lesson: Lesson | None,
    backend: Sequence[str] = (),
    cases: str = "",
) -> str:
    """Return what to change.

    Args:
        record: the record of the case.
        remaining: the misreadings that still explain it.
        meanings: what the runtime does, by the misreading's name.
        lesson: the rule that the runtime follows, where one was learnt.
        backend: the words that name the backend on the command line; empty for the backend's own name.
        cases: the value of --cases; empty for tconv's own corpus.
    """
    if lesson is not None:
        rules = [
            f"compute {rule.quantity} as {rule.expected}, not as {rule.formula}"
            if rule.expected
            else f"do not compute {rule.quantity} as {rule.formula}"
            for rule in lesson.rules
        ]
        return f"change this: {lesson.condition}, {'; '.join(rules)}"
    if remaining:
        does = " or ".join(meanings.get(name, name) for name in remaining)
        # Of one case it is not known on which other calls the runtime does so.
        return f"change this for calls like this one, as the text does not say it: {does}"
    return _of_kind(record, backend, cases)


def _of_kind(record: Record, backend: Sequence[str], cases: str) -> str:
    """Return what to change where nothing explains the output, or there is none."""
    verdict = record.verdict
    match verdict:
        case ver.Agreed() | ver.Disputed() | ver.Mistrusted():
            return _of_allowed_values(verdict)
        case ver.Differed() | ver.ExceedsSummationBound() | ver.WrongShape():
            smaller = _command("shrink", record, backend or ("--backend", record.backend), cases)
            return f"what to change is not known: nothing explains this output; a smaller case may: {smaller}"
        case ver.WrongDtype(expected, actual):
            return f"change this: the output must be {expected}, not {actual}"
        case ver.RefusedValid():
            shown = _command("show", record, (), cases)
            return f"change this: the call is valid, so answer it, with the values of: {shown}"
        case ver.AcceptedInvalid(constraint):
            return f"change this: the call breaks {constraint}, so refuse it"
        case ver.Unsupported():
            return "implement the call; until then nothing is computed that could be judged"
        case ver.Inexpressible():
            return "ask in another dialect, which can say the case"
        case ver.Died() | ver.TimedOut() | ver.Unstable() | ver.Broke():
            return _of_no_answer(verdict)
        case _:
            assert_never(verdict)


def _of_allowed_values(verdict: ver.Allowed | ver.Mistrusted) -> str:
    """Return what to change where the text allows the values."""
    match verdict:
        case ver.Agreed():
            return "change nothing: this is what the text says; if it failed in a run, earlier calls or chance decide"
        case ver.Disputed():
            allowed = " or ".join(verdict.choices)
            # One case shows one answer: whether all cases have it is known by a run alone.
            return (
                f"nothing has to change here, as the text allows {allowed} too; other cases of a run may contradict it"
            )
        case ver.Mistrusted():
            return "nothing is shown yet: run the same case on integers, where zeros would not pass"
        case _:
            assert_never(verdict)


def _of_no_answer(verdict: ver.Died | ver.TimedOut | ver.Unstable | ver.Broke) -> str:
    """Return what to change where a call has no answer, or not always the same one."""
    match verdict:
        case ver.Died():
            return "change this: answer the call or refuse it, in a process that lives on"
        case ver.TimedOut():
            return "change this: answer the call or refuse it, in less time"
        case ver.Unstable():
            return "change this: the same question must always have the same answer"
        case ver.Broke():
            return (
                "change this in the backend: return Produced(array), or Refused(message) where the runtime refuses the "
                "call; a runner replies with ok or refused"
            )
        case _:
            assert_never(verdict)


def _command(name: str, record: Record, backend: Sequence[str], cases: str) -> str:
    words = ["tconv", name, record.case, *backend, "--dialect", record.dialect]
    return shlex.join([*words, *cases_option(cases)])

"""What a runtime must change to conform, in a sentence: the end of a diagnosis."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tconv.records.headers import cases_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.evidence import Rule
    from tconv.records.record import Record


_UNKNOWN = "what to change is not known: nothing explains this output; a smaller case may: {shrink}"
_CHANGES = {
    "agreed": "change nothing: this is what the text says; if it failed in a run, earlier calls or chance decide",
    # One case shows one answer; only a run shows whether all cases have it.
    "disputed": "nothing has to change here, as the text allows {allowed} too; other cases of a run may contradict it",
    "inconclusive": "nothing is shown yet: run the same case on integers, where zeros would not pass",
    "differed": _UNKNOWN,
    "imprecise": _UNKNOWN,
    "wrong-shape": _UNKNOWN,
    "wrong-dtype": "change this: the output must be {verdict.expected}, not {verdict.actual}",
    "refused-valid": "change this: the call is valid, so answer it, with the values of: {show}",
    "accepted-invalid": "change this: the call breaks {verdict.constraint}, so refuse it",
    "unsupported": "implement the call; until then nothing is computed that could be judged",
    "not-applicable": "ask in another dialect, which can say the case",
    "crashed": "change this: answer the call or refuse it, in a process that lives on",
    "timed-out": "change this: answer the call or refuse it, in less time",
    "unstable": "change this: the same question must always have the same answer",
    "backend-error": "change this in the backend: return Produced(array), or Refused(message) if the runtime refuses "
    "the call; a runner replies with ok or refused",
}
"""What to change if nothing explains the output, or if there is no output, for each kind of verdict."""


def remedy(
    record: Record,
    remaining: Sequence[str],
    meanings: Mapping[str, str],
    rules: Sequence[Rule],
    backend: Sequence[str] = (),
    cases: str = "",
) -> str:
    """Return what to change.

    Args:
        record: the record of the case.
        remaining: the misreadings that still explain it.
        meanings: what the runtime does, by the name of the misreading.
        rules: the rules that the runtime follows; empty if none were learnt.
        backend: the words that name the backend on the command line; empty for the backend's own name.
        cases: the value of --cases; empty for tconv's own corpus.
    """
    if rules:
        changes = [
            f"compute {rule.quantity} as {rule.expected}, not as {rule.formula}"
            if rule.expected
            else f"do not compute {rule.quantity} as {rule.formula}"
            for rule in rules
        ]
        return f"change this for calls of this padding mode: {'; '.join(changes)}"
    if remaining:
        does = " or ".join(meanings.get(name, name) for name in remaining)
        # A single case does not show for which other calls the runtime does the same.
        return f"change this for calls like this one, as the text does not say it: {does}"
    return _of_kind(record, backend, cases)


def _of_kind(record: Record, backend: Sequence[str], cases: str) -> str:
    """Return what to change if nothing explains the output, or if there is no output."""
    return _CHANGES[record.verdict.kind].format(
        verdict=record.verdict,
        allowed=" or ".join(getattr(record.verdict, "choices", ())),
        shrink=_command("shrink", record, backend or ("--backend", record.backend), cases),
        show=_command("show", record, (), cases),
    )


def _command(name: str, record: Record, backend: Sequence[str], cases: str) -> str:
    words = ["tconv", name, record.case, *backend, "--dialect", record.dialect]
    return shlex.join([*words, *cases_option(cases)])

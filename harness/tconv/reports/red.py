"""Why a run is red, in sentences, the same in all reports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, assert_never

from tconv.gate import reasons
from tconv.gate.status import Status
from tconv.reports.phrases import counted, no_output
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs.comparing import Comparison


class BecameWorse(NamedTuple):
    """Cases became worse since a baseline."""

    comparison: Comparison


Reason = reasons.Reason | BecameWorse
"""Why a run is red: a reason of the gate, or of a comparison."""


def name_of(reason: Reason) -> str:
    """Return the word for a kind of reason, for scripts: `CasesFailed` is `cases-failed`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", type(reason).__name__).lower()


def sentence(reason: Reason, assessment: Assessment) -> str:
    """Return the sentence of a reason."""
    match reason:
        case BecameWorse(comparison):
            return f"since {comparison.old.assessment.run.path}, {comparison.sentence}"
        case reasons.CasesFailed(count):
            return f"{counted(count, 'case')} failed without a waiver"
        case reasons.CasesUndeclared(count):
            remedy = "declare them: tconv waivers propose RECORDS --output FILE"
            return f"{counted(count, 'case is', 'cases are')} unsupported, and not declared so; {remedy}"
        case reasons.RecordsMissing() | reasons.OtherCorpus() | reasons.ShardsMissing():
            return _of_records(reason)
        case reasons.WaiverStale() | reasons.WaiverInvalid() | reasons.PinStale():
            return _of_entries(reason)
        case reasons.ZerosPass(dtype=dtype, cases=count, twin=twin):
            cases = f"{counted(count, 'case')} of {dtype} would pass as zeros too"
            if twin:
                return f"{cases}, and the same on integers does not agree exactly, such as {twin}"
            return f"{cases}, and no case of {dtype} agrees exactly; run cases on integers of it, too"
        case reasons.NothingShown(is_judged):
            if not is_judged:
                return "no case was judged: a run must have a case that the dialect can say and the backend implements"
            must = "a run of all cases must have an output that passes, is disputed or is waived"
            return f"{no_output(assessment)}: {must}, as refusals alone show nothing"
        case _:
            assert_never(reason)


def _of_entries(reason: reasons.WaiverStale | reasons.WaiverInvalid | reasons.PinStale) -> str:
    match reason:
        case reasons.WaiverStale(waiver):
            return f"waiver {waiver.name!r} is stale: its example {waiver.example!r} {_now(reason)}"
        case reasons.WaiverInvalid(waiver, is_case):
            why = "does not match its own pattern" if is_case else "is no case of this corpus"
            return f"waiver {waiver.name!r} is invalid: its example {waiver.example!r} {why}; correct it"
        case reasons.PinStale(pin):
            return f"pin '{pin}' is stale: no case of the run that it covers has an answer to its question; remove it"
        case _:
            assert_never(reason)


def _of_records(reason: reasons.OfRecords) -> str:
    match reason:
        case reasons.RecordsMissing(cases, records):
            return f"{cases} cases must have a record (got {records}); resume the run"
        case reasons.OtherCorpus(digest, recorded, path):
            named = f"name its cases with --cases {path}, or " if path else ""
            return f"the records must be of this corpus, {digest} (got {recorded}); {named}run it again"
        case reasons.ShardsMissing(of, missing):
            numbers = ", ".join(map(str, missing))
            return f"all {of} shards must be there (missing: {numbers}); give the records of every shard"
        case _:
            assert_never(reason)


def _now(stale: reasons.WaiverStale) -> str:
    """Return the result of a stale waiver's example, and the remedy."""
    if stale.example.status is Status.PASSED:
        return "ran and agrees now; remove it"
    ruling = stale.example.ruling
    if isinstance(ruling, ver.Disputed):
        readings = " or ".join(ruling.choices)
        return f"is no failure without it, as {readings} says; take an example that no reading explains, or remove it"
    return "ran and does not deviate as it says; remove it"

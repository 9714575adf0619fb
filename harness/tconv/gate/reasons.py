"""Why the gate is red beyond the cases that failed, in sentences."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tconv.gate.status import Status
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import Waiver
    from tconv.records.record_file import Run

_REAL = re.compile(r"(?<=[\[,]data=)(normal|wide|wide-full|all-bits)(?=[\],])")


def other_reasons(assessment: Assessment) -> Iterator[str]:
    """Yield why the gate is red, beyond the cases that failed."""
    yield from assessment.incomplete
    yield from _of_waivers(assessment)
    yield from _of_pins(assessment)
    # What only other cases can show is for those who have all shards.
    if not assessment.run.header.shard:
        yield from _untrusted(assessment.statuses, assessment.facts)
        yield from _of_nothing_shown(assessment)


def _of_waivers(assessment: Assessment) -> Iterator[str]:
    for waiver in assessment.stale:
        yield f"waiver {waiver.name!r} is stale: its example {waiver.example!r} {_now(waiver, assessment)}"
    for waiver in assessment.void:
        yield f"waiver {waiver.name!r} is void: its example {waiver.example!r} is no case that it covers; correct it"
    for waiver in assessment.unknown:
        yield f"waiver {waiver.name!r} is void: its example {waiver.example!r} is no case of this corpus; correct it"


def _of_pins(assessment: Assessment) -> Iterator[str]:
    for pin in assessment.stale_pins:
        yield f"pin '{pin}' is stale: no case of the run that it covers has an answer to its question; remove it"


def _now(stale: Waiver, assessment: Assessment) -> str:
    """Return what a stale waiver's example does, and the remedy."""
    example = next(member for member in assessment.statuses if member.record.case == stale.example)
    if example.status is Status.PASSED:
        return "ran and agrees now; remove it"
    verdict = example.record.verdict
    if isinstance(verdict, ver.Disputed):
        readings = " or ".join(verdict.choices)
        return f"is no failure without it, as {readings} says; take an example that no reading explains, or remove it"
    return "ran and does not deviate as it says; remove it"


def no_output(assessment: Assessment) -> str:
    """Return that no output was computed that could be compared with the text; empty if one was."""
    if assessment.computes:
        return ""
    answered = any(isinstance(member.record.verdict, ver.AcceptedInvalid) for member in assessment.statuses)
    return f"no output {'of a valid call ' if answered else ''}was computed"


def _of_nothing_shown(assessment: Assessment) -> Iterator[str]:
    """Yield why a run shows nothing: nothing was judged, or all of a tier was judged and no output was computed.

    Who chooses cases by a pattern may choose those that must be refused. A failure is reason enough.
    """
    if not assessment.judged:
        yield "no case was judged: a run must have a case that the dialect can say and the backend implements"
    elif not (assessment.computes or assessment.run.header.patterns or assessment.counts[Status.FAILED]):
        yield (
            f"{no_output(assessment)}: a run of all cases must have an output that passes, is disputed or is waived, "
            "as refusals alone show nothing"
        )


def incomplete(run: Run, digest: str | None) -> Iterator[str]:
    """Yield why the records are not what their header promises."""
    if len(run.records) != run.header.cases:
        yield f"{run.header.cases} cases must have a record (got {len(run.records)}); resume the run"
    if digest is not None and run.header.corpus != digest:
        named = f"name its cases with --cases {run.header.path}, or " if run.header.path else ""
        yield f"the records must be of this corpus, {digest} (got {run.header.corpus}); {named}run it again"


def _untrusted(members: Sequence[RecordStatus], facts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield why mistrusted values are red, a reason for each element type, where nothing shows that they are computed.

    The same call on integers must agree exactly where the run has it: sums of few products show nothing of sums of
    many. Where the run has no such case, another case of the type must.

    Args:
        members: the records with their statuses.
        facts: the facts of their cases, by id.
    """
    mistrusted = [member.record.case for member in members if member.status is Status.MISTRUSTED]
    if not mistrusted:
        return
    cases = {member.record.case for member in members}
    verdicts = {member.record.case: member.record.verdict for member in members}
    exact = {case for case, verdict in verdicts.items() if _is_exact(verdict)}
    types = {_type(case, facts) for case in exact}
    alone = [case for case in mistrusted if _integer_twin(case) not in cases]
    for dtype, count in Counter(_type(case, facts) for case in alone).items():
        if dtype not in types:
            yield (f"{_cases(count, dtype)}, and no case of {dtype} agrees exactly; run cases on integers of it, too")
    beside = [case for case in mistrusted if _integer_twin(case) in cases - exact]
    for dtype, count in Counter(_type(case, facts) for case in beside).items():
        first = _integer_twin(next(case for case in beside if _type(case, facts) == dtype))
        yield f"{_cases(count, dtype)}, and the same on integers does not agree exactly, such as {first}"


def _is_exact(verdict: ver.Verdict) -> bool:
    """Return whether values are exactly those of the text, in whichever of its readings."""
    return isinstance(verdict, ver.Allowed) and verdict.rule == "exact"


def _integer_twin(case: str) -> str | None:
    """Return the id of the same case on integers; None where the id does not say what its data are."""
    twin, count = _REAL.subn("integers", case)
    return twin if count else None


def _cases(count: int, dtype: str) -> str:
    return f"{count} {'case' if count == 1 else 'cases'} of {dtype} would pass as zeros too"


def _type(case: str, facts: Mapping[str, Mapping[str, str]]) -> str:
    return facts.get(case, {}).get("dtype", "an unknown type")

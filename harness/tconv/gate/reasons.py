"""Why the gate is red beyond the cases that failed, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.gate.status import Status
from tconv.gate.trust import untrusted
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import Waiver


def other_reasons(assessment: Assessment) -> Iterator[str]:
    """Yield why the gate is red, beyond the cases that failed."""
    yield from assessment.incomplete
    yield from _of_waivers(assessment)
    if assessment.harmed:
        first, count = assessment.harmed[0], len(assessment.harmed)
        where = "a case that does not die alone," if count == 1 else f"{count} cases that do not die alone, such as"
        yield (
            f"a process died in {where} {first.case} "
            f"({first.harmed}): some earlier case has harmed it, and no waiver says which; {_suspected(assessment)}"
        )
    # What only other cases can show is for those who have all shards.
    if not assessment.run.header.shard:
        yield from untrusted(assessment.statuses, assessment.facts)
        if not _shows_something(assessment):
            yield "not one case passed, or had the values of another reading, so nothing was shown"


def _suspected(assessment: Assessment) -> str:
    """Return which cases may have harmed the first process: no waiver could know of one that passed."""
    passed = {member.record.case for member in assessment.statuses if member.status is Status.PASSED}
    others = [case for case in assessment.harmed[0].earlier if case not in passed]
    if not others:
        return "of the cases that it was asked before none is known to deviate"
    return f"of those that it was asked before {len(others)} did not pass, the last of them {others[-1]}"


def _of_waivers(assessment: Assessment) -> Iterator[str]:
    for waiver in assessment.stale:
        yield f"waiver {waiver.name!r} is stale: its example {waiver.example!r} {_now(waiver, assessment)}"
    for waiver in assessment.void:
        yield f"waiver {waiver.name!r} is void: its example {waiver.example!r} is no case that it covers; correct it"
    for waiver in assessment.unknown:
        yield f"waiver {waiver.name!r} is void: its example {waiver.example!r} is no case of this corpus; correct it"


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


def _shows_something(assessment: Assessment) -> bool:
    """Return whether a case passed, failed, or has the values of another reading; a refusal may have any reason."""
    verdicts = (member.record.verdict for member in assessment.statuses)
    values = any(isinstance(verdict, ver.Disputed) and verdict.rule in ver.VALUE_RULES for verdict in verdicts)
    return bool(assessment.counts[Status.PASSED] or assessment.counts[Status.FAILED] or values)

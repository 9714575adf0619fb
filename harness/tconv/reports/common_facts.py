"""What the cases of a cause have in common, as facts that hardly a case has which agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.gate.status import AGREEING, Status
from tconv.learning import shared_facts
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.learning import Shared
    from tconv.records.record import Record


def common_facts(members: Sequence[RecordStatus], assessment: Assessment) -> Shared | None:
    """Return what the cases of a group have in common, and cases that agree have not."""
    if len(members) < 2:  # noqa: PLR2004 - what they share
        return None
    refused = {member.record.verdict.kind for member in members} == {"refused-valid"}
    own, statuses = {member.record.case for member in members}, assessment.statuses
    # Who is owed a refusal, and refuses, says nothing of why others are refused.
    others = [
        number
        for number, other in enumerate(statuses)
        if other.status in AGREEING and not (refused and _is_refusal(other.record))
    ]
    apart = [
        number
        for number, other in enumerate(statuses)
        if other.status is Status.FAILED and other.record.case not in own
    ]
    facts, columns = [assessment.facts[member.record.case] for member in members], assessment.fact_columns
    return shared_facts(facts, columns.chosen(others), columns.chosen(apart))


def _is_refusal(record: Record) -> bool:
    return isinstance(record.verdict, ver.Allowed) and record.verdict.rule == "refusal"

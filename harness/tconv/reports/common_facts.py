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
    refused = {member.record.verdict.kind for member in members} == {"refused-valid"}
    agreeing = [other.record for other in assessment.statuses if other.status in AGREEING]
    # Who is owed a refusal, and refuses, says nothing of why others are refused.
    others = [assessment.facts[record.case] for record in agreeing if not (refused and _is_refusal(record))]
    own = [member.record.case for member in members]
    apart = {other.record.case for other in assessment.statuses if other.status is Status.FAILED}.difference(own)
    # Where agreement is only counted, in cells, there are others of which nothing is known.
    if len(members) < 2 or assessment.run.cells:  # noqa: PLR2004 - what they share
        return None
    facts, facts_apart = ([assessment.facts[case] for case in cases] for cases in (own, sorted(apart)))
    return shared_facts(facts, others, facts_apart)


def _is_refusal(record: Record) -> bool:
    return isinstance(record.verdict, ver.Allowed) and record.verdict.rule == "refusal"

"""The records of one status in groups, each with one cause: a rule, a name, or the words and the calls in common.

What calls have in common are facts that hardly a case has which agrees.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.diagnosis import single_explanations
from tconv.gate.status import AGREEING, FAILING, Status, find_group
from tconv.learning import UNANSWERED, Lesson, shared_facts
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.dialects.readings import Combination
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import GroupKey, RecordStatus
    from tconv.learning import Shared, Symptom, Unanswered

NOT_ASKED_GROUP = ("not-asked-again",)
"""The key of failures whose answers may vary, as those of others do that were asked again."""


@dataclass(frozen=True, slots=True)
class Group:
    """Records with one cause.

    Attributes:
        key: what makes records those of this group, also in another run.
        members: the records with their statuses.
        learnt: the rule or the symptom of failures, where one was learnt.
        explained: the misreadings that explain failures together; None if none does.
        unanswered: the condition on calls without an answer, where only some calls with these words meet it.
    """

    key: GroupKey
    members: tuple[RecordStatus, ...]
    learnt: Lesson | Symptom | None = None
    explained: Combination | None = None
    unanswered: Unanswered | None = None


def grouped(assessment: Assessment, status: Status) -> list[Group]:
    """Return the records of a status in groups, in the order of their first records."""
    members = [member for member in assessment.statuses if member.status is status]
    if status not in FAILING:
        return [Group(key, tuple(group)) for key, group in _by_key(members, assessment, {}, {}).items()]
    learnt = _learnt_of(assessment)
    rest = [member for member in members if member.record.case not in learnt]
    explained = single_explanations({member.record.case: member.why.explained for member in rest})
    explained |= {case: name for name, misread in assessment.explained.misread.items() for case in misread.cases}
    groups = _by_key(members, assessment, learnt, explained)
    return [part for key, group in groups.items() for part in _parts(_group(key, group, learnt, explained), assessment)]


def _group(
    key: GroupKey,
    members: Sequence[RecordStatus],
    learnt: Mapping[str, Lesson | Symptom],
    explained: Mapping[str, Combination],
) -> Group:
    first = members[0]
    if first.is_spoilt:
        return Group(key, tuple(members))
    rule = learnt.get(first.record.case)
    return Group(key, tuple(members), rule, None if rule else explained.get(first.record.case))


def _by_key(
    members: Sequence[RecordStatus],
    assessment: Assessment,
    learnt: Mapping[str, Lesson | Symptom],
    explained: Mapping[str, Combination],
) -> dict[GroupKey, list[RecordStatus]]:
    """Return records by the key of their group.

    Args:
        members: the records with their statuses.
        assessment: the run.
        learnt: the rule or the symptom of failures.
        explained: the misreadings that explain failures.
    """
    groups: dict[GroupKey, list[RecordStatus]] = defaultdict(list)
    for member in members:
        case = member.record.case
        if member.is_spoilt:
            groups[NOT_ASKED_GROUP].append(member)
        elif rule := learnt.get(case):
            groups[_key(rule)].append(member)
        else:
            groups[_own_key(member, explained.get(case), invalid=assessment.is_invalid(case))].append(member)
    return groups


def _learnt_of(assessment: Assessment) -> dict[str, Lesson | Symptom]:
    """Return what was learnt of each failure: a rule, or else a symptom."""
    symptoms = {case: symptom for symptom in assessment.explained.symptoms for case in symptom.cases}
    return symptoms | {case: lesson for lesson in assessment.explained.learnt for case in lesson.cases}


def _key(learnt: Lesson | Symptom) -> GroupKey:
    if isinstance(learnt, Lesson):
        return ("learnt", learnt.situations, learnt.rules, learnt.where and learnt.where.key)
    return ("symptom", learnt.relation, learnt.condition and learnt.condition.terms)


def _own_key(member: RecordStatus, explained: Combination | None, *, invalid: bool) -> GroupKey:
    """Return what records of a cause that was not learnt have in common.

    For failures it is the explanation, else the words without their numbers, else the sweep; and whether the call is
    invalid.
    """
    if member.waiver is not None:
        return ("waiver", member.waiver.name)
    if member.status is Status.INCONCLUSIVE:
        return (member.status,)
    if member.status not in {*FAILING, Status.DISPUTED}:
        return (member.status, member.ruling)
    return find_group(member, explained, invalid=invalid)


def _parts(group: Group, assessment: Assessment) -> Iterator[Group]:
    """Yield a group of failures, or its parts where the calls have no answer and share no facts.

    A runtime may say the same words for several reasons, so that no fact holds for all of them.
    """
    members = group.members
    unanswered = assessment.explained.unanswered
    if unanswered is None or not all(isinstance(member.ruling, UNANSWERED) for member in members):
        yield group
        return
    shared = common_facts(members, assessment)
    parts = () if shared and shared.holds_alone(len(members)) else unanswered.parts(_cases(members))
    for part in parts:
        inside = _inside(part, members, assessment)
        if inside:
            yield Group((*group.key, "where", part.condition.terms), tuple(inside), unanswered=part)
        cases = set(_cases(inside))
        members = tuple(member for member in members if member.record.case not in cases)
    if members:
        yield replace(group, members=members)


def _inside(part: Unanswered, members: Sequence[RecordStatus], assessment: Assessment) -> list[RecordStatus]:
    """Return the members of a part; where these share facts, others with the same facts too.

    Invalid calls have no features that a condition could be on, but they have facts. If only such calls are left beside
    a part, its condition holds for all of which that can be known, and the runtime says the same words of all.
    """
    inside = [member for member in members if member.record.case in part.cases]
    unanswered = assessment.explained.unanswered
    if unanswered and not any(unanswered.can_meet(case) for case in _cases(members) if case not in part.cases):
        return list(members)
    shared = common_facts(inside, assessment)
    if shared is None or not shared.holds_alone(len(inside)):
        return inside
    return [member for member in members if shared.holds(assessment.facts[member.record.case])]


def _cases(members: Sequence[RecordStatus]) -> list[str]:
    return [member.record.case for member in members]


def common_facts(members: Sequence[RecordStatus], assessment: Assessment) -> Shared | None:
    """Return what the cases of a group have in common, and cases that agree have not."""
    if len(members) < 2:  # noqa: PLR2004 - what they share
        return None
    refused = {member.ruling.kind for member in members} == {"refused-valid"}
    own, statuses = {member.record.case for member in members}, assessment.statuses
    # Of whom a refusal is expected, and refuses, says nothing of why others are refused.
    others = [
        number
        for number, other in enumerate(statuses)
        if other.status in AGREEING and not (refused and _is_refusal(other))
    ]
    apart = [
        number for number, other in enumerate(statuses) if other.status in FAILING and other.record.case not in own
    ]
    facts, columns = [assessment.facts[member.record.case] for member in members], assessment.fact_columns
    return shared_facts(facts, columns.chosen(others), columns.chosen(apart))


def _is_refusal(member: RecordStatus) -> bool:
    return isinstance(member.ruling, ver.Allowed) and member.ruling.rule == "refusal"

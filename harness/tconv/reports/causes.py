"""The records of one status grouped by cause, one line for each cause, the same on the terminal and on the page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.diagnosis import single_explanations
from tconv.gate.status import FAILING, SEVERITY, Status, choose_example, is_of_invalid, sweep_of
from tconv.learning import Lesson, Symptom
from tconv.reports.example_phrases import example_phrases
from tconv.reports.groups import NOT_ASKED_GROUP, Group, common_facts, grouped
from tconv.reports.phrases import NOT_ASKED, fresh_process_phrase, headline
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tconv.dialects.readings import Combination
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import GroupKey, RecordStatus
    from tconv.learning import Shared, Unanswered

_NAMED = 0.2
"""The part of a symptom's cases that a misreading gives, so that its name stands beside it."""
_NEARLY = 0.9
"""The part of the cases of a line that its condition holds for at least."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Records with a common cause.

    Attributes:
        status: their status.
        what: the waiver, the reading, the learnt rule, or the failure with the phrase of its example.
        example: the id of the case that stands for it.
        members: the records with their statuses.
        common: of failures that have neither a rule nor a name, the facts that their cases share.
        lesson: the rule that they follow, where one was learnt.
        symptom: what they have in common, where they follow no rule.
        group: what makes records those of this cause, also in another run.
        explained: the misreadings that explain failures together; None if none does.
        line: `what` without what the cases share.
        unanswered: of calls without an answer that share no facts, the condition on them, where there is one.
        where: of a misreading that is made on some calls only, the condition on these calls; empty for all calls.
    """

    status: Status
    what: str
    example: str
    members: tuple[RecordStatus, ...]
    common: Shared | None = None
    lesson: Lesson | None = None
    symptom: Symptom | None = None
    unanswered: Unanswered | None = None
    group: GroupKey = ()
    explained: Combination | None = None
    line: str = ""
    where: str = ""

    @property
    def count(self) -> int:
        """The number of records."""
        return len(self.members)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of verdict of its records."""
        return tuple(sorted({member.ruling.kind for member in self.members}))

    @property
    def varies(self) -> bool:
        """Whether its answers depend on earlier calls, or on chance, or may do so: alone a case need not show them."""
        return not self.asked_again or any(member.record.varies for member in self.members)

    @property
    def asked_again(self) -> bool:
        """Whether more is known of its answers than that others like them vary."""
        return self.group != NOT_ASKED_GROUP


def find_causes(assessment: Assessment, status: Status) -> list[Cause]:
    """Return the causes of the records of a status, the most severe first, and of those the largest.

    At last come failures of which nothing is known, as answers vary.
    """
    groups = grouped(assessment, status)
    groups.sort(key=_place)
    phrases = example_phrases({group.key: group.members for group in groups})
    return [_cause(group, assessment, phrases[group.key]) for group in groups]


def _place(group: Group) -> tuple[bool, int, int, str]:
    """Return what decides where the cause of a group stands: how severe it is, and then how many cases have it."""
    kinds = {member.ruling.kind for member in group.members}
    return group.key == NOT_ASKED_GROUP, rank_severity(kinds), -len(group.members), group.members[0].record.case


def rank_severity(kinds: Iterable[str]) -> int:
    """Return the place of the most severe of some kinds of ruling, from 0 for the most severe of all."""
    return min((SEVERITY.index(kind) for kind in kinds if kind in SEVERITY), default=len(SEVERITY))


def _cause(group: Group, assessment: Assessment, phrase: str) -> Cause:
    """Return the cause of a group of records with one status; `phrase` is that of its example."""
    shown = choose_example(group.members, group.key)
    cause = Cause(shown.status, "", shown.record.case, group.members, group=group.key)
    if shown.status in FAILING:
        return _failure_cause(cause, group, shown, assessment, phrase)
    line = phrase if shown.status is Status.DISPUTED else _known(shown)
    return replace(cause, what=line, line=line)


def _known(shown: RecordStatus) -> str:
    """Return the line of records that neither failed nor follow another reading."""
    if shown.waiver is not None:
        return f"{shown.waiver.name}: {shown.waiver.because}"
    return STATUSES[shown.status].total if shown.status is Status.INCONCLUSIVE else headline(shown.ruling)


def _failure_cause(cause: Cause, group: Group, shown: RecordStatus, assessment: Assessment, phrase: str) -> Cause:
    """Return the cause of failures with its line, and what the line ends with.

    Args:
        cause: the cause without a line.
        group: its group.
        shown: its example.
        assessment: the run.
        phrase: the phrase of the example.
    """
    members = cause.members
    match group.learnt:
        case Lesson() as lesson:
            line = _learnt(lesson, members)
            return replace(cause, what=line, line=line, lesson=lesson)
        case Symptom() as symptom:
            what, line = _of_symptom(symptom, members, assessment, phrase)
            return replace(cause, what=what, line=line, common=common_facts(members, assessment), symptom=symptom)
    if group.key == NOT_ASKED_GROUP:
        where = _where_varying(members, assessment)
        line = f"{_kinds(members)}{where}{';' if where else ','} and {NOT_ASKED}"
        return replace(cause, what=line, line=line)
    if (explained := group.explained) is not None:
        return _explained_cause(replace(cause, explained=explained), explained, shown, assessment, phrase)
    if shown.record.varies:
        where = _where_varying(members, assessment)
        beginning = f"{shown.ruling.kind} {fresh_process_phrase(shown.record)}{where}"
        line = f"{beginning}; for example {phrase}" if where else f"{beginning}: {phrase}"
        return replace(cause, what=line, line=line)
    common = common_facts(members, assessment)
    line = _failed(cause, shown, phrase)
    if group.unanswered is not None and not (common and common.holds_alone(len(members))):
        what = f"{line}; where {group.unanswered.condition}: {group.unanswered.evidence}"
        return replace(cause, what=what, line=line, common=common, unanswered=group.unanswered)
    shares = f"; all {len(members)} are {common}, and {_that_agree(common.others)}" if common else ""
    return replace(cause, what=line + shares, line=line, common=common)


def _explained_cause(
    cause: Cause, explained: Combination, shown: RecordStatus, assessment: Assessment, phrase: str
) -> Cause:
    """Return the cause of failures that a misreading explains, with the condition under which it is made, if any."""
    misread = assessment.explained.misread.get(explained)
    where = str(misread.condition) if misread else ""
    line = _failed(cause, shown, phrase, f" as if {explained}{f' where {where}' if where else ''}")
    exceptions = f"; {misread.exceptions}" if misread and misread.exceptions else ""
    doubt = exceptions or _doubt(explained, assessment)
    return replace(cause, what=line + doubt, line=line, where=where)


def _where_varying(members: Sequence[RecordStatus], assessment: Assessment) -> str:
    """Return where failures are whose answers vary, with how many answers there are wrong; empty where nobody knows."""
    varying = assessment.explained.varying
    if varying is None or sum(member.record.case in varying.cases for member in members) < _NEARLY * len(members):
        return ""
    return f" where {varying.condition}: {varying.condition.evidence}"


def _that_agree(count: int) -> str:
    return f"{count} that agree" if count > 1 else f"{count or 'none'} that agrees"


def _doubt(explained: Combination, assessment: Assessment) -> str:
    """Return what speaks against the name of a group."""
    denied = assessment.explained.denied.get(explained, 0)
    return f"; {denied} siblings that agree deny it, so it only fits these" if denied else ""


def _learnt(lesson: Lesson, members: Sequence[RecordStatus]) -> str:
    """Return the line of failures that follow a rule: their kinds, the rule, and the name that all of them have.

    Where the rule holds in some calls alone, a name without its condition would say too much.
    """
    names = single_explanations({member.record.case: member.why.explained for member in members})
    usual = Counter(map(str, names.values())).most_common(1)
    all_named = usual and usual[0][1] == len(members) and not lesson.of_some
    known = f" (known as {usual[0][0]})" if all_named else ""
    return f"{_kinds(members)}: {lesson}{known}"


def _of_symptom(
    symptom: Symptom, members: Sequence[RecordStatus], assessment: Assessment, phrase: str
) -> tuple[str, str]:
    """Return the line of failures with something in common, and that line without what their calls have in common."""
    names = Counter(single_explanations({member.record.case: member.why.explained for member in members}).values())
    usual = [(name, count) for name, count in names.most_common(1) if name not in assessment.explained.denied]
    words = symptom.wrong_elements or f"for example {phrase}"
    words += "".join(f"; {count} of them as if {name}" for name, count in usual if count >= _NAMED * len(members))
    kinds = _kinds(members)
    if symptom.condition is None:
        return f"{kinds}: {words}", f"{kinds}: {words}"
    if not symptom.condition.terms:
        return f"{kinds} nearly everywhere: {symptom.evidence}; {words}", f"{kinds} nearly everywhere: {words}"
    return f"{kinds} where {symptom.condition}: {symptom.evidence}; {words}", f"{kinds}: {words}"


def _failed(cause: Cause, shown: RecordStatus, phrase: str, explained: str = "") -> str:
    """Return the line of failures: their kinds, what they have in common, and the phrase of the example."""
    sweep = "" if explained else sweep_of(cause.group)
    what = explained or (f" in {sweep}" if sweep else "")
    # The phrase of a wrong shape already has both shapes.
    words = shown.why.described
    described = f"; {words}" if words and shown.ruling.kind != "wrong-shape" else ""
    kinds = f"{_kinds(cause.members)}{' of invalid calls' if is_of_invalid(cause.group) else ''}{what}"
    # The reason of what is undeclared begins with its kind.
    plain = shown.status is Status.UNDECLARED and kinds == shown.ruling.kind
    return phrase if plain else f"{kinds}: {phrase}{described}"


def _kinds(members: Sequence[RecordStatus]) -> str:
    return " or ".join(sorted({member.ruling.kind for member in members}))

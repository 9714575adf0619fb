"""The records of one status grouped by cause, one line for each cause, the same on the terminal and on the page."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.diagnosis import single_explanations
from tconv.dialects.readings import Together
from tconv.gate.examples import example
from tconv.gate.status import AGREEING, Status
from tconv.gate.varying_answers import NOT_ASKED, may_vary
from tconv.learning import Lesson, Symptom, shared_facts
from tconv.records.failure import group_of
from tconv.reports.example_phrases import example_phrases
from tconv.reports.phrases import fresh_process_phrase, headline
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.learning import Shared
    from tconv.records.record import Record

_NAMED = 0.2
"""The part of a symptom's cases that a misreading gives, so that its name stands beside it."""
_NEARLY = 0.9
"""The part of the cases of a line that its condition holds for at least."""

_NOT_ASKED = (NOT_ASKED,)
"""The group of failures whose answers may vary, as those of others do that were asked again."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Records with a common cause.

    Attributes:
        what: the waiver, the reading, the learnt rule, or the failure with the phrase of its example.
        example: the id of the case that stands for it.
        members: the records with their statuses.
        common: of failures that have neither a rule nor a name, the facts that their cases share.
        lesson: the rule that they follow, where one was learnt.
        symptom: what they have in common, where they follow no rule.
        group: what makes records those of this cause, also in another run.
        line: `what` without what the cases share.
        where: of a misreading that is made on some calls only, the condition on these calls; empty for all calls.
    """

    what: str
    example: str
    members: tuple[RecordStatus, ...]
    common: Shared | None = None
    lesson: Lesson | None = None
    symptom: Symptom | None = None
    group: tuple[str, ...] = ()
    line: str = ""
    where: str = ""

    @property
    def count(self) -> int:
        """The number of records."""
        return len(self.members)

    @property
    def undeclared(self) -> bool:
        """Whether its cases are unsupported, and failed because nobody declared it."""
        return _undeclared(self.members)

    @property
    def varies(self) -> bool:
        """Whether its answers depend on earlier calls, or on chance, or may do so: alone a case need not show them."""
        return not self.asked_again or any(member.record.varies for member in self.members)

    @property
    def asked_again(self) -> bool:
        """Whether more is known of its answers than that others like them vary."""
        return self.group != _NOT_ASKED


def causes(assessment: Assessment, status: Status) -> list[Cause]:
    """Return the causes of the records of a status, the largest first.

    After these come undeclared cases, and at last failures of which nothing is known, as answers vary.
    """
    groups: dict[tuple[str, ...], list[RecordStatus]] = defaultdict(list)
    members = [member for member in assessment.statuses if member.status is status]
    learnt = _learnt_of(assessment) if status is Status.FAILED else {}
    rest = [member for member in members if member.record.case not in learnt]
    explained = single_explanations({member.record.case: member.record.diagnosis for member in rest})
    explained |= {case: name for name, misread in assessment.misread.items() for case in misread.cases}
    spoiled = status is Status.FAILED and assessment.answers_vary
    for member in members:
        rule = learnt.get(member.record.case)
        if spoiled and may_vary(member.record):
            groups[_NOT_ASKED].append(member)
        else:
            groups[_key(rule) if rule else _group(member, explained.get(member.record.case))].append(member)
    in_order = sorted(
        groups.items(), key=lambda item: (item[0] == _NOT_ASKED, _undeclared(item[1]), -len(item[1]), item[0])
    )
    phrases = example_phrases(groups)
    return [_cause(group, members, assessment, learnt, phrases[group]) for group, members in in_order]


def _undeclared(members: Iterable[RecordStatus]) -> bool:
    return all(member.undeclared for member in members)


def _learnt_of(assessment: Assessment) -> dict[str, Lesson | Symptom]:
    """Return what was learnt of each failure: a rule, or else a symptom."""
    symptoms = {case: symptom for symptom in assessment.symptoms for case in symptom.cases}
    return symptoms | {case: lesson for lesson in assessment.learnt for case in lesson.cases}


def _key(learnt: Lesson | Symptom) -> tuple[str, ...]:
    return ("learnt" if isinstance(learnt, Lesson) else "symptom", str(learnt))


def _cause(
    group: tuple[str, ...],
    members: list[RecordStatus],
    assessment: Assessment,
    learnt: Mapping[str, Lesson | Symptom],
    phrase: str,
) -> Cause:
    """Return the cause of a group of records with one status; `phrase` is that of its example."""
    shown = example(members, group)
    case = shown.record.case
    if shown.status is Status.FAILED:
        return _failure_cause(Cause("", case, tuple(members), group=group), shown, assessment, learnt.get(case), phrase)
    line = phrase if shown.status is Status.DISPUTED else group[0]
    return Cause(line, case, tuple(members), group=group, line=line)


def _failure_cause(
    cause: Cause, shown: RecordStatus, assessment: Assessment, learnt: Lesson | Symptom | None, phrase: str
) -> Cause:
    """Return the cause of failures with its line, and what the line ends with.

    Args:
        cause: the cause without a line.
        shown: its example.
        assessment: the run.
        learnt: the rule or the symptom of the failures, where there is one.
        phrase: the phrase of the example.
    """
    members = cause.members
    match learnt:
        case Lesson():
            line = _learnt(learnt, members)
            return replace(cause, what=line, line=line, lesson=learnt)
        case Symptom():
            what, line = _of_symptom(learnt, members, assessment, phrase)
            return replace(cause, what=what, line=line, common=common_facts(members, assessment), symptom=learnt)
    if cause.group == _NOT_ASKED:
        where = _where_varying(members, assessment)
        line = f"{_kinds(members)}{where}{';' if where else ','} and {NOT_ASKED}"
        return replace(cause, what=line, line=line)
    if cause.group[0] == "explained":
        return _explained_cause(cause, shown, assessment, phrase)
    if shown.record.varies:
        where = _where_varying(members, assessment)
        beginning = f"{shown.record.verdict.kind} {fresh_process_phrase(shown.record)}{where}"
        line = f"{beginning}; for example {phrase}" if where else f"{beginning}: {phrase}"
        return replace(cause, what=line, line=line)
    common = common_facts(members, assessment)
    shares = f"; all {len(members)} are {common}, and {_that_agree(common.others)}" if common else ""
    line = _failed(cause.group, members, shown, phrase)
    return replace(cause, what=line + shares, line=line, common=common)


def _explained_cause(cause: Cause, shown: RecordStatus, assessment: Assessment, phrase: str) -> Cause:
    """Return the cause of failures that a misreading explains, with the condition under which it is made, if any."""
    misread = assessment.misread.get(Together.parse(cause.group[-1]))
    where = str(misread.condition) if misread else ""
    line = _failed(cause.group, cause.members, shown, phrase, f" where {where}" if where else "")
    exceptions = f"; {misread.exceptions}" if misread and misread.exceptions else ""
    doubt = exceptions or _doubt(cause.group, assessment)
    return replace(cause, what=line + doubt, line=line, where=where)


def _where_varying(members: Sequence[RecordStatus], assessment: Assessment) -> str:
    """Return where failures are whose answers vary, with how many answers there are wrong; empty where nobody knows."""
    varying = assessment.varying
    if varying is None or sum(member.record.case in varying.cases for member in members) < _NEARLY * len(members):
        return ""
    return f" where {varying.condition}: {varying.condition.evidence}"


def _that_agree(count: int) -> str:
    return f"{count} that agree" if count > 1 else f"{count or 'none'} that agrees"


def _group(member: RecordStatus, explained: Together | None) -> tuple[str, ...]:
    """Return what records of a cause that was not learnt have in common.

    For failures it is the explanation, else the words without their numbers, else the sweep.
    """
    verdict = member.record.verdict
    if member.waiver is not None:
        return (f"{member.waiver.name}: {member.waiver.because}",)
    if member.status not in {Status.FAILED, Status.DISPUTED}:
        return (headline(verdict),)
    return group_of(member.record, explained)


def _doubt(group: tuple[str, ...], assessment: Assessment) -> str:
    """Return what speaks against the name of a group."""
    denied = assessment.denied.get(Together.parse(group[-1]), 0) if group[0] == "explained" else 0
    return f"; {denied} siblings that agree deny it, so it only fits these" if denied else ""


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


def _learnt(lesson: Lesson, members: Sequence[RecordStatus]) -> str:
    """Return the line of failures that follow a rule: their kinds, the rule, and the name that all of them have.

    Where the rule holds in some calls alone, a name without its condition would say too much.
    """
    names = single_explanations({member.record.case: member.record.diagnosis for member in members})
    usual = Counter(map(str, names.values())).most_common(1)
    all_named = usual and usual[0][1] == len(members) and not lesson.of_some
    known = f" (known as {usual[0][0]})" if all_named else ""
    return f"{_kinds(members)}: {lesson}{known}"


def _of_symptom(
    symptom: Symptom, members: Sequence[RecordStatus], assessment: Assessment, phrase: str
) -> tuple[str, str]:
    """Return the line of failures with something in common, and that line without what their calls have in common."""
    names = Counter(single_explanations({member.record.case: member.record.diagnosis for member in members}).values())
    usual = [(name, count) for name, count in names.most_common(1) if name not in assessment.denied]
    words = symptom.wrong_elements or f"for example {phrase}"
    words += "".join(f"; {count} of them as if {name}" for name, count in usual if count >= _NAMED * len(members))
    kinds = _kinds(members)
    if symptom.condition is None:
        return f"{kinds}: {words}", f"{kinds}: {words}"
    if not symptom.condition.terms:
        return f"{kinds} nearly everywhere: {symptom.evidence}; {words}", f"{kinds} nearly everywhere: {words}"
    return f"{kinds} where {symptom.condition}: {symptom.evidence}; {words}", f"{kinds}: {words}"


def _failed(
    group: tuple[str, ...], members: Sequence[RecordStatus], shown: RecordStatus, phrase: str, where: str = ""
) -> str:
    """Return the line of a group of failures: their kinds, what they have in common, and the phrase of the example."""
    what = {"explained": f" as if {group[-1]}{where}", "in": f" in {group[-1]}"}.get(group[-2], "")
    record = shown.record
    # The phrase of a wrong shape already has both shapes.
    described = f"; {record.described}" if record.described and record.verdict.kind != "wrong-shape" else ""
    kinds = f"{_kinds(members)}{what}"
    # The gate's reason begins with the kind that it speaks of.
    return f"{phrase}{described}" if phrase.startswith(f"{kinds}, ") else f"{kinds}: {phrase}{described}"


def _kinds(members: Sequence[RecordStatus]) -> str:
    return " or ".join(sorted({member.record.verdict.kind for member in members}))

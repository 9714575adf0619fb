"""The records of one status grouped by cause, one line for each cause, the same on the terminal and on the page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tconv.diagnosis import shared
from tconv.dialects.readings import Together
from tconv.gate.examples import example
from tconv.gate.status import Status
from tconv.gate.varying_answers import NOT_ASKED, may_vary
from tconv.learning import Lesson, Symptom, shared_facts
from tconv.records.failure import group_of
from tconv.reports.phrases import fresh, headline, phrase
from tconv.shown_texts import beginning, without_beginning
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Judged
    from tconv.learning import Shared
    from tconv.records.record import Record

_LONGEST = 160
"""Characters of a phrase in a cause; a longer one is cut."""
_BEGINNING = 40
"""Characters of its beginning that are left of a phrase whose middle is left out."""
_NAMED = 0.2
"""The part of a symptom's cases that a misreading gives, so that its name stands beside it."""

_NEARLY = 0.9
"""The part of the cases of a line that its condition holds for at least."""

_NUMBER = re.compile(r"((?<![\w.])\d+(?!\w|\.\d))")
"""A whole number that is no part of a name or of a version."""
_MESSAGES = ver.RefusedValid | ver.Broke | ver.Unsupported | ver.Died
"""Verdicts whose phrase is a runtime's message."""
_NOT_ASKED = (NOT_ASKED,)
"""The group of failures whose answers may vary, as those of others do that were asked again."""
_AGREEING = (Status.PASSED, Status.DISPUTED)


@dataclass(frozen=True, slots=True)
class Cause:
    """Records with a common cause.

    Attributes:
        what: the waiver, the reading, the learnt rule, or the failure with the phrase of its example.
        example: the id of the case that stands for it.
        members: the records, judged.
        common: of failures that have neither a rule nor a name, the facts that their cases share.
        lesson: the rule that they follow, where one was learnt.
        symptom: what they have in common, where they follow no rule.
        group: what makes records those of this cause, also in another run.
        said: `what` without what the cases share.
        where: of a misreading that is made on some calls only, the condition on these calls; empty for all calls.
    """

    what: str
    example: str
    members: tuple[Judged, ...]
    common: Shared | None = None
    lesson: Lesson | None = None
    symptom: Symptom | None = None
    group: tuple[str, ...] = ()
    said: str = ""
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
    groups: dict[tuple[str, ...], list[Judged]] = defaultdict(list)
    members = [judged for judged in assessment.judged if judged.status is status]
    learnt = _learnt_of(assessment) if status is Status.FAILED else {}
    rest = [judged for judged in members if judged.record.case not in learnt]
    explained = shared({judged.record.case: judged.record.diagnosis for judged in rest})
    explained |= {case: name for name, misread in assessment.misread.items() for case in misread.cases}
    spoiled = status is Status.FAILED and assessment.answers_vary
    for judged in members:
        found = learnt.get(judged.record.case)
        if spoiled and may_vary(judged.record):
            groups[_NOT_ASKED].append(judged)
        else:
            groups[_key(found) if found else _group(judged, explained.get(judged.record.case))].append(judged)
    in_order = sorted(
        groups.items(), key=lambda item: (item[0] == _NOT_ASKED, _undeclared(item[1]), -len(item[1]), item[0])
    )
    said = {group: _said(example(members, group), members) for group, members in groups.items()}
    cut = _cut(said.values())
    return [_cause(group, members, assessment, learnt, cut[said[group]]) for group, members in in_order]


def _undeclared(members: Iterable[Judged]) -> bool:
    return all(member.undeclared for member in members)


def _learnt_of(assessment: Assessment) -> dict[str, Lesson | Symptom]:
    """Return what was learnt of each failure: a rule, or else a symptom."""
    found: dict[str, Lesson | Symptom] = {}
    for learnt in (assessment.symptoms, assessment.learnt):
        for each in learnt:
            found |= dict.fromkeys(each.cases, each)
    return found


def _key(found: Lesson | Symptom) -> tuple[str, ...]:
    return ("learnt" if isinstance(found, Lesson) else "symptom", str(found))


def _said(shown: Judged, members: list[Judged]) -> str:
    """Return the phrase of the example; of a message, with `#` for each number that another member has not."""
    text = shown.reason or phrase(shown.record.verdict)
    if not isinstance(shown.record.verdict, _MESSAGES):
        return text
    parts = _NUMBER.split(text)
    texts = {member.reason or phrase(member.record.verdict) for member in members}
    others = [_as_far_as_alike(_NUMBER.split(other), parts) for other in texts]
    # Every second part is a number.
    return "".join(
        "#" if at % 2 and any(other[at : at + 1] != [part] for other in others) else part
        for at, part in enumerate(parts)
    )


def _as_far_as_alike(parts: list[str], others: list[str]) -> list[str]:
    """Return the parts of a text before what another text says otherwise, where it has more or fewer numbers."""
    if len(parts) == len(others):
        return parts
    differs = (at for at in range(0, len(parts), 2) if parts[at : at + 1] != others[at : at + 1])
    return parts[: next(differs, len(parts))]


def _cause(
    group: tuple[str, ...],
    members: list[Judged],
    assessment: Assessment,
    learnt: Mapping[str, Lesson | Symptom],
    said: str,
) -> Cause:
    shown = example(members, group)
    case = shown.record.case
    found = learnt.get(case)
    match shown.status:
        case Status.FAILED if isinstance(found, Lesson):
            line = _learnt(found, members)
            return Cause(line, case, tuple(members), lesson=found, group=group, said=line)
        case Status.FAILED if isinstance(found, Symptom):
            what, line = _of_symptom(found, members, assessment, said)
            common = common_facts(members, assessment)
            return Cause(what, case, tuple(members), common, symptom=found, group=group, said=line)
        case Status.FAILED if group == _NOT_ASKED:
            where = _where_varying(members, assessment)
            line = f"{_kinds(members)}{where}{';' if where else ','} and {NOT_ASKED}"
            return Cause(line, case, tuple(members), group=group, said=line)
        case Status.FAILED if group[0] == "explained":
            misread = assessment.misread.get(Together.parse(group[-1]))
            where = str(misread.condition) if misread else ""
            line = _failed(group, members, shown, said, f" where {where}" if where else "")
            exceptions = f"; {misread.exceptions}" if misread and misread.exceptions else ""
            doubt = exceptions or _doubt(group, assessment)
            return Cause(
                line + doubt,
                case,
                tuple(members),
                group=group,
                said=line,
                where=where,
            )
        case Status.FAILED if shown.record.varies:
            where = _where_varying(members, assessment)
            example_of = "; for example " if where else ": "
            line = f"{shown.record.verdict.kind} {fresh(shown.record)}{where}{example_of}{said}"
            return Cause(line, case, tuple(members), group=group, said=line)
        case Status.FAILED:
            common = common_facts(members, assessment)
            shares = f"; all {len(members)} are {common}, and {_that_agree(common.others)}" if common else ""
            line = _failed(group, members, shown, said)
            return Cause(line + shares, case, tuple(members), common, group=group, said=line)
        case Status.DISPUTED:
            return Cause(said, case, tuple(members), group=group, said=said)
        case _:
            return Cause(group[0], case, tuple(members), group=group, said=group[0])


def _where_varying(members: Sequence[Judged], assessment: Assessment) -> str:
    """Return where failures are whose answers vary, with how many answers there are wrong; empty where nobody knows."""
    varying = assessment.varying
    if varying is None or sum(member.record.case in varying.cases for member in members) < _NEARLY * len(members):
        return ""
    return f" where {varying.condition}: {varying.condition.evidence}"


def _that_agree(count: int) -> str:
    return f"{count} that agree" if count > 1 else f"{count or 'none'} that agrees"


def _group(judged: Judged, explained: Together | None) -> tuple[str, ...]:
    """Return what records of a cause that was not learnt have in common.

    For failures it is the explanation, else the words without their numbers, else the sweep.
    """
    verdict = judged.record.verdict
    if judged.waiver is not None:
        return (f"{judged.waiver.name}: {judged.waiver.because}",)
    if judged.status not in {Status.FAILED, Status.DISPUTED}:
        return (headline(verdict),)
    return group_of(judged.record, explained)


def _doubt(group: tuple[str, ...], assessment: Assessment) -> str:
    """Return what speaks against the name of a group."""
    denied = assessment.denied.get(Together.parse(group[-1]), 0) if group[0] == "explained" else 0
    return f"; {denied} siblings that agree deny it, so it only fits these" if denied else ""


def common_facts(members: Sequence[Judged], assessment: Assessment) -> Shared | None:
    """Return what the cases of a group have in common, and cases that agree have not."""
    refused = {member.record.verdict.kind for member in members} == {"refused-valid"}
    agreeing = [other.record for other in assessment.judged if other.status in _AGREEING]
    # Who is owed a refusal, and refuses, says nothing of why others are refused.
    others = [assessment.facts[record.case] for record in agreeing if not (refused and _is_refusal(record))]
    facts = [assessment.facts[member.record.case] for member in members]
    # Where agreement is only counted, in cells, there are others of which nothing is known.
    return shared_facts(facts, others) if len(members) > 1 and not assessment.run.cells else None


def _is_refusal(record: Record) -> bool:
    return isinstance(record.verdict, ver.Agreed | ver.Disputed) and record.verdict.rule == "refusal"


def _learnt(lesson: Lesson, members: list[Judged]) -> str:
    """Return the line of failures that follow a rule: their kinds, the rule, and the name that all of them have.

    Where the rule holds in some calls alone, a name without its condition would say too much.
    """
    names = shared({member.record.case: member.record.diagnosis for member in members})
    usual = Counter(map(str, names.values())).most_common(1)
    all_named = usual and usual[0][1] == len(members) and not lesson.of_some
    known = f" (known as {usual[0][0]})" if all_named else ""
    return f"{_kinds(members)}: {lesson}{known}"


def _of_symptom(symptom: Symptom, members: list[Judged], assessment: Assessment, said: str) -> tuple[str, str]:
    """Return the line of failures with something in common, and that line without what their calls have in common."""
    names = Counter(shared({member.record.case: member.record.diagnosis for member in members}).values())
    usual = [(name, count) for name, count in names.most_common(1) if name not in assessment.denied]
    words = symptom.wrong_elements or f"for example {said}"
    words += "".join(f"; {count} of them as if {name}" for name, count in usual if count >= _NAMED * len(members))
    kinds = _kinds(members)
    if symptom.condition is None:
        return f"{kinds}: {words}", f"{kinds}: {words}"
    if not symptom.condition.terms:
        return f"{kinds} nearly everywhere: {symptom.evidence}; {words}", f"{kinds} nearly everywhere: {words}"
    return f"{kinds} where {symptom.condition}: {symptom.evidence}; {words}", f"{kinds}: {words}"


def _failed(group: tuple[str, ...], members: list[Judged], shown: Judged, said: str, where: str = "") -> str:
    """Return the line of a group of failures: their kinds, what they have in common, and the phrase of the example."""
    what = {"explained": f" as if {group[-1]}{where}", "in": f" in {group[-1]}"}.get(group[-2], "")
    record = shown.record
    # The phrase of a wrong shape already has both shapes.
    described = f"; {record.described}" if record.described and record.verdict.kind != "wrong-shape" else ""
    kinds = f"{_kinds(members)}{what}"
    # The gate's reason begins with the kind that it speaks of.
    return f"{said}{described}" if said.startswith(f"{kinds}, ") else f"{kinds}: {said}{described}"


def _kinds(members: list[Judged]) -> str:
    return " or ".join(sorted({member.record.verdict.kind for member in members}))


def _cut(texts: Iterable[str]) -> dict[str, str]:
    """Return each text in at most about `_LONGEST` characters, so that those that begin alike can be told apart."""
    in_order = sorted(set(texts))
    # With how many characters in common neighbours begin: no other text has more in common with either.
    shared = [_alike(*pair) for pair in pairwise(["", *in_order, ""])]
    return {text: _shown(text, max(counts)) for text, counts in zip(in_order, pairwise(shared), strict=True)}


def _alike(one: str, other: str) -> int:
    """Return with how many characters in common two texts begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shown(text: str, shared: int) -> str:
    """Return a text without its end, or where so much of it is shared with another, without a part of that."""
    if len(text) <= _LONGEST:
        return text
    if shared <= _LONGEST // 2:
        return f"{beginning(text, _LONGEST)}..."
    return f"{beginning(text, _BEGINNING)} ... {_shown(without_beginning(text, shared - _BEGINNING // 2), 0)}"

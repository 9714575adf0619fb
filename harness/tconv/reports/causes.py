"""The records of one status grouped by cause, one line for each cause, the same on the terminal and on the page."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.evidence import Errs, Follows, InContext, Misreads, Relates, Says, Varies
from tconv.gate.status import FAILING, SEVERITY, Status, choose_example, find_group, is_of_invalid, sweep_of
from tconv.records.failure import without_numbers
from tconv.reports.example_phrases import example_phrases
from tconv.reports.phrases import fresh_process_phrase, headline
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tconv.evidence import Explanation
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import GroupKey, RecordStatus

_USUAL = 0.75
"""The part of a cause's failures whose relation is said: of few elements it may not be seen."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Records with a common cause.

    Attributes:
        status: their status.
        group: what makes records those of this cause, also in another run.
        members: the records with their statuses.
        example: the id of the case that stands for it.
        line: the waiver, the reading, or what the runtime does, with the phrase of the example.
        explanation: what explains failures; None if nothing does.
    """

    status: Status
    group: GroupKey
    members: tuple[RecordStatus, ...]
    example: str
    line: str
    explanation: Explanation | None = None

    @property
    def what(self) -> str:
        """The line with how sure it is."""
        return "; ".join(filter(None, (self.line, self.explanation.evidence if self.explanation else "")))

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
        """Whether its answers depend on earlier calls, or on chance: alone a case need not show them."""
        return any(member.record.varies for member in self.members)


def find_causes(assessment: Assessment, status: Status) -> list[Cause]:
    """Return the causes of the records of a status, the most severe first, and of those the largest."""
    explanations = {case: each for each in assessment.explained for case in each.cases}
    groups: dict[GroupKey, list[RecordStatus]] = defaultdict(list)
    for member in assessment.statuses:
        if member.status is status:
            groups[_key(member, explanations.get(member.record.case), assessment)].append(member)
    phrases = example_phrases(groups)
    found = [
        _cause(
            key,
            members,
            explanations.get(members[0].record.case) if status in FAILING else None,
            phrases[key],
            invalid=all(assessment.is_invalid(member.record.case) for member in members),
        )
        for key, members in groups.items()
    ]
    return sorted(found, key=_place)


def _place(cause: Cause) -> tuple[int, int, str]:
    """Return what decides where a cause stands: how severe it is, and then how many cases have it."""
    return rank_severity(cause.kinds), -cause.count, cause.members[0].record.case


def rank_severity(kinds: Iterable[str]) -> int:
    """Return the place of the most severe of some kinds of ruling, from 0 for the most severe of all."""
    return min((SEVERITY.index(kind) for kind in kinds if kind in SEVERITY), default=len(SEVERITY))


def _key(member: RecordStatus, explanation: Explanation | None, assessment: Assessment) -> GroupKey:
    """Return what makes records those of one cause.

    For failures it is the explanation, else the words without their numbers, else the sweep; and whether the call is
    invalid.
    """
    if member.waiver is not None:
        return ("waiver", member.waiver.name)
    if member.status in FAILING and explanation is not None:
        return ("explained", *explanation.key)
    if member.status is Status.INCONCLUSIVE:
        return (member.status,)
    if member.status not in {*FAILING, Status.DISPUTED}:
        return (member.status, member.ruling)
    return find_group(member, None, invalid=assessment.is_invalid(member.record.case))


def _cause(
    key: GroupKey,
    members: Sequence[RecordStatus],
    explanation: Explanation | None,
    phrase: str,
    *,
    invalid: bool,
) -> Cause:
    """Return the cause of a group of records with one status.

    Args:
        key: what makes records those of the group.
        members: the records.
        explanation: what explains them; None if nothing does.
        phrase: that of its example.
        invalid: whether all calls are invalid.
    """
    shown = choose_example(members, key)
    if explanation is not None:
        line = _explained(explanation, members, shown, phrase, invalid=invalid)
    elif shown.status in FAILING:
        line = _unexplained(key, members, shown, phrase)
    else:
        line = phrase if shown.status is Status.DISPUTED else _known(shown)
    return Cause(shown.status, key, tuple(members), shown.record.case, line, explanation)


def _known(shown: RecordStatus) -> str:
    """Return the line of records that neither failed nor follow another reading."""
    if shown.waiver is not None:
        return f"{shown.waiver.name}: {shown.waiver.because}"
    return STATUSES[shown.status].total if shown.status is Status.INCONCLUSIVE else headline(shown.ruling)


def _explained(
    explanation: Explanation, members: Sequence[RecordStatus], shown: RecordStatus, phrase: str, *, invalid: bool
) -> str:
    """Return the line of failures that something explains: their kinds, what it is, and where."""
    kinds, where = _kinds(members), f" where {explanation.where}" if explanation.where else ""
    where = f" of invalid calls{where}" if invalid else where
    if shown.status is Status.UNDECLARED:
        # The reason of what is undeclared begins with its kind.
        within = f", {explanation.what}" if isinstance(explanation.what, InContext) else ""
        return f"{phrase}{within}{where}"
    match explanation.what:
        case Misreads(name):
            return f"{kinds} as if {name}{where}: {phrase}"
        case Follows():
            return f"{kinds}{where}: {explanation.what}"
        case Says():
            return f"{kinds}{where}: {phrase}"
        case Varies():
            return f"{kinds}, and answers vary{where}: {fresh_process_phrase(shown.record) or phrase}"
        case Relates():
            return f"{kinds}{where}: wrong elements {_usual_relation(members) or explanation.what.relation}"
        case InContext():
            return f"{kinds}, {explanation.what}{where}: for example {phrase}"
        case Errs():
            relation = _usual_relation(members)
            words = f"wrong elements {relation}" if relation else f"for example {phrase}"
            return f"{kinds}{where or ' nearly everywhere'}: {words}"


def _usual_relation(members: Sequence[RecordStatus]) -> str:
    """Return what the wrong elements of most failures are, without numbers that differ; empty if it differs."""
    relations = [member.why.relation for member in members]
    for texts in (Counter(relations), Counter(map(without_numbers, relations))):
        text, count = texts.most_common(1)[0]
        if text and count >= _USUAL * len(members):
            return text.replace("#", "n") + (", where n differs" if "#" in text else "")
    return ""


def _unexplained(key: GroupKey, members: Sequence[RecordStatus], shown: RecordStatus, phrase: str) -> str:
    """Return the line of failures that nothing explains: their kinds, what they have in common, and an example."""
    if shown.record.varies:
        return f"{shown.ruling.kind} {fresh_process_phrase(shown.record)}: {phrase}"
    sweep, words = sweep_of(key), shown.why.described
    # The phrase of a wrong shape already has both shapes.
    described = f"; {words}" if words and shown.ruling.kind != "wrong-shape" else ""
    kinds = f"{_kinds(members)}{' of invalid calls' if is_of_invalid(key) else ''}{f' in {sweep}' if sweep else ''}"
    # The reason of what is undeclared begins with its kind.
    plain = shown.status is Status.UNDECLARED and kinds == shown.ruling.kind
    return phrase if plain else f"{kinds}: {phrase}{described}"


def _kinds(members: Iterable[RecordStatus]) -> str:
    return " or ".join(sorted({member.ruling.kind for member in members}))

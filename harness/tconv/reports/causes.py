"""The records of one status, grouped by cause, with one line for each cause; terminal and page use the same."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.gate.status import FAILING, SEVERITY, Status, choose_example, find_group, sweep_of
from tconv.reports import cause_sentences
from tconv.reports.phrases import phrase, reason
from tconv.shown_texts import shortened
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tconv.evidence.hypotheses import Explanation
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import GroupKey, RecordStatus

_LONGEST = 160
"""The most characters of the phrase of an example; a longer one loses its middle."""
_NUMBER = re.compile(r"((?<![\w.])\d+(?!\w|\.\d))")
"""An integer that is not part of a name or of a version."""
_MESSAGES = ver.RefusedValid | ver.BackendError | ver.Unsupported | ver.Crashed
"""Verdicts whose phrase is a runtime's message."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Records with a common cause.

    Attributes:
        status: their status.
        group: the key of this cause, which is the same in other runs.
        members: the records with their statuses.
        example: the id of the example.
        line: what happens, in a sentence.
        details: what a reader may want next: formulas, names, the runtime's message, an example.
        explanation: the explanation of failures; None if there is none.
    """

    status: Status
    group: GroupKey
    members: tuple[RecordStatus, ...]
    example: str
    line: str
    details: tuple[str, ...] = ()
    explanation: Explanation | None = None

    @property
    def what(self) -> str:
        """The sentence with its details, and how certain it is."""
        return "; ".join((self.line, *self.more))

    @property
    def more(self) -> tuple[str, ...]:
        """What follows the sentence: the details, and how certain it is."""
        evidence = cause_sentences.evidence_for(self.explanation) if self.explanation else ""
        return (*self.details, evidence) if evidence else self.details

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
        """Whether its answers depend on earlier calls, or on chance: a case alone may not show them."""
        return any(member.record.varies for member in self.members)


def find_causes(assessment: Assessment, status: Status) -> list[Cause]:
    """Return the causes of the records of a status, the most severe first, and then the largest."""
    explanations = {case: each for each in assessment.explained for case in each.cases}
    groups: dict[GroupKey, list[RecordStatus]] = defaultdict(list)
    for member in assessment.statuses:
        if member.status is status:
            groups[_key(member, explanations.get(member.record.case), assessment)].append(member)
    found = [
        _cause(
            key,
            members,
            explanations.get(members[0].record.case) if status in FAILING else None,
            invalid=all(assessment.is_invalid(member.record.case) for member in members),
        )
        for key, members in groups.items()
    ]
    return sorted(found, key=_place)


def _place(cause: Cause) -> tuple[int, int, str]:
    """Return the sort key of a cause: its severity, and then its number of cases."""
    return rank_severity(cause.kinds), -cause.count, cause.members[0].record.case


def rank_severity(kinds: Iterable[str]) -> int:
    """Return the rank of the most severe kind of ruling; 0 is the most severe of all."""
    return min((SEVERITY.index(kind) for kind in kinds if kind in SEVERITY), default=len(SEVERITY))


def _key(member: RecordStatus, explanation: Explanation | None, assessment: Assessment) -> GroupKey:
    """Return the key of a record's cause.

    For failures it is the first of these: the explanation, the words without their numbers, the sweep. Whether the call
    is invalid is a part of it.
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
    *,
    invalid: bool,
) -> Cause:
    """Return the cause of a group of records with one status.

    Args:
        key: the key of the group.
        members: the records.
        explanation: their explanation; None if there is none.
        invalid: whether all calls are invalid.
    """
    shown = choose_example(members, key)
    said = shortened(_marked(shown, members), _LONGEST)
    failures = cause_sentences.Failures(members, shown, said, is_invalid=invalid)
    line, details = _told(key, failures, explanation)
    return Cause(shown.status, key, tuple(members), shown.record.case, line, details, explanation)


def _told(key: GroupKey, of: cause_sentences.Failures, explanation: Explanation | None) -> cause_sentences.Sentence:
    """Return the sentence of a cause, and its details."""
    shown = of.shown
    if shown.status in FAILING:
        return of.explained(explanation) if explanation is not None else of.unexplained(sweep_of(key))
    if shown.status is Status.DISPUTED:
        return cause_sentences.of_disputed(shown, of.phrase)
    if shown.waiver is not None:
        return f"{shown.waiver.name}: {shown.waiver.because}", ()
    if shown.status is Status.INCONCLUSIVE:
        return "The tolerance is so wide that zeros would pass", ()
    return cause_sentences.of_accepted(shown)


def _phrase_of(member: RecordStatus) -> str:
    return reason(member) or phrase(member.ruling)


def _marked(shown: RecordStatus, members: Iterable[RecordStatus]) -> str:
    """Return the phrase of the example; in a message, `#` replaces each number that differs in another member."""
    text = _phrase_of(shown)
    if not isinstance(shown.ruling, _MESSAGES):
        return text
    splits = [_NUMBER.split(other) for other in {text, *map(_phrase_of, members)}]
    if len({len(parts) for parts in splits}) > 1:
        return text
    # Every second part is a number.
    columns = enumerate(zip(*splits, strict=True))
    marks = {at for at, column in columns if at % 2 and len(set(column)) > 1}
    return "".join("#" if at in marks else part for at, part in enumerate(_NUMBER.split(text)))

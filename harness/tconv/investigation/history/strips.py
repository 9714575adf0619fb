"""Causes by release: in which releases each is seen, since which, and in which it was fixed.

Calls that were fixed in different releases have different causes, and so have valid and invalid calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from tconv.diagnosis import single_explanations
from tconv.evidence import Follows
from tconv.gate.status import GroupKey, Status, choose_example, find_group, is_of_invalid, mark_invalid
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tconv.dialects.readings import Combination
    from tconv.evidence import Explanation
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus

ORDER = (
    Status.FAILED,
    Status.UNDECLARED,
    Status.WAIVED,
    Status.INCONCLUSIVE,
    Status.REPORTED,
    Status.DISPUTED,
    Status.UNSUPPORTED,
)
"""The statuses that are shown, the most urgent first."""

_Key = GroupKey
_LEARNT = "learnt"
_WORDED = {"refused-valid", "backend-error", "unsupported", "crashed"}
"""Kinds of verdicts whose causes are told apart by words, which change from release to release."""


class Mark(StrEnum):
    """What a release shows of a cause; without the cause, its smallest case decides."""

    BAD = "x"
    GOOD = "."
    DIFFERENT = "o"
    UNSUPPORTED = "u"
    SILENT = " "


MEANINGS = {
    Mark.BAD: "has it",
    Mark.GOOD: "its smallest case passes",
    Mark.DIFFERENT: "its smallest case fails differently",
    Mark.UNSUPPORTED: "its smallest case is unsupported",
    Mark.SILENT: "not asked",
}


@dataclass(frozen=True, slots=True)
class Span:
    """Releases that have a cause, one after the other, as places in the list of all.

    Attributes:
        first: the first that has it.
        last: the last that has it; between may be some that do not tell.
        good_before: the last before it whose smallest case passes; None where none is known.
        fixed: the first after it whose smallest case passes; None where none is known.
    """

    first: int
    last: int
    good_before: int | None
    fixed: int | None


@dataclass(frozen=True)
class Strip:
    """A cause in all releases.

    Attributes:
        status: the most urgent that its records have.
        example: the record of its smallest case, of the last release in which that shows the cause.
        explained: the misreadings that explain the outputs of all its records; None where none does.
        rule: the rule of its own that the runtime follows in all of them; empty where none was learnt.
        invalid: whether its calls are invalid.
        counts: how many records of each release have the cause.
        marks: what each release shows.
    """

    status: Status
    example: RecordStatus
    explained: Combination | None
    rule: str
    invalid: bool
    counts: tuple[int, ...]
    marks: tuple[Mark, ...]

    @cached_property
    def spans(self) -> list[Span]:
        """Where the cause begins and ends, the oldest first."""
        return spans(self.marks)


def spans(marks: Sequence[Mark]) -> list[Span]:
    """Return the parts of a strip that are bad; what does not tell neither begins nor ends one."""
    spans_found: list[Span] = []
    good: int | None = None
    for place, mark in enumerate(marks):
        match mark:
            case Mark.BAD if spans_found and spans_found[-1].fixed is None:
                spans_found[-1] = Span(spans_found[-1].first, place, spans_found[-1].good_before, None)
            case Mark.BAD:
                spans_found.append(Span(place, place, good, None))
            case Mark.GOOD:
                good = place
                if spans_found and spans_found[-1].fixed is None:
                    spans_found[-1] = Span(
                        spans_found[-1].first, spans_found[-1].last, spans_found[-1].good_before, place
                    )
            case Mark.DIFFERENT | Mark.UNSUPPORTED | Mark.SILENT:
                pass
    return spans_found


def strips(releases: Sequence[Assessment]) -> list[Strip]:
    """Return the causes of all releases, the most urgent and then the most frequent first.

    Args:
        releases: the records of each, the oldest first, judged with waivers that hold for every version.
    """
    by_case = [{member.record.case: member for member in release.statuses} for release in releases]
    explained = single_explanations(
        {f"{place} {case}": member.why.explained for place, of in enumerate(by_case) for case, member in of.items()}
    )
    learnt = [
        {case: each for each in release.explained if isinstance(each.what, Follows) for case in each.cases}
        for release in releases
    ]
    rules: dict[_Key, str] = {}
    causes: dict[_Key, list[list[RecordStatus]]] = defaultdict(lambda: [[] for _ in releases])
    for place, of in enumerate(by_case):
        for case, member in of.items():
            if member.status in ORDER:
                lesson = learnt[place].get(case) if member.status is Status.FAILED else None
                invalid = releases[place].is_invalid(case)
                key = _key(member, explained.get(f"{place} {case}"), lesson, invalid=invalid)
                if lesson is not None and key[0] == _LEARNT:
                    rules[key] = _rule(lesson)
                causes[key][place].append(member)
    strips_found = [
        _strip(key, part, telling, by_case, explained, rules.get(key, ""))
        for key, members in _reworded(causes)
        for part, telling in _parts(members, by_case)
    ]
    return sorted(
        strips_found, key=lambda strip: (ORDER.index(strip.status), -max(strip.counts), strip.example.record.case)
    )


def _rule(learnt: Explanation) -> str:
    return f"where {learnt.where}: {learnt.what}" if learnt.where else str(learnt.what)


def _reworded(causes: Mapping[_Key, list[list[RecordStatus]]]) -> list[tuple[_Key, list[list[RecordStatus]]]]:
    """Return the causes with their records; causes that are one in other words are joined.

    They are one where the kind is the same, most of the cases are, and no release has both.
    """
    reworded: list[tuple[_Key, list[list[RecordStatus]]]] = []
    for key, members in causes.items():
        same = next((of for other, of in reworded if other[0] == key[0] and _same(members, of)), None)
        if key[0] not in _WORDED or same is None:
            reworded.append((key, members))
        else:
            for mine, more in zip(same, members, strict=True):
                mine.extend(more)
    return reworded


def _same(cause: Sequence[Sequence[RecordStatus]], other: Sequence[Sequence[RecordStatus]]) -> bool:
    """Return whether two causes have most of their cases in common, and no release."""
    if any(mine and others for mine, others in zip(cause, other, strict=True)):
        return False
    cases, more = ({member.record.case for of in members for member in of} for members in (cause, other))
    return len(cases & more) > len(cases | more) / 2


def _parts(
    members: Sequence[Sequence[RecordStatus]], by_case: Sequence[Mapping[str, RecordStatus]]
) -> Iterator[tuple[list[list[RecordStatus]], Collection[str]]]:
    """Yield the records of a cause, those apart whose cases were fixed in another release.

    A case of which no later release tells anything is with the most others.

    Yields:
        The records by release, and the cases that tell when they were fixed, or all if none tells it.
    """
    status, ends = _status(members), dict[str, int | None]()
    own = [{member.record.case for member in of} for of in members]
    for case in dict.fromkeys(member.record.case for of in members for member in of):
        marks = [
            Mark.BAD if case in of else _mark(there.get(case), status) for of, there in zip(own, by_case, strict=True)
        ]
        last = spans(marks)[-1]
        ends[case] = len(marks) if last.last == len(marks) - 1 else last.fixed
    known = Counter(end for end in ends.values() if end is not None)
    usual = known.most_common(1)[0][0] if known else None
    for end in known or (None,):
        cases = {case for case, of in ends.items() if of == end or (of is None and end == usual)}
        telling = {case for case in cases if ends[case] == end}
        yield [[member for member in of if member.record.case in cases] for of in members], telling


def _status(members: Sequence[Sequence[RecordStatus]]) -> Status:
    return min((member.status for of in members for member in of), key=ORDER.index)


def _key(member: RecordStatus, explained: Combination | None, lesson: Explanation | None, *, invalid: bool) -> _Key:
    """Return what records of one cause have in common, in all releases; a rule covers more than a misreading's name."""
    ruling = member.ruling
    if member.waiver is not None:
        return mark_invalid(("waiver", member.waiver.name), invalid=invalid)
    if isinstance(ruling, ver.Disputed):
        # Its words change from release to release.
        return (ruling.kind, ruling.rule, *ruling.readings)
    if lesson is not None:
        return (_LEARNT, lesson.what)
    return find_group(member, explained, invalid=invalid)


def _strip(
    key: _Key,
    members: Sequence[Sequence[RecordStatus]],
    cases: Collection[str],
    by_case: Sequence[Mapping[str, RecordStatus]],
    explained: Mapping[str, Combination],
    rule: str,
) -> Strip:
    """Return a cause; one of `cases` stands for it."""
    seen = Counter(member.record.case for of in members for member in of if member.record.case in cases)
    # Of the cases that tell the most releases the one that stands for the cause in the other reports too.
    telling = [member for of in members for member in of if seen[member.record.case] == max(seen.values())]
    case = choose_example(telling, key).record.case
    shown = [member for member in telling if member.record.case == case][-1]
    names = {explained.get(f"{place} {member.record.case}") for place, of in enumerate(members) for member in of}
    status = _status(members)
    marks = [Mark.BAD if of else _mark(there.get(case), status) for of, there in zip(members, by_case, strict=True)]
    name = names.pop() if len(names) == 1 else None
    return Strip(status, shown, name, rule, is_of_invalid(key), tuple(map(len, members)), tuple(marks))


def _mark(member: RecordStatus | None, of: Status) -> Mark:
    """Return what a record of the smallest case shows of a cause that its release does not have."""
    if member is None or member.status is Status.NOT_APPLICABLE:
        return Mark.SILENT
    if isinstance(member.ruling, ver.Unsupported):
        return Mark.UNSUPPORTED
    fine = {Status.PASSED} if of is Status.DISPUTED else {Status.PASSED, Status.DISPUTED}
    return Mark.GOOD if member.status in fine else Mark.DIFFERENT

"""Which case stands for a cause, the same in all reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.gate.status import RecordStatus
    from tconv.records.record import Record

Rank = tuple[bool, bool, bool, bool, tuple[int, int, str]]
"""How well a record stands for a cause; the smallest is its example."""
_INVALID = "invalid/"
"""How the ids of the topic begin whose cases break a constraint in some dialect."""


def example(members: Iterable[RecordStatus], group: tuple[str, ...]) -> RecordStatus:
    """Return the smallest member of a cause, if there is one among those that no reader takes for something else.

    Such a member is wrong alone too: what is `inconsistent` is shown by other cases only, and the command for it
    would say that nothing is wrong. It has no other explanation than the cause; else, as the next best, it is not under
    the topic of invalid calls: there a wrong value reads as if the call were invalid in this dialect too; and it has no
    input without elements, which may have reasons of its own.

    Args:
        members: the records of the cause; not empty.
        group: what makes records those of the cause; it has the name of its explanation, if any.
    """
    return min(members, key=lambda member: rank(member.record, group))


def rank(record: Record, group: tuple[str, ...]) -> Rank:
    """Return how well a record stands for a cause."""
    otherwise = not set(group).issuperset(map(str, record.diagnosis))
    empty = record.call is not None and any(0 in shape for _, shape, _ in record.call.inputs)
    inconsistent = record.verdict.kind == "inconsistent"
    return inconsistent, otherwise, record.case.startswith(_INVALID), empty, record.size

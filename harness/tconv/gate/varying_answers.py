"""Failures whose answers depend on the calls before them in their process, or may: their values explain nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.gate.status import Status
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.gate.status import RecordStatus
    from tconv.records.record import Record

_SAID_ONCE = ver.WrongOutput | ver.WrongDtype | ver.RefusedValid | ver.Broke
"""Verdicts on an answer that was given once. Deaths were confirmed by repetition."""
NOT_ASKED = "not asked again: others that were asked again, alone in a fresh process, have other answers there"
"""What is said of a failure of which it is not known whether its answer depends on the calls before it."""


def may_vary(record: Record) -> bool:
    """Return whether a record's answer may depend on the calls before it, for all that is known."""
    return record.alone is None and isinstance(record.verdict, _SAID_ONCE)


def answers_vary(members: Iterable[RecordStatus]) -> bool:
    """Return whether a failure had another answer when it was asked again.

    What is waived is not asked in later runs, and what is known of it excuses no other answer.
    """
    return any(member.record.answer_varies and member.status is Status.FAILED for member in members)


def without_explanations(members: Iterable[RecordStatus]) -> tuple[RecordStatus, ...]:
    """Return the records of a run whose answers vary, those that other calls may have spoilt without explanations."""
    return tuple(map(_without_explanation, members))


def _without_explanation(member: RecordStatus) -> RecordStatus:
    record = member.record
    if member.status is not Status.FAILED or not (record.varies or may_vary(record)):
        return member
    unexplained = replace(record, diagnosis=(), described=None, relation=None, placement=None)
    return replace(member, record=unexplained, reason=NOT_ASKED if may_vary(record) else "")

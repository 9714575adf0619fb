"""The status of a record: what its verdict comes to with the waivers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from tconv.gate.waivers import active_waivers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.gate.waivers import Waiver, WaiverFile
    from tconv.records.record_file import Record


class Status(StrEnum):
    """What a verdict comes to with the waivers."""

    PASSED = "passed"
    DISPUTED = "disputed"
    MISTRUSTED = "mistrusted"
    WAIVED = "waived"
    REPORTED = "reported"
    UNSUPPORTED = "unsupported"
    INEXPRESSIBLE = "inexpressible"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Judged:
    """A record with its status, and the reason that a waiver, a declaration or the verdict gives."""

    record: Record
    status: Status
    waiver: Waiver | None = None
    reason: str = ""


def judged(
    record: Record, facts: Mapping[str, str], waivers: WaiverFile | None, version: str, *, strict: bool = False
) -> Judged:
    """Return a record with its status.

    Args:
        record: the record.
        facts: the case's facts.
        waivers: the backend's known deviations; None for none.
        version: the backend's version.
        strict: whether accepting an invalid model is a failure.
    """
    match record.verdict:
        case ver.Agreed():
            return Judged(record, Status.PASSED)
        case ver.Disputed():
            waiver = _waiver(record, facts, waivers, version)
            return Judged(
                record, Status.WAIVED if waiver else Status.DISPUTED, waiver, waiver.because if waiver else ""
            )
        case ver.Mistrusted(untested, of):
            return Judged(record, Status.MISTRUSTED, reason=f"{untested} of {of} elements would pass as zero")
        case ver.Inexpressible(reason):
            return Judged(record, Status.INEXPRESSIBLE, reason=reason)
        case ver.Unsupported(reason):
            declared = next((u for u in (waivers.unsupported if waivers else ()) if u.covers(record.case, facts)), None)
            if declared is None:
                return Judged(record, Status.FAILED, reason=f"unsupported, and not declared so: {reason}")
            return Judged(record, Status.UNSUPPORTED, reason=declared.because)
        case (
            ver.AcceptedInvalid()
            | ver.Differed()
            | ver.ExceedsSummationBound()
            | ver.WrongShape()
            | ver.WrongDtype()
            | ver.RefusedValid()
            | ver.Died()
            | ver.TimedOut()
            | ver.Unstable()
            | ver.Broke()
        ):
            waiver = _waiver(record, facts, waivers, version)
            if waiver is not None:
                return Judged(record, Status.WAIVED, waiver, waiver.because)
            verdict = record.verdict
            reported = isinstance(verdict, ver.AcceptedInvalid) and not (strict and verdict.stated)
            return Judged(record, Status.REPORTED if reported else Status.FAILED)
        case _:
            assert_never(record.verdict)


def _waiver(record: Record, facts: Mapping[str, str], waivers: WaiverFile | None, version: str) -> Waiver | None:
    active = active_waivers(waivers, record.dialect, version)
    return next((waiver for waiver in active if waiver.waives(record, facts)), None)

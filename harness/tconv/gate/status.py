"""The status of a record: what its verdict comes to with the waivers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from tconv.gate.waivers_of_run import active_entries
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.gate.waivers import Waiver, WaiverFile
    from tconv.gate.waivers_of_run import ActiveEntries
    from tconv.records.headers import RunHeader
    from tconv.records.record import Record


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


AGREEING = (Status.PASSED, Status.DISPUTED)
"""The statuses of cases that do what a reading of the text says."""
UNDECLARED = "unsupported, and not declared so: "
"""How the reason begins of what failed for no more than that."""


@dataclass(frozen=True, slots=True)
class RecordStatus:
    """A record with its status, and the reason that a waiver, a declaration or the verdict gives."""

    record: Record
    status: Status
    waiver: Waiver | None = None
    reason: str = ""

    @property
    def undeclared(self) -> bool:
        """Whether it failed for no more than that nobody declared what the backend does not implement."""
        return self.status is Status.FAILED and isinstance(self.record.verdict, ver.Unsupported)


def status_of(record: Record, facts: Mapping[str, str], active: ActiveEntries, *, strict: bool = False) -> RecordStatus:
    """Return a record with its status.

    Args:
        record: the record.
        facts: the case's facts.
        active: the waivers and declarations that hold for the backend, its version and its machine.
        strict: whether accepting an invalid model is a failure.
    """
    match record.verdict:
        case ver.Agreed():
            return RecordStatus(record, Status.PASSED)
        case ver.Disputed():
            waiver = _waiver(record, facts, active)
            return RecordStatus(
                record, Status.WAIVED if waiver else Status.DISPUTED, waiver, waiver.because if waiver else ""
            )
        case ver.Mistrusted(untested, of):
            return RecordStatus(record, Status.MISTRUSTED, reason=f"{untested} of {of} elements would pass as zero")
        case ver.Inexpressible(reason):
            return RecordStatus(record, Status.INEXPRESSIBLE, reason=reason)
        case ver.Unsupported(reason):
            declared = next((entry for entry in active.unsupported if entry.covers(record.case, facts)), None)
            if declared is None:
                return RecordStatus(record, Status.FAILED, reason=f"{UNDECLARED}{reason}")
            return RecordStatus(record, Status.UNSUPPORTED, reason=declared.because)
        case (
            ver.AcceptedInvalid()
            | ver.Inconsistent()
            | ver.ReadingChanged()
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
            waiver = _waiver(record, facts, active)
            if waiver is not None:
                return RecordStatus(record, Status.WAIVED, waiver, waiver.because)
            verdict = record.verdict
            reported = isinstance(verdict, ver.AcceptedInvalid) and not (strict and verdict.stated)
            return RecordStatus(record, Status.REPORTED if reported else Status.FAILED)
        case _:
            assert_never(record.verdict)


def fails_of(file: WaiverFile | None, header: RunHeader) -> Callable[[Case, Record], bool]:
    """Return what says whether a record is a failure, before the other cases of its run are known.

    Args:
        file: the backend's known deviations; None for none.
        header: the run's.
    """
    active = active_entries(file, header.dialect, header.backend)
    return lambda case, record: status_of(record, case.facts, active).status is Status.FAILED


def with_better_causes(
    members: Sequence[RecordStatus], judge: Callable[[Record], RecordStatus]
) -> tuple[RecordStatus, ...]:
    """Return records with the refusals judged anew that have a better cause than a reading of the text.

    It is the cause of refusals that no reading and no waiver explains, and that have the same words.

    Args:
        members: the records with their statuses.
        judge: returns a record with its status.
    """
    unexplained = {_message(member) for member in members if member.status is Status.FAILED} - {None}
    return tuple(
        judge(replace(member.record, verdict=ver.RefusedValid(member.record.verdict.message or "")))
        if isinstance(member.record.verdict, ver.Disputed)
        and member.status is Status.DISPUTED
        and _message(member) in unexplained
        else member
        for member in members
    )


def _message(member: RecordStatus) -> str | None:
    """Return the words of a refusal without their numbers; None of any other verdict."""
    match member.record.verdict:
        case ver.RefusedValid(message) | ver.Disputed(message=str(message)):
            return without_numbers(message)
        case _:
            return None


def _waiver(record: Record, facts: Mapping[str, str], active: ActiveEntries) -> Waiver | None:
    return next((waiver for waiver in active.waivers if waiver.waives(record, facts)), None)

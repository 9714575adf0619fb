"""The entries of a waiver file that hold for a run, and the status that they give each of its records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from tconv.gate.status import MixedReadings, ReadingChanged, RecordStatus, Status
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.gate.status import Ruling
    from tconv.gate.waivers import Declaration, Pin, Waiver, WaiverFile
    from tconv.records.headers import BackendHeader, RunHeader
    from tconv.records.record import Record


@dataclass(frozen=True, slots=True)
class ActiveEntries:
    """The entries of a waiver file that hold for a run.

    Attributes:
        waivers: known deviations.
        unsupported: declarations of what the backend does not implement.
        pins: which allowed readings the backend follows.
        strict: whether accepting an invalid model is a failure.
    """

    waivers: tuple[Waiver, ...] = ()
    unsupported: tuple[Declaration, ...] = ()
    pins: tuple[Pin, ...] = ()
    strict: bool = False

    def status_of(self, record: Record, facts: Mapping[str, str], ruling: Ruling | None = None) -> RecordStatus:
        """Return a record with its status.

        Args:
            record: the record.
            facts: the case's facts.
            ruling: what the gate makes of the answer; None for its verdict.
        """
        member = RecordStatus(record, Status.FAILED, record.verdict if ruling is None else ruling, record.why)
        match member.ruling:
            case ver.Agreed():
                return replace(member, status=Status.PASSED)
            case ver.Mistrusted():
                return replace(member, status=Status.MISTRUSTED)
            case ver.Inexpressible():
                return replace(member, status=Status.INEXPRESSIBLE)
            case ver.Unsupported():
                declared = next((entry for entry in self.unsupported if entry.covers(record.case, facts)), None)
                return replace(member, status=Status.UNSUPPORTED, declaration=declared) if declared else member
            case ver.Disputed():
                unwaived = Status.DISPUTED
            case ver.AcceptedInvalid(stated=stated):
                unwaived = Status.FAILED if stated and self.strict else Status.REPORTED
            case (
                MixedReadings()
                | ReadingChanged()
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
                unwaived = Status.FAILED
            case _:
                assert_never(member.ruling)
        waiver = next((waiver for waiver in self.waivers if waiver.waives(member, facts)), None)
        return replace(member, status=Status.WAIVED if waiver else unwaived, waiver=waiver)

    def excuse_ends(
        self, members: Sequence[RecordStatus], facts: Mapping[str, Mapping[str, str]]
    ) -> tuple[RecordStatus, ...]:
        """Return records with those waived that an earlier case of their process explains.

        These are the ends of processes that the case alone does not end. A waiver with `after-others` that covers a
        case which the process was asked before, and which did not agree, says that the case harms its process.
        """
        harmful = [waiver for waiver in self.waivers if waiver.after_others]

        def excuse(member: RecordStatus) -> RecordStatus:
            earlier = reversed(member.record.earlier if member.status is Status.FAILED else ())
            pairs = ((case, waiver) for case in earlier for waiver in harmful)
            excusing = next((waiver for case, waiver in pairs if waiver.covers(case, facts.get(case, {}))), None)
            return replace(member, status=Status.WAIVED, waiver=excusing) if excusing else member

        return tuple(map(excuse, members))


def active_entries(
    file: WaiverFile | None, dialect_name: str, backend: BackendHeader, *, strict: bool = False
) -> ActiveEntries:
    """Return the entries of a file, if there is one, that hold for this dialect and this backend on its machine."""
    if file is None or not file.for_options(backend.options):
        return ActiveEntries(strict=strict)
    return ActiveEntries(
        tuple(waiver for waiver in file.waivers if waiver.active(dialect_name, backend)),
        tuple(entry for entry in file.unsupported if entry.on_machine(backend.machine)),
        tuple(pin for pin in file.pins if pin.active(dialect_name, backend)),
        strict,
    )


def fails_of(file: WaiverFile | None, header: RunHeader) -> Callable[[Case, Record], bool]:
    """Return what says whether a record is a failure, before the other cases of its run are known.

    Args:
        file: the backend's known deviations; None for none.
        header: the run's.
    """
    active = active_entries(file, header.dialect, header.backend)
    return lambda case, record: active.status_of(record, case.facts).status is Status.FAILED


def with_better_causes(
    members: Sequence[RecordStatus], judge: Callable[[Record, Ruling], RecordStatus]
) -> tuple[RecordStatus, ...]:
    """Return records with the refusals judged anew that have a better cause than a reading of the text.

    It is the cause of refusals that no reading and no waiver explains, and that have the same words.

    Args:
        members: the records with their statuses.
        judge: returns a record with its status, by what the gate makes of its answer.
    """
    unexplained = {_refused(member) for member in members if member.status is Status.FAILED} - {None}

    def with_better_cause(member: RecordStatus) -> RecordStatus:
        match member:
            case RecordStatus(status=Status.DISPUTED, ruling=ver.Disputed(message=message)):
                better = _refused(member) in unexplained
                judged = judge(member.record, ver.RefusedValid(message or "")) if better else member
                return replace(judged, by_words=better)
            case _:
                return member

    return tuple(map(with_better_cause, members)) if unexplained else tuple(members)


def _refused(member: RecordStatus) -> str | None:
    """Return the words of a refusal without their numbers; None of any other answer."""
    match member.ruling:
        case ver.RefusedValid(message) | ver.Disputed(message=str(message)):
            return without_numbers(message)
        case _:
            return None

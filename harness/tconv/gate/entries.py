"""The entries of a waiver file that hold for a run: the status that they give each record, and what they did.

What they did: whether each waiver is still needed, covers its example, or covers more than it should; and whether the
backend implements by now what is declared as unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tconv.cases.columns import FactColumns
from tconv.cases.patterns import path_of
from tconv.gate.status import AGREEING, FAILING, RecordStatus, Status
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.gate.scope import Scope
    from tconv.gate.status import Ruling
    from tconv.gate.waivers import Declaration, Pin, Waiver, WaiverFile
    from tconv.records.headers import BackendHeader, RunHeader
    from tconv.records.record import Record
    from tconv.records.record_file import Run

    Facts = Mapping[str, Mapping[str, str]]
    """The facts of cases, by id."""
    FactsOf = Callable[[str], Mapping[str, str] | None]


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

    def assign_status(self, record: Record, facts: Mapping[str, str], ruling: Ruling | None = None) -> RecordStatus:
        """Return a record with its status.

        Args:
            record: the record.
            facts: the case's facts.
            ruling: what the gate makes of the answer; None for its verdict.
        """
        ruling = record.verdict if ruling is None else ruling
        status = _UNWAIVED.get(ruling.kind, Status.FAILED)
        if isinstance(ruling, ver.AcceptedInvalid) and ruling.stated and self.strict:
            status = Status.FAILED
        member = RecordStatus(record, status, ruling, record.why)
        if isinstance(ruling, ver.Unsupported):
            declared = next((entry for entry in self.unsupported if entry.covers(record.case, facts)), None)
            return replace(member, status=Status.UNSUPPORTED, declaration=declared) if declared else member
        waivable = status in {Status.FAILED, Status.DISPUTED, Status.REPORTED}
        waiver = next((waiver for waiver in self.waivers if waivable and waiver.waives(member, facts)), None)
        return replace(member, status=Status.WAIVED, waiver=waiver) if waiver else member

    def excuse_end(self, member: RecordStatus, facts: Mapping[str, Mapping[str, str]]) -> RecordStatus:
        """Return a record, waived if an earlier case of its process explains it.

        It is the end of a process that the case alone does not end. A waiver with `after-others` that covers a case
        which the process was asked before, and which did not agree, says that the case harms its process.
        """
        earlier = reversed(member.record.earlier if member.status is Status.FAILED else ())
        pairs = ((case, waiver) for case in earlier for waiver in self.waivers if waiver.after_others)
        excusing = next((waiver for case, waiver in pairs if waiver.covers(case, facts.get(case, {}))), None)
        return replace(member, status=Status.WAIVED, waiver=excusing) if excusing else member


_UNWAIVED: Mapping[str, Status] = {
    "agreed": Status.PASSED,
    "inconclusive": Status.INCONCLUSIVE,
    "not-applicable": Status.NOT_APPLICABLE,
    "disputed": Status.DISPUTED,
    "accepted-invalid": Status.REPORTED,
    "unsupported": Status.UNDECLARED,
}
"""The status of each kind of ruling that is no deviation, if no entry covers the record."""


def select_active(
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


def make_failure_test(file: WaiverFile | None, header: RunHeader) -> Callable[[Case, Record], bool]:
    """Return what says whether a record is a failure, before the other cases of its run are known.

    Args:
        file: the backend's known deviations; None for none.
        header: the run's.
    """
    active = select_active(file, header.dialect, header.backend)
    return lambda case, record: active.assign_status(record, case.facts).status in FAILING


def correct_refusals(
    members: Sequence[RecordStatus], assign: Callable[[Record, Ruling], RecordStatus]
) -> Iterator[RecordStatus]:
    """Yield records, and the refusals judged anew that have a better cause than a reading of the text.

    It is the cause of refusals that no reading and no waiver explains, and that have the same words.

    Args:
        members: the records with their statuses.
        assign: returns a record with its status, by what the gate makes of its answer.
    """
    unexplained = {_find_refusal(member) for member in members if member.status is Status.FAILED}
    for member in members:
        match member:
            case RecordStatus(status=Status.DISPUTED, ruling=ver.Disputed(message=str(message))):
                has_cause = _find_refusal(member) in unexplained
                yield replace(assign(member.record, ver.RefusedValid(message)), by_words=True) if has_cause else member
            case _:
                yield member


def _find_refusal(member: RecordStatus) -> str | None:
    """Return the words of a refusal without their numbers; None of any other answer."""
    match member.ruling:
        case ver.RefusedValid(message) | ver.Disputed(message=str(message)):
            return without_numbers(message)
        case _:
            return None


State = Literal["unknown", "invalid", "stale", "unneeded", "wide", "fitting"]


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """What a waiver did in a run.

    Attributes:
        waiver: the waiver.
        state: unknown if its example is no case of the corpus, invalid if it does not cover its example; stale if
            the example ran and does not deviate, or unneeded where the waivers were written for another backend; wide
            where it also covers cases that agree. One with `after-others` is neither stale nor wide because its
            example, or another case, agrees; and none is stale if one with `after-others` waives its example.
        waived: how many records it waives.
        agreeing: the ids of the cases that it covers and that agree.
        shadowed_by: the name of an earlier waiver that waives the example, where this one waives nothing; else empty.
        example: the record of its example, if it ran.
    """

    waiver: Waiver
    state: State
    waived: int = 0
    agreeing: tuple[str, ...] = ()
    shadowed_by: str = ""
    example: RecordStatus | None = None


@dataclass(frozen=True, slots=True)
class DeclarationUse:
    """What a declaration under `unsupported:` did in a run.

    Attributes:
        entry: the declaration.
        unsupported: how many cases that it covers are unsupported.
        agreeing: the ids of the valid cases that it covers and that agree, in the order of the run.
    """

    entry: Declaration
    unsupported: int
    agreeing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaiverUses:
    """What a waiver file did in a run.

    Attributes:
        digest: that of the file; empty for none.
        relative: the backend that it was written for, where it is another.
        of_other_options: whether it is for other options of the backend, so that none of it applies.
        uses: what the waivers of this dialect, version and machine did.
        declarations: what the declarations of what is unsupported did, those that hold for this backend and machine.
        elsewhere: waivers of this dialect and version for other machines than the run's; nothing is said of them.
        of_other_versions: waivers of this dialect for other versions of the backend that would waive a failure.
    """

    digest: str = ""
    relative: str = ""
    of_other_options: bool = False
    uses: tuple[WaiverUse, ...] = ()
    declarations: tuple[DeclarationUse, ...] = ()
    elsewhere: tuple[Waiver, ...] = ()
    of_other_versions: tuple[Waiver, ...] = ()

    def of_state(self, *states: State) -> list[WaiverUse]:
        """Return what the waivers of some states did."""
        return [use for state in states for use in self.uses if use.state == state]

    @property
    def shadowed(self) -> list[WaiverUse]:
        """The waivers that waive nothing, as earlier ones of the file waive it first."""
        return [use for use in self.uses if use.shadowed_by]

    @property
    def implemented(self) -> list[DeclarationUse]:
        """The declarations of what is unsupported that cover valid cases that agree, and so do not fit.

        Those of another backend are not asked: this one may implement more.
        """
        return [use for use in self.declarations if use.agreeing and not self.relative]


def find_uses(
    file: WaiverFile | None,
    run: Run,
    members: Sequence[RecordStatus],
    active: ActiveEntries,
    facts: Facts,
    facts_of: FactsOf,
    *,
    own: bool,
) -> WaiverUses:
    """Return what a waiver file did in a run.

    Args:
        file: the file; None for none.
        run: the run.
        members: its records with their statuses.
        active: the entries that hold for its backend, dialect and machine.
        facts: the facts of the records' cases, by id.
        facts_of: returns a case's facts by its id; None where the corpus has no such case.
        own: whether the waivers were written for this corpus; else it need not have their examples.
    """
    if file is None:
        return WaiverUses()
    header, backend = run.header, run.header.backend
    applies = file.for_options(backend.options)
    relative = file.backend if file.backend != backend.name else ""
    by_case = {member.record.case: member for member in members}
    failed = [member for member in members if member.status is Status.FAILED]
    of_dialect = [waiver for waiver in file.waivers if applies and header.dialect in waiver.dialects]
    of_version = [waiver for waiver in of_dialect if waiver.of_version(header.dialect, backend.version)]
    # Each entry asks all records, so they are looked at column by column.
    columns = FactColumns.of([facts[member.record.case] for member in members])
    paths: dict[str, int] = {}
    of_path = [paths.setdefault(path_of(member.record.case), len(paths)) for member in members]

    def find_covered(entry: Scope) -> list[RecordStatus]:
        named = np.array([entry.is_for(path) for path in paths], dtype=bool)[of_path]
        return [members[index] for index in np.flatnonzero(named & entry.holding(columns)).tolist()]

    def judge_waiver(waiver: Waiver) -> WaiverUse:
        example, example_facts = by_case.get(waiver.example), facts_of(waiver.example)
        if example_facts is None and own:
            return WaiverUse(waiver, "unknown")
        if example_facts is not None and not waiver.covers(waiver.example, example_facts):
            return WaiverUse(waiver, "invalid")
        covered = find_covered(waiver)
        waived = sum(member.waiver is waiver for member in covered)
        agreeing = tuple(member.record.case for member in covered if member.status is Status.PASSED)
        state: State = "wide" if agreeing and not waiver.after_others else "fitting"
        earlier = example.waiver.name if example and example.waiver and not waived else ""
        if example is not None and not _may_deviate(example, waiver, example_facts or {}, whole=is_whole(run)):
            state, earlier = "unneeded" if relative else "stale", ""
        return WaiverUse(waiver, state, waived, agreeing, earlier, example)

    def judge_declaration(entry: Declaration) -> DeclarationUse:
        covered = find_covered(entry)
        unsupported = sum(isinstance(member.ruling, ver.Unsupported) for member in covered)
        passed = (member.record.case for member in covered if member.status is Status.PASSED)
        # That an invalid call is refused does not say whether a valid one is implemented.
        return DeclarationUse(entry, unsupported, tuple(case for case in passed if "breaks" not in facts[case]))

    return WaiverUses(
        digest=file.digest,
        relative=relative,
        of_other_options=not applies,
        uses=tuple(map(judge_waiver, active.waivers)),
        declarations=tuple(map(judge_declaration, active.unsupported)),
        elsewhere=tuple(waiver for waiver in of_version if not waiver.on_machine(backend.machine)),
        of_other_versions=tuple(
            waiver
            for waiver in of_dialect
            if not waiver.of_version(header.dialect, backend.version) and waiver.on_machine(backend.machine)
            if any(waiver.waives(member, facts[member.record.case]) for member in failed)
        ),
    )


def _may_deviate(example: RecordStatus, waiver: Waiver, facts: Mapping[str, str], *, whole: bool) -> bool:
    """Return whether a waiver's example deviates as it says, or may do so for all that the run shows.

    Only the example decides: in a run of a part of the corpus the other cases need not show the deviation. An earlier
    waiver may waive the example too. If the dialect cannot express it, the waiver cannot be checked. If the example
    follows a disputed reading, it is no failure without a waiver, and only the other cases can show that it deviates.
    It need not deviate if it fails, or does not fail, by chance.

    Args:
        example: the record of its example.
        waiver: the waiver.
        facts: the facts of its example.
        whole: whether the run has the cases of the gate.
    """
    if waiver.after_others and example.status in {*AGREEING, Status.INCONCLUSIVE, Status.REPORTED}:
        return True
    if example.status is Status.NOT_APPLICABLE or (example.waiver is not None and example.waiver.after_others):
        return True
    return not whole if isinstance(example.ruling, ver.Disputed) else waiver.waives(example, facts)


def is_whole(run: Run) -> bool:
    """Return whether a run has the cases of the gate, by which its answers are told apart."""
    return not run.header.patterns and run.header.tier != "smoke" and not run.header.shard

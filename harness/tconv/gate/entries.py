"""The entries of a waiver file that hold for a run: the status of each record, and the effect of each entry.

The effect says whether a waiver is still needed, covers its example, or covers too much, and whether the backend now
implements cases that are declared as unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

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
            ruling: the gate's ruling on the answer; None for its verdict.
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
        """Return the record of a case at which a process ended, but which alone ends none; waived if it is explained.

        A waiver with `after-others` explains it, if it covers an earlier case of the process that did not agree.
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
"""The status of kinds of rulings that are not deviations, if no entry covers the record."""


def select_active(
    file: WaiverFile | None, dialect_name: str, backend: BackendHeader, *, strict: bool = False
) -> ActiveEntries:
    """Return the entries of a file for this dialect and this backend on its machine; none without a file."""
    if file is None or not file.for_options(backend.options):
        return ActiveEntries(strict=strict)
    return ActiveEntries(
        tuple(waiver for waiver in file.waivers if waiver.active(dialect_name, backend)),
        tuple(entry for entry in file.unsupported if entry.on_machine(backend.machine)),
        tuple(pin for pin in file.pins if pin.active(dialect_name, backend)),
        strict,
    )


def make_failure_test(file: WaiverFile | None, header: RunHeader) -> Callable[[Case, Record], bool]:
    """Return a function that says whether a record is a failure, before the other cases of its run are known.

    Args:
        file: the backend's known deviations; None for none.
        header: the header of the run.
    """
    active = select_active(file, header.dialect, header.backend)
    return lambda case, record: active.assign_status(record, case.facts).status in FAILING


def correct_refusals(
    members: Sequence[RecordStatus], assign: Callable[[Record, Ruling], RecordStatus]
) -> Iterator[RecordStatus]:
    """Yield records; a disputed refusal is judged anew if a failed refusal, with no reading, has the same words.

    Both then have the same cause, which is not a reading of the text.

    Args:
        members: the records with their statuses.
        assign: returns a record with its status, given the ruling.
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
    """Return the words of a refusal without numbers; None if the answer is not a refusal."""
    match member.ruling:
        case ver.RefusedValid(message) | ver.Disputed(message=str(message)):
            return without_numbers(message)
        case _:
            return None


State = Literal["unknown", "invalid", "stale", "unneeded", "wide", "fitting"]


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """The effect of a waiver in a run.

    Attributes:
        waiver: the waiver.
        state: see below.
        waived: how many records it waives.
        agreeing: the ids of the cases that it covers and that agree.
        example: the record of its example, if it ran.

    The states are

    - unknown: its example is no case of the corpus.
    - invalid: it does not cover its example.
    - stale: the example ran and does not deviate.
    - unneeded: the same, but the waivers were written for another backend.
    - wide: it also covers cases that agree.
    - fitting: none of these.

    A waiver with `after-others` is not stale or wide because a case agrees. No waiver is stale if one with
    `after-others` waives its example.
    """

    waiver: Waiver
    state: State
    waived: int = 0
    agreeing: tuple[str, ...] = ()
    example: RecordStatus | None = None


@dataclass(frozen=True, slots=True)
class DeclarationUse:
    """The effect of a declaration under `unsupported:` in a run.

    Attributes:
        entry: the declaration.
        unsupported: how many of its cases are unsupported.
        agreeing: the ids of its valid cases that agree, in the order of the run.
    """

    entry: Declaration
    unsupported: int
    agreeing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaiverUses:
    """The effect of a waiver file in a run.

    Attributes:
        digest: the digest of the file; empty without a file.
        relative: the backend that it was written for, if that is another one.
        of_other_options: whether it is for other options of the backend, so that nothing in it applies.
        uses: the effects of the waivers for this dialect, version and machine.
        declarations: the effects of the declarations for this backend and machine.
        of_other_versions: waivers of this dialect for other versions of the backend that would waive a failure.
    """

    digest: str = ""
    relative: str = ""
    of_other_options: bool = False
    uses: tuple[WaiverUse, ...] = ()
    declarations: tuple[DeclarationUse, ...] = ()
    of_other_versions: tuple[Waiver, ...] = ()

    def of_state(self, *states: State) -> list[WaiverUse]:
        """Return the effects of the waivers with one of these states."""
        return [use for state in states for use in self.uses if use.state == state]

    @property
    def implemented(self) -> list[DeclarationUse]:
        """The declarations of unsupported cases that cover valid cases that agree, which is wrong.

        Declarations of another backend do not count: this one may implement more.
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
    """Return the effect of a waiver file in a run.

    Args:
        file: the file; None for none.
        run: the run.
        members: its records with their statuses.
        active: the entries for its backend, dialect and machine.
        facts: the facts of the records' cases, by id.
        facts_of: returns a case's facts by its id; None if the corpus has no such case.
        own: whether the waivers were written for this corpus; if not, it need not have their examples.
    """
    if file is None:
        return WaiverUses()
    backend = run.header.backend
    applies = file.for_options(backend.options)
    relative = file.backend if file.backend != backend.name else ""
    by_case = {member.record.case: member for member in members}
    # Each entry is compared with all records: of each path first.
    by_path: dict[str, list[RecordStatus]] = {}
    for member in members:
        by_path.setdefault(path_of(member.record.case), []).append(member)

    def find_covered(entry: Scope) -> list[RecordStatus]:
        named = (member for path, of_path in by_path.items() if entry.is_for(path) for member in of_path)
        return [member for member in named if entry.holds(facts[member.record.case])]

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
        if example is not None and not _may_deviate(example, waiver, example_facts or {}, whole=is_whole(run)):
            state = "unneeded" if relative else "stale"
        return WaiverUse(waiver, state, waived, agreeing, example)

    def judge_declaration(entry: Declaration) -> DeclarationUse:
        covered = find_covered(entry)
        unsupported = sum(isinstance(member.ruling, ver.Unsupported) for member in covered)
        passed = (member.record.case for member in covered if member.status is Status.PASSED)
        # A correct refusal of an invalid call does not show that valid ones are implemented.
        return DeclarationUse(entry, unsupported, tuple(case for case in passed if "breaks" not in facts[case]))

    return WaiverUses(
        digest=file.digest,
        relative=relative,
        of_other_options=not applies,
        uses=tuple(map(judge_waiver, active.waivers)),
        declarations=tuple(map(judge_declaration, active.unsupported)),
        of_other_versions=tuple(_find_of_other_versions(file, run.header, members, facts)) if applies else (),
    )


def _find_of_other_versions(
    file: WaiverFile, header: RunHeader, members: Sequence[RecordStatus], facts: Facts
) -> Iterator[Waiver]:
    """Yield the waivers that would waive a failure, if they were for this version."""
    failed = [member for member in members if member.status is Status.FAILED]
    for waiver in file.waivers:
        is_other = header.dialect in waiver.dialects and not waiver.of_version(header.dialect, header.backend.version)
        is_here = is_other and waiver.on_machine(header.backend.machine)
        if is_here and any(waiver.waives(member, facts[member.record.case]) for member in failed):
            yield waiver


def _may_deviate(example: RecordStatus, waiver: Waiver, facts: Mapping[str, str], *, whole: bool) -> bool:
    """Return whether the example of a waiver deviates as the waiver says, or may deviate.

    Only the example decides, as a run of a part of the corpus may lack the other cases. It may deviate although the run
    does not show it

    - if a waiver with `after-others` covers it: it fails by chance.
    - if the dialect cannot express it.
    - if it follows a disputed reading, and the run lacks the other cases that show the deviation.

    Args:
        example: the record of the example.
        waiver: the waiver.
        facts: the facts of the example.
        whole: whether the run has the cases of the gate.
    """
    if waiver.after_others and example.status in {*AGREEING, Status.INCONCLUSIVE, Status.REPORTED}:
        return True
    if example.status is Status.NOT_APPLICABLE or (example.waiver is not None and example.waiver.after_others):
        return True
    return not whole if isinstance(example.ruling, ver.Disputed) else waiver.waives(example, facts)


def is_whole(run: Run) -> bool:
    """Return whether a run has all cases of the gate tier."""
    return not run.header.patterns and run.header.tier != "smoke" and not run.header.shard

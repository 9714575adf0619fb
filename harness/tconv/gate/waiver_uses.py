"""What the entries of a waiver file did in a run.

Whether each waiver is still needed, covers its example, or covers more than it should; and whether the backend
implements by now what is declared as unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tconv.cases.columns import FactColumns
from tconv.cases.patterns import path_of
from tconv.gate.status import AGREEING, Status
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.gate.active_entries import ActiveEntries
    from tconv.gate.scope import Scope
    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import Declaration, Waiver, WaiverFile
    from tconv.records.record_file import Run

    Facts = Mapping[str, Mapping[str, str]]
    """The facts of cases, by id."""
    FactsOf = Callable[[str], Mapping[str, str] | None]

State = Literal["unknown", "void", "stale", "unneeded", "wide", "fitting"]


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """What a waiver did in a run.

    Attributes:
        waiver: the waiver.
        state: unknown where its example is no case of the corpus, void where it does not cover its example; stale where
            the example ran and does not deviate, or unneeded where the waivers were written for another backend; wide
            where it also covers cases that agree. One with `after-others` is neither stale nor wide because its
            example, or another case, agrees; and none is stale if one with `after-others` waives its example.
        waived: how many records it waives.
        agreeing: the ids of the cases that it covers and that agree.
        shadowed_by: the name of an earlier waiver that waives the example, where this one waives nothing; else empty.
    """

    waiver: Waiver
    state: State
    waived: int = 0
    agreeing: tuple[str, ...] = ()
    shadowed_by: str = ""


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
    covered_by = _covering(members, facts)
    of_dialect = [waiver for waiver in file.waivers if applies and header.dialect in waiver.dialects]
    failed = [member for member in members if member.status is Status.FAILED]
    other_machine: list[Waiver] = []
    other_version: list[Waiver] = []
    for waiver in of_dialect:
        is_here = waiver.on_machine(backend.machine)
        if waiver.of_version(header.dialect, backend.version):
            other_machine += [] if is_here else [waiver]
        elif is_here and any(waiver.waives(member, facts[member.record.case]) for member in failed):
            other_version.append(waiver)
    relative = file.backend if file.backend != backend.name else ""
    by_case = {member.record.case: member for member in members}

    def use_of(waiver: Waiver) -> WaiverUse:
        example_facts = facts_of(waiver.example)
        if example_facts is None and own:
            return WaiverUse(waiver, "unknown")
        if example_facts is not None and not waiver.covers(waiver.example, example_facts):
            return WaiverUse(waiver, "void")
        return _use(waiver, covered_by(waiver), by_case.get(waiver.example), example_facts or {}, whole=is_whole(run))

    uses = map(use_of, active.waivers)
    return WaiverUses(
        digest=file.digest,
        relative=relative,
        of_other_options=not applies,
        uses=tuple(replace(use, state="unneeded") if relative and use.state == "stale" else use for use in uses),
        declarations=tuple(_declaration_use(entry, covered_by(entry), facts) for entry in active.unsupported),
        elsewhere=tuple(other_machine),
        of_other_versions=tuple(other_version),
    )


def _use(
    waiver: Waiver,
    covered: Sequence[RecordStatus],
    example: RecordStatus | None,
    facts: Mapping[str, str],
    *,
    whole: bool,
) -> WaiverUse:
    """Return what a waiver that covers its example did in a run.

    Only the example decides: in a run of a part of the corpus the other cases need not show the deviation. Where the
    dialect cannot express it, the waiver cannot be checked.

    Args:
        waiver: the waiver.
        covered: the records that it covers.
        example: that of its example; None if it was not asked.
        facts: the facts of its example.
        whole: whether the run has the cases of the gate.
    """
    waived = sum(member.waiver is waiver for member in covered)
    agreeing = tuple(member.record.case for member in covered if member.status is Status.PASSED)
    stale = (
        example is not None
        and example.status is not Status.INEXPRESSIBLE
        and not _deviates(example, waiver, facts, whole=whole)
        and not _by_chance(example, waiver)
    )
    if stale:
        return WaiverUse(waiver, "stale", waived, agreeing)
    earlier = example.waiver.name if example and example.waiver and not waived else ""
    wide = agreeing and not waiver.after_others
    return WaiverUse(waiver, "wide" if wide else "fitting", waived, agreeing, earlier)


def _declaration_use(entry: Declaration, covered: Sequence[RecordStatus], facts: Facts) -> DeclarationUse:
    unsupported = sum(isinstance(member.ruling, ver.Unsupported) for member in covered)
    passed = [member.record.case for member in covered if member.status is Status.PASSED]
    # That an invalid call is refused does not say whether a valid one is implemented.
    return DeclarationUse(entry, unsupported, tuple(case for case in passed if "breaks" not in facts[case]))


def _covering(members: Sequence[RecordStatus], facts: Facts) -> Callable[[Scope], list[RecordStatus]]:
    """Return what says which records an entry covers, in the order of the run.

    Each entry asks all records, so they are looked at column by column.

    Args:
        members: the records of the run with their statuses.
        facts: the facts of the records' cases, by id.
    """
    of_cases = FactColumns.of([facts[member.record.case] for member in members])
    paths: dict[str, int] = {}
    of_path = [paths.setdefault(path_of(member.record.case), len(paths)) for member in members]

    def covered(entry: Scope) -> list[RecordStatus]:
        named = np.array([entry.is_for(path) for path in paths], dtype=bool)[of_path]
        return [members[index] for index in np.flatnonzero(named & entry.holding(of_cases)).tolist()]

    return covered


def _deviates(example: RecordStatus, waiver: Waiver, facts: Mapping[str, str], *, whole: bool) -> bool:
    """Return whether a waiver's example deviates as it says, or may do so for all that a part of the corpus shows.

    An earlier waiver may waive the example too. Where the example follows a disputed reading, it is no failure without
    a waiver, and only the other cases can show that it deviates.
    """
    if isinstance(example.ruling, ver.Disputed):
        return not whole
    return waiver.waives(example, facts)


def _by_chance(example: RecordStatus, waiver: Waiver) -> bool:
    """Return whether a waiver's example need not deviate as it says: it does not fail by chance, or fails by chance."""
    if waiver.after_others and example.status in (*AGREEING, Status.MISTRUSTED, Status.REPORTED):
        return True
    return example.waiver is not None and example.waiver.after_others


def is_whole(run: Run) -> bool:
    """Return whether a run has the cases of the gate, by which its answers are told apart."""
    return not run.header.patterns and run.header.tier != "smoke" and not run.header.shard

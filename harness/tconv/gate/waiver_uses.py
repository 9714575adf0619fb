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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.gate.scope import Scope
    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import Declaration, Waiver
    from tconv.records.record_file import Run

    FactsOf = Callable[[str], Mapping[str, str] | None]


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
    state: Literal["unknown", "void", "stale", "unneeded", "wide", "fitting"]
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


def waiver_uses(
    run: Run,
    members: Sequence[RecordStatus],
    active: Sequence[Waiver],
    facts: Mapping[str, Mapping[str, str]],
    facts_of: FactsOf,
    *,
    own: bool,
) -> Iterator[WaiverUse]:
    """Yield what each waiver did in a run.

    Args:
        run: the run.
        members: its records with their statuses.
        active: the waivers that hold for its backend, dialect and machine.
        facts: the facts of the records' cases, by id.
        facts_of: returns a case's facts by its id; None where the corpus has no such case.
        own: whether the waivers were written for this corpus; else it need not have their examples.
    """
    whole = is_whole(run)
    by_case = {member.record.case: member for member in members}
    covered_by = _covering(members, facts)
    for waiver in active:
        example_facts = facts_of(waiver.example)
        if example_facts is None and own:
            yield WaiverUse(waiver, "unknown")
            continue
        if example_facts is not None and not waiver.covers(waiver.example, example_facts):
            yield WaiverUse(waiver, "void")
            continue
        covered = covered_by(waiver)
        waived = sum(member.waiver is waiver for member in covered)
        agreeing = tuple(member.record.case for member in covered if member.status is Status.PASSED)
        # Only the example decides: in a run of a part of the corpus the other cases need not show the deviation.
        # Where the dialect cannot express it, the waiver cannot be checked.
        example = by_case.get(waiver.example)
        stale = (
            example is not None
            and example.status is not Status.INEXPRESSIBLE
            and not _deviates(example, waiver, example_facts or {}, whole=whole)
            and not _by_chance(example, waiver)
        )
        if stale:
            yield WaiverUse(waiver, "stale", waived, agreeing)
        else:
            earlier = example.waiver.name if example and example.waiver and not waived else ""
            wide = agreeing and not waiver.after_others
            yield WaiverUse(waiver, "wide" if wide else "fitting", waived, agreeing, earlier)


def declaration_uses(
    members: Sequence[RecordStatus],
    entries: Sequence[Declaration],
    facts: Mapping[str, Mapping[str, str]],
) -> Iterator[DeclarationUse]:
    """Yield what each declaration did in a run.

    Args:
        members: the records of the run with their statuses.
        entries: the declarations that hold for its backend and machine.
        facts: the facts of the records' cases, by id.
    """
    covered_by = _covering(members, facts)
    for entry in entries:
        covered = covered_by(entry)
        unsupported = sum(isinstance(member.record.verdict, ver.Unsupported) for member in covered)
        # That an invalid call is refused does not say whether a valid one is implemented.
        agreeing = [
            member.record.case
            for member in covered
            if member.status is Status.PASSED and "breaks" not in facts[member.record.case]
        ]
        yield DeclarationUse(entry, unsupported, tuple(agreeing))


def _covering(
    members: Sequence[RecordStatus], facts: Mapping[str, Mapping[str, str]]
) -> Callable[[Scope], list[RecordStatus]]:
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


def excused_ends(
    members: Sequence[RecordStatus], active: Sequence[Waiver], facts: Mapping[str, Mapping[str, str]]
) -> tuple[RecordStatus, ...]:
    """Return records with those waived that an earlier case of their process explains.

    These are the ends of processes that the case alone does not end. A waiver with `after-others` that covers a case
    which the process was asked before, and which did not agree, says that the case harms its process.
    """
    harmful = [waiver for waiver in active if waiver.after_others]

    def excused(member: RecordStatus) -> RecordStatus:
        record = member.record
        if member.status is not Status.FAILED or not record.earlier:
            return member
        for case in reversed(record.earlier):
            waiver = next((waiver for waiver in harmful if waiver.covers(case, facts.get(case, {}))), None)
            if waiver is not None:
                return replace(member, status=Status.WAIVED, waiver=waiver, reason=waiver.because)
        return member

    return tuple(map(excused, members))


def _deviates(example: RecordStatus, waiver: Waiver, facts: Mapping[str, str], *, whole: bool) -> bool:
    """Return whether a waiver's example deviates as it says, or may do so for all that a part of the corpus shows.

    An earlier waiver may waive the example too. Where the example follows a disputed reading, it is no failure without
    a waiver, and only the other cases can show that it deviates.
    """
    if isinstance(example.record.verdict, ver.Disputed):
        return not whole
    return waiver.waives(example.record, facts)


def _by_chance(example: RecordStatus, waiver: Waiver) -> bool:
    """Return whether a waiver's example need not deviate as it says: it does not fail by chance, or fails by chance."""
    if waiver.after_others and example.status in (*AGREEING, Status.MISTRUSTED, Status.REPORTED):
        return True
    return example.waiver is not None and example.waiver.after_others


def is_whole(run: Run) -> bool:
    """Return whether a run has the cases of the gate, by which its verdicts are settled."""
    return not run.header.patterns and run.header.tier != "smoke" and not run.header.shard

"""What declarations of what a backend does not implement did in a run: whether the backend implements it by now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.gate.covering import covering
from tconv.gate.status import Status
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import Declaration


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
    covered_by = covering(members, entries, facts)
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

"""How one case changed between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tconv.dialects.readings import Combination
from tconv.gate.status import AGREEING, FAILING, MixedReadings, ReadingChanged, Status
from tconv.reports.notes import NO_VALUES, list_notes
from tconv.verdict.kinds import Agreed, Differed, Disputed, Imprecise, WrongDtype, WrongShape

if TYPE_CHECKING:
    from tconv.gate.status import GroupKey, RecordStatus, Ruling

_LEVELS = (
    {Status.PASSED, Status.DISPUTED, Status.NOT_APPLICABLE},
    {Status.UNSUPPORTED, Status.REPORTED, Status.INCONCLUSIVE},
    {Status.WAIVED, Status.TWIN_FAILED},
    set(FAILING),
)
"""Statuses from best to worst; statuses of one level are equally good."""


_WRONG = Differed | WrongShape | WrongDtype


class Transition(StrEnum):
    """What became of a case between two runs, the most urgent first."""

    NEW = "new"
    CHANGED = "changed"
    FIXED = "fixed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class CaseState:
    """The state of a case in a run.

    Attributes:
        member: its record with its status.
        cause: its cause in words.
        group: the key of its cause.
        varies: whether its answer varies from call to call, or may vary: then its values are not compared.
    """

    member: RecordStatus
    cause: str
    group: GroupKey
    varies: bool = False

    @property
    def status(self) -> Status:
        """Its status."""
        return self.member.status

    @property
    def level(self) -> tuple[int, bool]:
        """How bad it is: the level of its status, from 0, and whether no values were compared."""
        level = next(level for level, statuses in enumerate(_LEVELS) if self.status in statuses)
        return level, NO_VALUES in list_notes(self.member)


def transition(was: CaseState | None, now: CaseState | None) -> Transition | None:
    """Return how a case changed; None if it did not, or if only the new run asked it and it does not fail.

    Args:
        was: its state in the old run; None if that did not ask it.
        now: its state in the new run; None if that did not ask it.
    """
    if now is None:
        return Transition.GONE
    if was is None:
        return Transition.NEW if now.status in FAILING else None
    if now.level > was.level or has_other_values(was, now):
        return Transition.NEW
    # A failure is not fixed by a waiver.
    if now.level < was.level and (was.status, now.status) != (Status.FAILED, Status.WAIVED):
        return Transition.FIXED
    return None if now.status is was.status and _alike(was.member, now.member) else Transition.CHANGED


def has_other_values(was: CaseState | None, now: CaseState | None) -> bool:
    """Return whether a valid call has other values in the new run, and its status does not show it.

    Answers that follow readings are compared by these readings: one in common is enough. A refusal by a reading is a
    reading too. For wrong outputs the digests are compared. If a digest is of the wrong elements alone, a common
    misreading shows that the values are the same.
    """
    if was is None or now is None or was.varies or now.varies:
        return False
    if now.level != was.level and not {was.status, now.status}.isdisjoint(AGREEING):
        return False
    # An answer that follows a reading has no digest.
    digests = not any(
        isinstance(state.member.ruling, _WRONG) and state.member.record.digest is None for state in (was, now)
    )
    before, after = (_compared(state.member, digests=digests) for state in (was, now))
    return bool(before and after) and before.isdisjoint(after)


def _compared(member: RecordStatus, *, digests: bool) -> set[str]:
    """Return the keys of a record's values: two records have the same values if they share a key; empty for none.

    Args:
        member: the record with its status.
        digests: whether both records have one, if they are of wrong outputs.
    """
    match ruling := member.ruling:
        case Disputed(rule="refusal") | ReadingChanged(rule="refusal"):
            return {"refusal"}
        case Agreed() | Disputed() | MixedReadings() | ReadingChanged():
            return {str(Combination(readings)) for readings in _choices(ruling)}
        case Imprecise():
            # Only the last bits are wrong, and these differ between machines.
            return {ruling.kind}
        case Differed() | WrongShape() | WrongDtype() if digests:
            same = member.why.explained if isinstance(ruling, Differed) and ruling.rule == "bound" else ()
            return {str(member.record.digest), *map(str, same)}
        case WrongShape(_, actual) | WrongDtype(_, actual):
            return {str(actual)}
        case _:
            return set()


def _alike(old: RecordStatus, new: RecordStatus) -> bool:
    """Return whether two records show the same failure, or none."""
    before, after = old.failure, new.failure
    return before is after is None or (before is not None and before.alike(after))


def answered_alike(was: CaseState | None, now: CaseState | None) -> bool:
    """Return whether a case may follow the same readings in both runs, and other cases show more of it in only one run.

    The other cases show that readings are mixed, or which of several readings a case follows, and a part of the corpus
    may lack them. So a case that alone is no failure is not called fixed.
    """
    if was is None or now is None:
        return False
    rulings = was.member.ruling, now.member.ruling
    mixed = sum(isinstance(ruling, MixedReadings) for ruling in rulings)
    # Mixed readings have no rule; for other answers it is known whether values were compared.
    undecided = was.level[1] == now.level[1] and any(
        isinstance(ruling, Disputed) and ruling.alike for ruling in rulings
    )
    told = mixed == 1 or (not mixed and undecided)
    return told and not _choices(rulings[0]).isdisjoint(_choices(rulings[1]))


def _choices(ruling: Ruling) -> set[tuple[str, ...]]:
    """Return the readings that a value may follow, each as names that belong together; `()` for the text's own.

    The set is empty if the text does not allow the answer.
    """
    match ruling:
        case Agreed() if ruling.rule != "refusal":
            return {()}
        case MixedReadings():
            return {tuple(ruling.readings)}
        case Disputed() | ReadingChanged() if ruling.rule != "refusal":
            # The text's own reading has no name.
            return {Combination.parse(choice).names for choice in ruling.choices} or {()}
        case _:
            return set()

"""What became of one case between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tconv.dialects.readings import Together
from tconv.gate.notes import NO_VALUES, noted
from tconv.gate.status import AGREEING, Status
from tconv.records.failure import failure
from tconv.verdict.kinds import (
    Agreed,
    Differed,
    Disputed,
    ExceedsSummationBound,
    Inconsistent,
    ReadingChanged,
    WrongDtype,
    WrongShape,
)

if TYPE_CHECKING:
    from tconv.records.record import Record
    from tconv.verdict.kinds import Verdict

_LEVELS = (
    {Status.PASSED, Status.DISPUTED, Status.INEXPRESSIBLE},
    {Status.UNSUPPORTED, Status.REPORTED, Status.MISTRUSTED},
    {Status.WAIVED},
    {Status.FAILED},
)
"""Statuses from the best to the worst; those of one level are neither better nor worse than each other."""


_WRONG = Differed | WrongShape | WrongDtype


class Transition(StrEnum):
    """What became of a case between two runs, the most urgent first."""

    NEW = "new"
    CHANGED = "changed"
    FIXED = "fixed"
    GONE = "gone"


MEANINGS = {
    Transition.NEW: "became worse, has other values than before, or fails and was not asked before",
    Transition.CHANGED: "has another answer, neither better nor worse; or failed, and is waived now",
    Transition.FIXED: "became better",
    Transition.GONE: "is not asked any more",
}


@dataclass(frozen=True, slots=True)
class CaseState:
    """How a case stands in a run.

    Attributes:
        status: its status.
        cause: its cause in words.
        record: its record.
        group: what makes records those of its cause.
        varies: whether its answer varies from call to call, or may do so: its values are not compared.
    """

    status: Status
    cause: str
    record: Record
    group: tuple[str, ...]
    varies: bool = False

    @property
    def level(self) -> tuple[int, bool]:
        """How bad it is: that of its status, from 0, and whether no values were compared."""
        level = next(level for level, statuses in enumerate(_LEVELS) if self.status in statuses)
        return level, NO_VALUES in noted(self.record)


def transition(was: CaseState | None, now: CaseState | None) -> Transition | None:
    """Return what became of a case; None if it is as it was, or if it was not asked before and does not fail.

    Args:
        was: how it stands in the old run; None where that did not ask it.
        now: how it stands in the new run, likewise.
    """
    if now is None:
        return Transition.GONE
    if was is None:
        return Transition.NEW if now.status is Status.FAILED else None
    if now.level > was.level or has_other_values(was, now):
        return Transition.NEW
    # Whoever waives a failure has not fixed it.
    if now.level < was.level and (was.status, now.status) != (Status.FAILED, Status.WAIVED):
        return Transition.FIXED
    return None if now.status is was.status and _alike(was.record, now.record) else Transition.CHANGED


def has_other_values(was: CaseState | None, now: CaseState | None) -> bool:
    """Return whether a valid call has other values in the new run. That they became right or wrong, its status says.

    What follows a reading is compared by it, and it is enough if the two have one in common that gives the values. A
    refusal by a reading is a reading too. Of a wrong output the digests are compared. Where these are of what is wrong
    alone, a misreading in common shows that the values are the same.
    """
    if was is None or now is None or was.varies or now.varies:
        return False
    if now.level != was.level and not {was.status, now.status}.isdisjoint(AGREEING):
        return False
    # What follows a reading has no digest.
    digests = not any(isinstance(state.record.verdict, _WRONG) and state.record.digest is None for state in (was, now))
    before, after = (_compared(state.record, digests=digests) for state in (was, now))
    return bool(before and after) and before.isdisjoint(after)


def _compared(record: Record, *, digests: bool) -> set[str]:
    """Return what is compared of a record's values, of which two records must have one in common; empty for none.

    Args:
        record: the record.
        digests: whether both records have one, if they are of wrong outputs.
    """
    match verdict := record.verdict:
        case Disputed(rule="refusal") | ReadingChanged(rule="refusal"):
            return {"refusal"}
        case Agreed() | Disputed() | Inconsistent() | ReadingChanged():
            return {str(Together(readings)) for readings in _choices(verdict)}
        case ExceedsSummationBound():
            # The last bits alone are wrong, and these differ between machines.
            return {verdict.kind}
        case Differed() | WrongShape() | WrongDtype() if digests:
            same = record.diagnosis if isinstance(verdict, Differed) and verdict.rule == "bound" else ()
            return {str(record.digest), *map(str, same)}
        case WrongShape(_, actual) | WrongDtype(_, actual):
            return {str(actual)}
        case _:
            return set()


def _alike(old: Record, new: Record) -> bool:
    """Return whether two records show the same failure, or none."""
    before, after = failure(old), failure(new)
    return before is after is None or (before is not None and before.alike(after))


def answered_alike(was: CaseState | None, now: CaseState | None) -> bool:
    """Return whether a case may follow the same readings in both runs, and other cases settled it in one of them.

    They show that it is inconsistent, or which of several readings it follows, and a part of the corpus may be without
    them: that the case alone is no failure does not say that it was mended.
    """
    if was is None or now is None:
        return False
    verdicts = was.record.verdict, now.record.verdict
    inconsistent = sum(isinstance(verdict, Inconsistent) for verdict in verdicts)
    # What is inconsistent has no rule: of others it is known whether values were compared.
    undecided = was.level[1] == now.level[1] and any(
        isinstance(verdict, Disputed) and verdict.alike for verdict in verdicts
    )
    settled = inconsistent == 1 or (not inconsistent and undecided)
    return settled and not _choices(verdicts[0]).isdisjoint(_choices(verdicts[1]))


def _choices(verdict: Verdict) -> set[tuple[str, ...]]:
    """Return the readings that a value may follow, each as names that are followed together; `()` for the text's own.

    An answer that is no value of the text has none.
    """
    match verdict:
        case Agreed() if verdict.rule != "refusal":
            return {()}
        case Inconsistent():
            return {tuple(verdict.readings)}
        case Disputed() | ReadingChanged() if verdict.rule != "refusal":
            # The text's own reading has no name.
            return {Together.parse(choice).names for choice in verdict.choices} or {()}
        case _:
            return set()

"""Cases at which a worker ended, until it is known whether they are the cause."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from tconv.records.record import Line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case


class Suspects:
    """Cases at which a worker ended after others, and companies of which one ended twice; both are asked again."""

    def __init__(self) -> None:
        # By the id of the case, of a company by that of its first case.
        self._ends: dict[str, _End] = {}
        # The company, by the ids of its cases, each of which is asked alone.
        self._companies: dict[str, _DeadlyCompany] = {}

    def __contains__(self, case: Case) -> bool:
        return case.id in self._ends

    def add(self, case: Case, cause: str = "", earlier: tuple[str, ...] = ()) -> None:
        """Suspect a case.

        Args:
            case: the case at which a worker ended, or the first one of a company.
            cause: how it died; empty where it hung, as it may do on a busy machine.
            earlier: the ids of the cases that its process was asked before, see `records.record`.
        """
        self._ends[case.id] = _End(cause, earlier)

    def discard(self, case: Case) -> None:
        """Suspect a case no more: what it does is known."""
        self._ends.pop(case.id, None)

    def add_company(self, cases: Sequence[Case], ids: tuple[str, ...], outcome: ver.Died | ver.TimedOut) -> None:
        """Suspect a company.

        Args:
            cases: those that have no record yet.
            ids: all of the company.
            outcome: how the worker ended, the second time.
        """
        company = _DeadlyCompany(ids, outcome, len(cases))
        self._companies.update((case.id, company) for case in cases)

    def confirmed(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield lines: with the cause where a worker died at the case after others and not when it ran alone.

        The lines of a company at which workers ended twice are yielded together, when all of them are there.
        """
        for line in lines:
            end = self._ends.pop(line.case, _HUNG)
            confirmed = Line.of(replace(line.record, harmed=end.cause, earlier=end.earlier)) if end.cause else line
            if company := self._companies.pop(line.case, None):
                yield from company.judged(confirmed)
            else:
                yield confirmed


class _End(NamedTuple):
    """How a worker ended: of what, empty where it hung, and which cases its process was asked before."""

    cause: str = ""
    earlier: tuple[str, ...] = ()


_HUNG = _End()


@dataclass(slots=True)
class _DeadlyCompany:
    """A company of which a worker died or at which it hung, twice: its cases are asked alone.

    Attributes:
        ids: its cases.
        outcome: how the worker ended.
        awaited: how many of its cases have no record yet.
        lines: the lines of these, alone, as far as they are there.
    """

    ids: tuple[str, ...]
    outcome: ver.Died | ver.TimedOut
    awaited: int
    lines: list[Line] = field(default_factory=list)

    def judged(self, line: Line) -> Iterator[Line]:
        """Add a line, and yield all with the last one; where no case ends a worker alone, each differs in company."""
        self.lines.append(line)
        if len(self.lines) < self.awaited:
            return
        records = [line.record for line in self.lines]
        survived = not any(isinstance(record.verdict, ver.Died | ver.TimedOut) for record in records)
        for record in records:
            # A case that is wrong alone too keeps that verdict.
            right = isinstance(record.verdict, ver.Allowed | ver.Mistrusted)
            differs = ver.DiffersInCompany(self.ids, _ended(self.outcome), record.verdict.kind)
            yield Line.of(replace(record, verdict=differs) if survived and right else record)


def _ended(outcome: ver.Died | ver.TimedOut) -> str:
    """Return how a worker ended, in a few words."""
    return outcome.cause if isinstance(outcome, ver.Died) else f"no answer in {outcome.seconds:g} s"

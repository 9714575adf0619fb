"""Cases at which a worker ended, until it is known whether they are the cause."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tconv.records.record import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tconv.cases.case import Case


class Suspects:
    """Cases at which a worker died after others; each is asked again, in a worker that was asked nothing before."""

    def __init__(self) -> None:
        self._ends: dict[str, _End] = {}

    def __contains__(self, case: Case) -> bool:
        return case.id in self._ends

    def add(self, case: Case, cause: str, earlier: tuple[str, ...]) -> None:
        """Suspect a case.

        Args:
            case: the case at which a worker died.
            cause: how it died.
            earlier: the ids of the cases that its process was asked before, see `records.record`.
        """
        self._ends[case.id] = _End(cause, earlier)

    def discard(self, case: Case) -> None:
        """Suspect a case no more: what it does is known."""
        self._ends.pop(case.id, None)

    def confirmed(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield lines: with the cause if a worker died at the case after others, and not when it was asked alone."""
        for line in lines:
            end = self._ends.pop(line.case, None)
            yield Line.of(replace(line.record, harmed=end.cause, earlier=end.earlier)) if end else line


class _End(NamedTuple):
    """How a worker died, and which cases its process was asked before."""

    cause: str
    earlier: tuple[str, ...]

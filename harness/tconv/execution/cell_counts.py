"""What a run writes of a case: its record, or, of a plain pass in the exhaustive tier, one more in its cell's count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tconv.records.cells import Count, plain_pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.records.record import Line


@dataclass(slots=True)
class _OpenCell:
    """A cell whose cases are being asked: how many have no answer yet, and whether there will be more."""

    awaited: int = 0
    ended: bool = False
    passes: Count = field(default_factory=Count)


class CellCounts:
    """The cells of a run that are not complete yet; they are few, as the cases of a cell follow each other.

    A cell's counts are written when all its cases are answered, so that a run that is resumed asks the rest again.

    Args:
        cell: returns the cell of a case by its id, or None where it has a record in any case.
    """

    def __init__(self, cell: Callable[[str], str | None]) -> None:
        self._cell = cell
        self._open: dict[str, _OpenCell] = {}

    def awaiting(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases, and await the line of each."""
        last = None
        for case in cases:
            if (name := self._cell(case.id)) != last:
                self._end(last)
                last = name
            if name is not None:
                self._open.setdefault(name, _OpenCell()).awaited += 1
            yield case
        self._end(last)

    def text(self, line: Line) -> str:
        """Return what is to be written now that a case has its line; nothing where it is only counted."""
        if (name := self._cell(line.case)) is None:
            return f"{line.text}\n"
        cell, passed = self._open[name], plain_pass(line.text)
        cell.awaited -= 1
        if passed is not None:
            cell.passes.add(line.case, *passed)
        own_line = f"{line.text}\n" if passed is None else ""
        return own_line + self.complete() if cell.ended and not cell.awaited else own_line

    def complete(self) -> str:
        """Return the lines of the cells that are complete, and forget these."""
        names = [name for name, cell in self._open.items() if cell.ended and not cell.awaited]
        return "".join(f"{cell.line()}\n" for name in names for cell in self._open.pop(name).passes.cells(name))

    def _end(self, name: str | None) -> None:
        if name is not None:
            self._open[name].ended = True

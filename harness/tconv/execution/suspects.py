"""Cases that may have caused the death of a process: those at which it died, and those that it was asked before."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tconv.records.record import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tconv.cases.case import Case


_MOST = 1000
"""How many ids of a process are kept, the last ones: a record is one line, whose length is limited."""
_KIND = '"verdict":{{"kind":"{}"'
_NO_DEVIATION = tuple(map(_KIND.format, ("agreed", "inexpressible", "mistrusted", "unsupported")))
"""How records have the verdicts that are no deviation. In a message of a runtime the quotation marks are escaped."""
_DIED = _KIND.format("died")
_HARMED = '"harmed":"'


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


class EarlierCases:
    """The cases that a process was asked, as far as their records do not say that the answers were right.

    Attributes:
        ids: theirs, the last one last.
    """

    def __init__(self) -> None:
        self.ids: deque[str] = deque(maxlen=_MOST)

    def passed(self, line: Line) -> Line:
        """Take the line of a case that the process was asked, and return it.

        Where the backend has a process of its own that died, the line gets what that one was asked before, and another
        process has taken its place.
        """
        if _HARMED in line.text:
            line = Line.of(replace(line.record, earlier=tuple(self.ids)))
            self.ids.clear()
        # The other process was asked the case too, and answered.
        if _DIED in line.text:
            self.ids.clear()
        elif not any(kind in line.text for kind in _NO_DEVIATION):
            self.ids.append(line.case)
        return line

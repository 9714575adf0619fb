"""Which cases a process was asked before: one of these, and not the case that it was at, may have caused its death."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from tconv.records.record import Line

_MOST = 1000
"""How many ids of a process are kept, the last ones: a record is one line, whose length is limited."""
_KIND = '"verdict":{{"kind":"{}"'
_NO_DEVIATION = tuple(map(_KIND.format, ("agreed", "inexpressible", "mistrusted", "unsupported")))
"""How records have the verdicts that are no deviation. In a message of a runtime the quotation marks are escaped."""
_DIED = _KIND.format("died")
_HARMED = '"harmed":"'


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

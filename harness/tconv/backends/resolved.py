"""For runtimes that have no text of their own: the call's geometry, resolved by the dialect's primary rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends.outcome import Refused
from tconv.dialects import DIALECTS
from tconv.expectation.owed import Values, owed

if TYPE_CHECKING:
    from tconv.cases.call import Call
    from tconv.dialects.geometry import Geometry

SPOKEN = ("geometry/1", *(name for name in DIALECTS if name != "geometry/1"))
"""Every dialect: what is resolved first can be said in any."""


def geometry_of(call: Call) -> Geometry | Refused:
    """Return the geometry of a call's primary reading, or the refusal that the dialect owes."""
    expected = owed(call.written, call.dialect)
    if isinstance(expected, Values):
        return expected.primary.geometry
    return Refused(str(expected.violation))

"""The long texts of a verdict for the panel of a record, and numbers as the page writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tconv.dialects.readings import Combination
from tconv.gate.status import MixedReadings, ReadingChanged
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.status import Ruling

_PROSE = {"message": "Message", "stderr": "Standard error, its end", "reason": "Reason"}


def prose(verdict: Ruling) -> list[tuple[str, str]]:
    """Return a verdict's long texts with headings: messages, the end of standard error, reasons."""
    texts = ((heading, getattr(verdict, name, "")) for name, heading in _PROSE.items())
    return [(heading, content) for heading, content in texts if content]


def readings(verdict: Ruling) -> tuple[tuple[str, ...], ...]:
    """Return the readings that the backend follows instead of the primary ones, as tuples of names that go together.

    If several give the same output, all of them are returned.
    """
    match verdict:
        case ver.Disputed(choices=choices) | ReadingChanged(choices=choices):
            return tuple(Combination.parse(choice).names for choice in choices)
        case ver.Inconclusive(readings=followed) | MixedReadings(readings=followed) if followed:
            return (followed,)
        case _:
            return ()


def text(value: object) -> str:
    """Return a figure as text: integers in brackets, non-finite numbers in JSON's words."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        return integers(value) if all(isinstance(entry, int) for entry in value) else ", ".join(map(text, value))
    return str(value)


def integers(values: Sequence[int]) -> str:
    """Return a shape or an index in brackets, as the specifications write it."""
    return f"[{', '.join(map(str, values))}]"


def number(value: float) -> str:
    """Return the shortest text for this float64, without `.0`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value)).removesuffix(".0")

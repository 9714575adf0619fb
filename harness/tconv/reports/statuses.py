"""How a status is shown: what the terminal and the page say of each is written here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.gate.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Look:
    """A status before a reader.

    Attributes:
        symbol: stands before its name on the page.
        style: its colour on the terminal.
        meaning: what it says of a record, on the page.
        total: what the records that have it are, beside their number on the terminal.
        heading: above their causes on the terminal; empty where no causes are listed.
    """

    symbol: str
    style: str
    meaning: str
    total: str
    heading: str = ""


STATUSES: Mapping[Status, Look] = MappingProxyType(
    {
        Status.FAILED: Look(
            "✗",
            "bold red",
            "a deviation without a waiver, or anything that is no answer",
            "deviations that nobody has waived",
            "failed",
        ),
        Status.REPORTED: Look(
            "!",
            "magenta",
            "an invalid call that got a value; red only under --strict",
            "invalid models that were answered; --strict makes them failures",
            "answered although invalid",
        ),
        Status.DISPUTED: Look(
            "?",
            "cyan",
            "follows a reading that the text also allows",
            "as another reading of the same text says",
            "disputed readings that it follows",
        ),
        Status.WAIVED: Look("~", "yellow", "a known deviation, with a waiver", "known deviations", "waived"),
        Status.UNSUPPORTED: Look(
            "–",  # noqa: RUF001 - a dash says 'nothing here'
            "dim",
            "the backend does not implement it, and declares so",
            "declared so",
        ),
        Status.INEXPRESSIBLE: Look("∅", "dim", "the dialect cannot say the case", "this dialect cannot say them"),
        Status.PASSED: Look("✓", "green", "does what the text says", "as the text says"),
    }
)
"""What asks for attention first: the page's order of columns, of rows, and of whose arrays it carries.

The terminal's totals and the atlas have the order of `Status` itself.
"""

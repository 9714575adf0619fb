"""How reports show a status: symbols, colours and words, on the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.gate.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a status.

    Attributes:
        symbol: the sign before its name on the page.
        meaning: what records with it are; on the terminal it follows their number.
        style: its colour on the terminal.
        heading: the title of the table of causes on the terminal; empty if there is no such table.
        is_red: whether one record with it makes the run red.
    """

    symbol: str
    meaning: str
    style: str
    heading: str = ""
    is_red: bool = False


STATUSES: Mapping[Status, Look] = MappingProxyType(
    {
        Status.FAILED: Look(
            symbol="✗",
            meaning="a deviation, or no answer at all, and no waiver covers it",
            style="bold red",
            heading="failed",
            is_red=True,
        ),
        Status.UNDECLARED: Look(
            symbol="⊘",
            meaning="the backend does not implement the call, and no waiver file declares this",
            style="bold red",
            heading="undeclared",
            is_red=True,
        ),
        Status.REPORTED: Look(
            symbol="!",
            meaning="an invalid call got a value; red only with --strict, if the text states the constraint",
            style="magenta",
            heading="answered although invalid",
        ),
        Status.DISPUTED: Look(
            symbol="?",
            meaning="the backend follows another reading, which the text also allows",
            style="cyan",
            heading="disputed readings that it follows",
        ),
        Status.INCONCLUSIVE: Look(
            symbol="≈",
            meaning="the tolerance is so wide that zeros would pass; red if no case on integers checks the type",
            style="bright_yellow",
            heading="inconclusive",
        ),
        Status.WAIVED: Look(
            symbol="~",
            meaning="known deviations, with a waiver",
            style="yellow",
            heading="waived",
        ),
        Status.TWIN_FAILED: Look(
            symbol="=",
            meaning="the case fails in a context, and the operator alone fails too, so the context is not the reason",
            style="yellow",
        ),
        Status.UNSUPPORTED: Look(
            symbol="–",  # noqa: RUF001 - this is a dash on purpose, not a hyphen
            meaning="the backend does not implement the call, and a waiver file declares this",
            style="dim",
        ),
        Status.NOT_APPLICABLE: Look(
            symbol="∅",
            meaning="the dialect cannot express the case, or the backend takes no contexts",
            style="dim",
        ),
        Status.PASSED: Look(
            symbol="✓",
            meaning="the output or the refusal is what the text says",
            style="green",
        ),
    }
)
"""The statuses in the page's order, the most urgent first: for columns, records, and the choice of arrays.

The totals on the terminal have the order of `Status` itself.
"""
EXPLAINED = tuple(status for status, look in STATUSES.items() if look.heading)
"""The statuses that have causes, in that order; the others are as expected, or were not asked."""

"""The words of reports: for kinds of rulings, for statuses, and for the facts of calls. They are in `words.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tconv import documents
from tconv.cases.context import PREFIX
from tconv.gate.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_READ: Any = documents.read(Path(__file__).with_name("words.yaml")).value


@dataclass(frozen=True, slots=True)
class Kind:
    """The words for a kind of ruling.

    Attributes:
        example: an example.
        to_do: what to do about it.
        counted: one and several, in the headline of a page; empty if it is no failure of its own.
        does: what the runtime does, in the sentence of a cause; empty for a kind with `returns`.
        returns: what the runtime returns, in the sentence of a cause.
        title: what the runtime does, in the title of a bug report on one call.
    """

    example: str
    to_do: str
    counted: tuple[str, ...] = ()
    does: str = ""
    returns: str = ""
    title: str = ""


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


class Fact(NamedTuple):
    """A fact of a call whose value is a word.

    Attributes:
        says: the sentence that it has a value, with `{}` for the value; for `true` and `false` the sentence for `true`.
        says_not: the sentence that it does not have the value.
        values: the meanings of its values, if their own words are not enough.
    """

    says: str
    says_not: str
    values: Mapping[str, str]


def _fact(row: Mapping[str, Any]) -> Fact:
    says = row["says"]
    return Fact(says, row.get("not", says.replace("{}", "not {}")), MappingProxyType(row.get("values", {})))


KINDS = MappingProxyType(
    {name: Kind(**row | {"counted": tuple(row.get("counted", ()))}) for name, row in _READ["kinds"].items()}
)
STATUSES = MappingProxyType({Status(name): Look(**row) for name, row in _READ["statuses"].items()})
"""The statuses in the page's order, the most urgent first: for columns, records, and the choice of arrays.

The totals on the terminal have the order of `Status` itself.
"""
EXPLAINED = tuple(status for status, look in STATUSES.items() if look.heading)
"""The statuses that have causes, in that order; the others are as expected, or were not asked."""
FACTS: Mapping[str, Fact] = MappingProxyType(
    {name: _fact(row) for name, row in _READ["facts"].items()}
    | {
        f"{PREFIX}{axis}": Fact("the graph has {}", "the graph does not have {}", MappingProxyType(levels))
        for axis, levels in _READ["levels"].items()
    }
)
TYPES = FACTS["dtype"].values
"""Element types in the words of users."""
OWN_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(_READ["own_words"])
"""Values with sentences of their own: for a fact that has the value, and for one that does not."""
NUMBERS: Mapping[str, str] = MappingProxyType(_READ["numbers"])
"""The meaning of each number of a call; if a name begins another one, the longer comes first."""
NOTES: Mapping[str, str] = MappingProxyType(_READ["notes"])
"""The sentences of notes on runs, with names of values in braces."""
TERMS: Mapping[str, str] = MappingProxyType(_READ["terms"])
"""Terms with sentences of their own."""
QUANTITIES: Mapping[str, str] = MappingProxyType(_READ["quantities"])
"""The quantities that a runtime computes by a formula, and LETTERS of formulas in words."""
LETTERS: Mapping[str, str] = MappingProxyType(_READ["letters"])
TRANSITIONS: Mapping[str, str] = MappingProxyType(_READ["transitions"])
"""What became of a case since a baseline, by the words of `Transition`."""


def in_graph(levels: Iterable[str]) -> str:
    """Return what levels such as `context.end=int8` put into a graph."""
    named = (level.partition("=") for level in levels)
    return " and ".join(FACTS[axis].values.get(level, level) for axis, _, level in named)

"""Tables of the page's data: rows of named values, which become columns of small integers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain, count, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.vocabulary import Array

    Parts = tuple[Mapping[str, Any], ...]

T = TypeVar("T")
_WAITING = 8192
"""The number of rows that are numbered together."""


class Distinct(dict[T, int]):
    """Distinct values with numbers in the order of their first use. A new value gets the next number."""

    def __missing__(self, value: T) -> int:
        self[value] = number = len(self)
        return number


@dataclass(slots=True)
class _Column:
    """The distinct values of a column, after None, and the numbers of its rows in blocks, each with its first row."""

    distinct: Distinct[Any] = field(default_factory=lambda: Distinct({None: 0}))
    blocks: list[tuple[int, Array]] = field(default_factory=list)


class Table:
    """Rows of named values. A column has each distinct value once, and a number for each row: 0 if it has no value."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._waiting: list[Parts] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, *parts: Mapping[str, Any]) -> int:
        """Add a row of hashable JSON values, and return its number.

        Args:
            parts: the row's values by name. A later part replaces values of an earlier one; None removes them. Rows
                with equal values should share the same parts: each part is looked at once for many rows.
        """
        self._waiting.append(parts)
        self._length += 1
        if len(self._waiting) == _WAITING:
            self._number()
        return self._length - 1

    def _number(self) -> None:
        """Number the values of the waiting rows, column by column, which is faster than row by row."""
        rows, self._waiting = self._waiting, []
        found = {}
        for name, (values, places) in _columns(rows).items():
            column = self._columns.get(name) or _Column()
            numbers = [0] * len(values)
            # In the order of the rows.
            for place in dict.fromkeys(places.tolist()):
                numbers[place] = column.distinct[values[place]]
            if (of_rows := np.array(numbers, np.uint32)[places]).any():
                column.blocks.append((self._length - len(rows), of_rows))
                found[name] = column
        new = found.keys() - self._columns.keys()
        for name in _in_order(rows, {name: found[name].blocks[0][1] for name in new}):
            self._columns[name] = found[name]

    def values(self) -> dict[str, list[Any]]:
        """Return the values of each column."""
        self._number()
        return {name: list(column.distinct)[1:] for name, column in self._columns.items()}

    def numbers(self) -> dict[str, Array]:
        """Return, for each column, a number for each row: n for the n-th value, 0 for none."""
        self._number()
        of_rows = {name: np.zeros(self._length, dtype=np.uint32) for name in self._columns}
        for name, column in self._columns.items():
            for start, numbers in column.blocks:
                of_rows[name][start : start + len(numbers)] = numbers
        return of_rows


def _in_order(rows: Sequence[Parts], new: Mapping[str, Array]) -> Iterable[str]:
    """Return the names of columns in the order in which the rows first use them."""
    first = {name: int(np.argmax(numbers > 0)) for name, numbers in new.items()}
    order = {row: list(dict.fromkeys(chain.from_iterable(rows[row]))) for row in set(first.values())}
    return sorted(new, key=lambda name: (first[name], order[first[name]].index(name)))


class _Values(NamedTuple):
    """A column of rows.

    Attributes:
        values: the values from parts of rows, after a first None; a value may occur several times.
        places: for each row, (rows,), the index of its value; 0 if it has none.
    """

    values: list[Any]
    places: Array


def _columns(rows: Sequence[Parts]) -> dict[str, _Values]:
    """Return the columns of rows, by name; a part that several rows share is looked at once.

    Args:
        rows: each is the union of its parts; a later part replaces values of an earlier one.
    """
    values: defaultdict[str, list[Any]] = defaultdict(lambda: [None])
    places: defaultdict[str, Array] = defaultdict(lambda: np.zeros(len(rows), np.intp))
    for parts in zip_longest(*rows, fillvalue={}):
        ids = list(map(id, parts))
        by_id = dict(zip(ids, parts, strict=True))
        of_part, distinct = dict(zip(by_id, count(), strict=False)), list(by_id.values())
        of_row = np.fromiter(map(of_part.__getitem__, ids), np.intp, len(rows))
        for name in dict.fromkeys(chain.from_iterable(distinct)):
            place = np.arange(len(distinct)) + len(values[name])
            values[name] += [part.get(name) for part in distinct]
            has = np.array([name in part for part in distinct])
            places[name] = np.where(has[of_row], place[of_row], places[name])
    return {name: _Values(values[name], places[name]) for name in values}

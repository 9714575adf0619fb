"""Tables of the page's data: rows of named values, which become columns of small integers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tconv.cases.columns import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.cases.columns import Parts
    from tconv.vocabulary import Array

T = TypeVar("T")
_WAITING = 8192
"""Rows of a table that wait to be numbered together."""


class Distinct(dict[T, int]):
    """Values, each with a number: the place where it was seen first. A new value gets the next."""

    def __missing__(self, value: T) -> int:
        self[value] = number = len(self)
        return number


@dataclass(slots=True)
class _Column:
    """The distinct values of a column, behind None, and the numbers of rows, with the first row of each block."""

    distinct: Distinct[Any] = field(default_factory=lambda: Distinct({None: 0}))
    blocks: list[tuple[int, Array]] = field(default_factory=list)


class Table:
    """Rows of named values. A column has each of its values once, and for each row a number: 0 where there is none."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._waiting: list[Parts] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, *parts: Mapping[str, Any]) -> int:
        """Add a row of hashable values that JSON has, and return its number.

        Args:
            parts: the row's values by name; a later part replaces what an earlier one says, and None takes it back.
                Rows that are alike should have the same parts: each is looked at once for many rows.
        """
        self._waiting.append(parts)
        self._length += 1
        if len(self._waiting) == _WAITING:
            self._number()
        return self._length - 1

    def _number(self) -> None:
        """Number the values of the rows that wait, column by column: that is faster than row by row."""
        rows, self._waiting = self._waiting, []
        found = {}
        for name, (values, places) in columns(rows).items():
            column = self._columns.get(name) or _Column()
            numbers = [0] * len(values)
            # In the order in which the rows have them.
            for place in dict.fromkeys(places.tolist()):
                numbers[place] = column.distinct[values[place]]
            if (of_rows := np.array(numbers, np.uint32)[places]).any():
                column.blocks.append((self._length - len(rows), of_rows))
                found[name] = column
        new = found.keys() - self._columns.keys()
        for name in _in_order(rows, {name: found[name].blocks[0][1] for name in new}):
            self._columns[name] = found[name]

    def values(self) -> dict[str, list[Any]]:
        """Return each column's values."""
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
    """Return the names of columns in the order in which the rows, one after the other, have their values."""
    first = {name: int(np.argmax(numbers > 0)) for name, numbers in new.items()}
    order = {row: list(dict.fromkeys(chain.from_iterable(rows[row]))) for row in set(first.values())}
    return sorted(new, key=lambda name: (first[name], order[first[name]].index(name)))

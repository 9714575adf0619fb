"""Tables of the page's data: rows of named values, which become columns of small integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.vocabulary import Array

T = TypeVar("T")


class Distinct(dict[T, int]):
    """Distinct values with numbers in the order of their first use. A new value gets the next number."""

    def __missing__(self, value: T) -> int:
        self[value] = number = len(self)
        return number


class Table:
    """Rows of named values. A column has each distinct value once, and a number for each row: 0 if it has no value."""

    def __init__(self) -> None:
        # For each column its values after None, the rows that have one, and the numbers of these values.
        self._columns: dict[str, tuple[Distinct[Any], list[int], list[int]]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, row: Mapping[str, Any]) -> int:
        """Add a row of hashable JSON values, and return its number; None stands for no value."""
        for name, value in row.items():
            if value is not None:
                column = self._columns.get(name) or self._columns.setdefault(name, (Distinct({None: 0}), [], []))
                column[1].append(self._length)
                column[2].append(column[0][value])
        self._length += 1
        return self._length - 1

    def values(self) -> dict[str, list[Any]]:
        """Return the values of each column."""
        return {name: list(distinct)[1:] for name, (distinct, _, _) in self._columns.items()}

    def numbers(self) -> dict[str, Array]:
        """Return, for each column, a number for each row: n for the n-th value, 0 for none."""
        found = {}
        for name, (_, rows, numbers) in self._columns.items():
            found[name] = np.zeros(self._length, dtype=np.uint32)
            found[name][rows] = numbers
        return found

"""Blocks of data in the page: JSON and arrays of numbers, deflated and in base64; blocks.js opens them."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.vocabulary import Array

T = TypeVar("T")
_ALIGNED = 8
"""Bytes that the place of an array is a multiple of, so that the script can view it where it lies."""
_LEVEL = 6
_WAITING = 1024
"""Rows of a table that wait to be numbered together."""
_NOTHING = object()
"""Stands for what a row does not have."""


class Distinct(dict[T, int]):
    """Values, each with a number: the place where it was seen first. A new value gets the next."""

    def __missing__(self, value: T) -> int:
        self[value] = number = len(self)
        return number


@dataclass(slots=True)
class _Column:
    """The distinct values of a column, behind `_NOTHING`, and the numbers of rows, with the first row of each part."""

    distinct: Distinct[Any] = field(default_factory=lambda: Distinct({_NOTHING: 0}))
    parts: list[tuple[int, Array]] = field(default_factory=list)


class Table:
    """Rows of named values. A column has each of its values once, and for each row a number: 0 where there is none."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._waiting: list[dict[str, Any]] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, row: dict[str, Any]) -> int:
        """Add a row of hashable values that JSON has, and return its number."""
        self._waiting.append(row)
        self._length += 1
        if len(self._waiting) == _WAITING:
            self._number()
        return self._length - 1

    def _number(self) -> None:
        """Number the values of the rows that wait, column by column: that is faster than row by row."""
        rows, self._waiting = self._waiting, []
        for name in dict.fromkeys(chain.from_iterable(rows)):
            column = self._columns.setdefault(name, _Column())
            try:
                values = [row[name] for row in rows]
            except KeyError:
                values = [row.get(name, _NOTHING) for row in rows]
            numbers = np.fromiter(map(column.distinct.__getitem__, values), np.uint32, len(rows))
            column.parts.append((self._length - len(rows), numbers))

    def values(self) -> dict[str, list[Any]]:
        """Return each column's values."""
        self._number()
        return {name: list(column.distinct)[1:] for name, column in self._columns.items()}

    def numbers(self) -> dict[str, Array]:
        """Return, for each column, a number for each row: n for the n-th value, 0 for none."""
        self._number()
        columns = {name: np.zeros(self._length, dtype=np.uint32) for name in self._columns}
        for name, column in self._columns.items():
            for start, numbers in column.parts:
                columns[name][start : start + len(numbers)] = numbers
        return columns


def table_block(table: Table) -> str:
    """Return the block of a table."""
    return block(table.values(), table.numbers())


def narrow(numbers: Sequence[int] | Array) -> Array:
    """Return numbers from 0 upwards in the smallest type that holds them."""
    array = np.asarray(numbers, dtype=np.uint32)
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def block(values: object, arrays: Mapping[str, Array]) -> str:
    """Return a block: four bytes with the length of the JSON, the JSON, and the arrays one after the other.

    The JSON has the values, and of each array its type, its first byte after the JSON and its number of elements.

    Args:
        values: what JSON can say.
        arrays: by name; unsigned integers become as narrow as they fit, float32 and float64 stay.
    """
    places: dict[str, tuple[str, int, int]] = {}
    parts: list[bytes] = []
    at = 0
    for name, array in arrays.items():
        kept = array if array.dtype.kind == "f" else narrow(array)
        content = np.ascontiguousarray(kept, dtype=kept.dtype.newbyteorder("<")).tobytes()
        places[name] = (f"{kept.dtype.kind}{kept.dtype.itemsize}", at, kept.size)
        padded = content + bytes(-len(content) % _ALIGNED)
        parts.append(padded)
        at += len(padded)
    text = json.dumps({"values": values, "arrays": places}, separators=(",", ":"), allow_nan=False).encode("ascii")
    text += b" " * (-(len(text) + 4) % _ALIGNED)
    whole = len(text).to_bytes(4, "little") + text + b"".join(parts)
    return b64encode(zlib.compress(whole, _LEVEL)).decode("ascii")

"""Tables of rows, and blocks of data in the page: JSON and arrays of numbers, deflated and in base64, for blocks.ts."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.vocabulary import Array

_ALIGNED = 8
"""Each array begins at a multiple of this number of bytes, so the script can view it without a copy."""
_LEVEL = 6
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


def table_block(table: Table) -> str:
    """Return the block of a table."""
    return block(table.values(), table.numbers())


def narrow(numbers: Sequence[int] | Array) -> Array:
    """Return integers of 0 or more in the smallest type that holds them."""
    array = np.asarray(numbers, dtype=np.uint32)
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def block(values: object, arrays: Mapping[str, Array]) -> str:
    """Return a block: four bytes with the length of the JSON, the JSON, and the arrays one after the other.

    The JSON has the values, and for each array its type, its first byte after the JSON and its number of elements.

    Args:
        values: any JSON value.
        arrays: arrays by name; unsigned integers get the smallest type, float32 and float64 stay.
    """
    places: dict[str, tuple[str, int, int]] = {}
    parts: list[bytes] = []
    at = 0
    for name, array in arrays.items():
        stored = array if array.dtype.kind == "f" else narrow(array)
        content = np.ascontiguousarray(stored, dtype=stored.dtype.newbyteorder("<")).tobytes()
        places[name] = (f"{stored.dtype.kind}{stored.dtype.itemsize}", at, stored.size)
        padded = content + bytes(-len(content) % _ALIGNED)
        parts.append(padded)
        at += len(padded)
    text = json.dumps({"values": values, "arrays": places}, separators=(",", ":"), allow_nan=False).encode("ascii")
    text += b" " * (-(len(text) + 4) % _ALIGNED)
    whole = len(text).to_bytes(4, "little") + text + b"".join(parts)
    return b64encode(zlib.compress(whole, _LEVEL)).decode("ascii")

"""Blocks of data in the page: JSON and arrays of numbers, deflated and in base64; blocks.ts reads them."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.reports.page.tables import Table
    from tconv.vocabulary import Array

_ALIGNED = 8
"""Each array begins at a multiple of this number of bytes, so the script can view it without a copy."""
_LEVEL = 6


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

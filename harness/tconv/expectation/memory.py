"""Scratch memory for call after call: of fresh memory the system must find and clear each page again."""

from __future__ import annotations

from math import prod
from threading import local
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tconv.vocabulary import Array, Ints


class _Scratch(local):
    """Arrays by what they are for and their type, for each thread its own."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[str, type], Array] = {}


SCRATCH = _Scratch()
MOST = 2**21
"""Arrays of more bytes are not stored."""


def scratch(name: str, shape: Ints, dtype: type) -> Array:
    """Return an array of this shape, whose numbers are any, in the memory that last had the name and the type.

    Whoever asks for one is done with it before a like one is asked for. In a new process it halves the time of outputs
    of 100,000 elements: the C library gives memory back to the system after each call.
    """
    size = prod(shape)
    flat = SCRATCH.arrays.get((name, dtype))
    if flat is None or flat.size < size:
        flat = np.empty(size, dtype)
        if flat.nbytes <= MOST:
            SCRATCH.arrays[name, dtype] = flat
    return flat[:size].reshape(shape)

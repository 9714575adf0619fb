"""Memory that is kept from call to call: where it is fresh, the system must find and clear each page of it again."""

from __future__ import annotations

from math import prod
from threading import local
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tconv.vocabulary import Array, Ints


class _Kept(local):
    """Arrays by what they are for and their type, for each thread its own."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[str, type], Array] = {}


KEPT = _Kept()
MOST = 2**21
"""So many bytes of an array are kept, at most."""


def kept(name: str, shape: Ints, dtype: type) -> Array:
    """Return an array of this shape, whose numbers are any, in the memory that last had the name and the type.

    Whoever asks for one is done with it before a like one is asked for. In a new process it halves the time of outputs
    of 100,000 elements: the C library gives memory back to the system after each call.
    """
    size = prod(shape)
    flat = KEPT.arrays.get((name, dtype))
    if flat is None or flat.size < size:
        flat = np.empty(size, dtype)
        if flat.nbytes <= MOST:
            KEPT.arrays[name, dtype] = flat
    return flat[:size].reshape(shape)

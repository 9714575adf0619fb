"""Covering arrays: few rows that together hold every tuple of axis values that any dialect can express.

The libraries of the field build rows from axes and declared constraints. Here the rows exist already, and which tuples
are reachable follows from the skips and from the dialects: so rows are chosen from those of the sweep, greedily, the
row with the most new tuples first.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.corpus.sweep import Rows
    from tconv.vocabulary import Mask

_CANDIDATES = 512
"""Rows of each kind that are compared for each row that is chosen."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def tuple_numbers(rows: Rows, radix: Sequence[int], strength: int) -> tuple[Numbers, int]:
    """Return, for each row, the numbers of the tuples of `strength` values that it holds, and how many there may be.

    Returns:
        (n, combinations of axes) numbers, each in 0..count-1; and count.
    """
    chosen = list(combinations(range(len(radix)), strength))
    numbers = np.empty((len(rows), len(chosen)), dtype=np.int64)
    offset = 0
    for column, axes in enumerate(chosen):
        sizes = [radix[axis] for axis in axes]
        numbers[:, column] = offset + np.ravel_multi_index(tuple(rows[:, axis] for axis in axes), sizes)
        offset += prod(sizes)
    return numbers, offset


def cover(rows: Rows, radix: Sequence[int], strength: int, expressible: Sequence[Mask]) -> list[int]:
    """Return the numbers, ascending, of rows that hold every reachable tuple for every mask.

    Args:
        rows: (n, axes) label numbers.
        radix: labels of each axis.
        strength: how many values a tuple has; with no more axes than that, every row is needed.
        expressible: for each dialect, the rows that it can express. A tuple is reachable where one of them holds it.
    """
    if len(radix) <= strength:
        return list(range(len(rows)))
    masks = list({mask.tobytes(): mask for mask in expressible if mask.any()}.values())
    numbers, count = tuple_numbers(rows, radix, strength)
    missing = np.zeros((len(masks), count), dtype=bool)
    for tuples, mask in zip(missing, masks, strict=True):
        tuples[numbers[mask].ravel()] = True
    member = np.array(masks).T
    chosen: list[int] = []
    generator = np.random.Generator(np.random.Philox(key=strength))
    while missing.any():
        candidates = _candidates(numbers, missing, member, generator)
        gain = sum(missing[m][numbers[candidates]].sum(axis=1) * member[candidates, m] for m in range(len(masks)))
        best = int(candidates[np.argmax(gain)])
        chosen.append(best)
        for m in np.flatnonzero(member[best]):
            missing[m, numbers[best]] = False
    return sorted(chosen)


def uncovered(
    rows: Rows, radix: Sequence[int], strength: int, expressible: Sequence[Mask], chosen: Sequence[int]
) -> int:
    """Return how many tuples that a mask reaches are in none of the chosen rows of that mask.

    Args:
        rows: (n, axes) label numbers.
        radix: labels of each axis.
        strength: how many values a tuple has, at most; with fewer axes, a tuple is a whole row.
        expressible: for each dialect, the rows that it can express.
        chosen: numbers of rows.
    """
    numbers, count = tuple_numbers(rows, radix, min(strength, len(radix)))
    member = np.isin(np.arange(len(rows)), chosen)
    reached, covered = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    lacking = np.zeros(count, dtype=bool)
    for mask in {mask.tobytes(): mask for mask in expressible}.values():
        reached[:], covered[:] = False, False
        reached[numbers[mask].ravel()] = True
        covered[numbers[mask & member].ravel()] = True
        lacking |= reached & ~covered
    return int(lacking.sum())


def _candidates(numbers: Numbers, missing: Mask, member: Mask, generator: np.random.Generator) -> Numbers:
    """Return the rows to choose from: some at random, and some that hold the first missing tuple."""
    mask, first = (int(i) for i in np.argwhere(missing)[0])
    column = int(np.searchsorted(numbers.min(axis=0), first, side="right")) - 1
    holding = np.flatnonzero((numbers[:, column] == first) & member[:, mask])
    return np.concatenate([holding[:_CANDIDATES], generator.integers(0, len(numbers), _CANDIDATES)])

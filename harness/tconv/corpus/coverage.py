"""Rows of a sweep that together have every pair, or every quadruple, of labels that each dialect can express.

Libraries for covering arrays build rows from axes and declared constraints. Here the rows exist already, and skips and
dialects decide which tuples are reachable. So rows of the sweep are chosen greedily, those with most new tuples first.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.case import PRESENTATION
from tconv.dialects import SPOKEN
from tconv.expectation.expected import can_express

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.corpus.sweep import Axis, Rows, Sweep
    from tconv.vocabulary import Mask

_WITHOUT_EFFECT = {"data_format", "filter_format", *PRESENTATION} - {"bias_source", "output_shape_source", "spelling"}
"""Settings that do not decide whether a dialect can express a case."""
_CANDIDATES = 512
"""For each choice, so many random rows are compared, and so many that have the first missing tuple."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def number_tuples(rows: Rows, radix: Sequence[int], strength: int) -> tuple[Numbers, int]:
    """Return the numbers of the tuples of `strength` values in each row, and the count of all tuples.

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
    """Return the numbers, ascending, of rows that together have every reachable tuple for every mask.

    Args:
        rows: (n, axes) label numbers.
        radix: the number of labels of each axis.
        strength: the number of values in a tuple; if there are no more axes than that, every row is needed.
        expressible: for each dialect, the rows that it can express. A tuple is reachable if one of these has it.
    """
    if len(radix) <= strength:
        return list(range(len(rows)))
    masks = list({mask.tobytes(): mask for mask in expressible if mask.any()}.values())
    numbers, count = number_tuples(rows, radix, strength)
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


def count_uncovered(
    rows: Rows, radix: Sequence[int], strength: int, expressible: Sequence[Mask], chosen: Sequence[int]
) -> int:
    """Return how many reachable tuples of a mask are in none of the chosen rows of that mask.

    Args:
        rows: (n, axes) label numbers.
        radix: the number of labels of each axis.
        strength: the number of values in a tuple; if there are fewer axes, a tuple is a whole row.
        expressible: for each dialect, the rows that it can express.
        chosen: the numbers of the chosen rows.
    """
    numbers, count = number_tuples(rows, radix, min(strength, len(radix)))
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
    """Return the rows to choose from: some at random, and some with the first missing tuple."""
    mask, first = (int(i) for i in np.argwhere(missing)[0])
    column = int(np.searchsorted(numbers.min(axis=0), first, side="right")) - 1
    holding = np.flatnonzero((numbers[:, column] == first) & member[:, mask])
    return np.concatenate([holding[:_CANDIDATES], generator.integers(0, len(numbers), _CANDIDATES)])


def find_expressible_rows(sweep: Sweep) -> dict[str, Mask]:
    """Return, by dialect name, which rows of the sweep the dialect can express, of those that a backend speaks."""
    rows = sweep.rows()
    # Without the axes of presentation, which decide nothing here, a quarter of the work is left.
    deciding = [number for number, axis in enumerate(sweep.axes) if not _is_presentation(axis)]
    _, first, inverse = np.unique(rows[:, deciding], axis=0, return_index=True, return_inverse=True)
    cases = [sweep.case(row) for row in rows[first].tolist()]
    return {
        name: np.array([can_express(case, dialect) for case in cases])[inverse.ravel()]
        for name, dialect in SPOKEN.items()
    }


def _is_presentation(axis: Axis) -> bool:
    """Return whether an axis sets presentation alone. An unknown word (`raw`) decides what can be expressed."""
    return all(
        key in _WITHOUT_EFFECT and not isinstance(value, dict) for layer in axis.layers for key, value in layer.items()
    )

"""A covering array: few rows that have every pair of labels, and some triples. The whole product is too large to list.

Rows are made one after another, as AETG does. A row begins with a missing tuple; then each axis takes the label that
adds most new tuples. Source: Cohen, Dalal, Fredman and Patton, The AETG System, IEEE Transactions on Software
Engineering 23 (1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.corpus.sweep import Rows
    from tconv.vocabulary import Ints

_TRIES = 12
"""Rows that are made for a missing tuple; the one with most new tuples is taken."""
_MOST_TRIES = 200
"""If so many rows for a tuple are all left out, no row has the tuple."""
_Missing = dict[tuple[int, ...], "np.ndarray[Any, np.dtype[np.bool_]]"]


@dataclass(frozen=True, slots=True)
class Cover:
    """Which tuples of labels the rows must have: every pair, and some triples.

    Attributes:
        threes: the numbers of the axes whose triples of labels must all occur.
        limited: the numbers of the axes of which, in a row, at most `most` may differ from their first label.
        most: this limit.
    """

    threes: tuple[int, ...]
    limited: frozenset[int]
    most: int


def cover_axes(
    radix: Sequence[int],
    cover: Cover,
    row_is_case: Callable[[Sequence[int]], bool],
    seed: int,
    first: Sequence[Ints] = (),
) -> Rows:
    """Return rows, (n, axes), with every tuple that is possible.

    Args:
        radix: the number of labels of each axis.
        cover: the tuples.
        row_is_case: returns whether a row is a case.
        seed: decides between equal rows.
        first: rows that the result must have.
    """
    missing: _Missing = {
        axes: np.ones([radix[axis] for axis in axes], bool)
        for axes in (*combinations(range(len(radix)), 2), *combinations(sorted(cover.threes), 3))
    }
    rows = [list(row) for row in first]
    for row in rows:
        _strike(missing, row)
    generator = np.random.Generator(np.random.Philox(key=seed))
    while (wanted := _first_missing(missing)) is not None:
        axes, labels = wanted
        best = max(
            _made(radix, missing, dict(zip(axes, labels, strict=True)), cover, row_is_case, generator),
            key=lambda row: _gain(missing, row),
            default=None,
        )
        if best is None:
            missing[axes][labels] = False
            continue
        rows.append(best)
        _strike(missing, best)
    return np.array(rows, dtype=np.int32)


def _first_missing(missing: _Missing) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return a missing tuple, as axes and labels, of the axes with most missing tuples; None if none is missing."""
    axes = max(missing, key=lambda axes: int(missing[axes].sum()))
    if not missing[axes].any():
        return None
    return axes, tuple(int(label) for label in np.argwhere(missing[axes])[0])


def _made(
    radix: Sequence[int],
    missing: _Missing,
    fixed: dict[int, int],
    cover: Cover,
    row_is_case: Callable[[Sequence[int]], bool],
    generator: np.random.Generator,
) -> Iterator[list[int]]:
    """Yield rows with the fixed labels."""
    found = 0
    for number in range(_MOST_TRIES):
        row = dict(fixed)
        # The greedy choice may always be a row that is left out. So until one is found, every second row is random.
        is_greedy = found or number % 2 == 0
        for axis in generator.permutation(len(radix)).tolist():
            if axis in cover.limited and axis not in row and _levels(row, cover) >= cover.most:
                row[axis] = 0
            elif axis not in row:
                gains = generator.random(radix[axis])
                for axes, table in missing.items() if is_greedy else ():
                    others = [other for other in axes if other != axis]
                    if len(others) < len(axes) and all(other in row for other in others):
                        index = tuple(slice(None) if place == axis else row[place] for place in axes)
                        gains += table[index]
                row[axis] = int(np.argmax(gains))
        made = [row[axis] for axis in range(len(radix))]
        if row_is_case(made):
            yield made
            found += 1
            if found == _TRIES:
                return


def _levels(row: Mapping[int, int], cover: Cover) -> int:
    """Return how many of the limited axes differ from their first label."""
    return sum(bool(label) for axis, label in row.items() if axis in cover.limited)


def _gain(missing: _Missing, row: Sequence[int]) -> int:
    return sum(bool(table[tuple(row[axis] for axis in axes)]) for axes, table in missing.items())


def _strike(missing: _Missing, row: Sequence[int]) -> None:
    for axes, table in missing.items():
        table[tuple(row[axis] for axis in axes)] = False

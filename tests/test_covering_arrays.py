"""Covering arrays, held against brute force."""

from __future__ import annotations

from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from tconv.corpus.coverage import cover
from tconv.corpus.sweep import Rows
from tconv.vocabulary import Mask

Problem = tuple[Rows, tuple[int, ...], int, list[Mask]]
Tuples = set[tuple[tuple[int, int], ...]]


def tuples(rows: Rows, strength: int) -> Tuples:
    """Return every tuple of (axis, value) pairs that a row holds."""
    return {held for row in rows.tolist() for held in combinations(enumerate(row), strength)}


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return some rows of a product in its order, its radix, a strength, and what dialects can say."""
    radix = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5).filter(lambda sizes: prod(sizes) <= 200)))
    everything = np.array(list(product(*map(range, radix))), dtype=np.int32)
    keep = np.array(draw(st.lists(st.booleans(), min_size=len(everything), max_size=len(everything))))
    rows = everything[keep] if keep.any() else everything
    said = st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)).map(
        lambda flags: np.array(flags, dtype=bool)
    )
    masks = draw(st.lists(said | st.just(np.ones(len(rows), dtype=bool)), max_size=3))
    return rows, radix, draw(st.integers(1, 4)), masks


@given(problems())
@examples(150)
def test_every_reachable_tuple_is_covered(problem: Problem) -> None:
    """For every mask, what its rows hold is held by chosen rows of that mask: not by rows that it cannot say."""
    rows, radix, strength, masks = problem
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[cover(rows, radix, strength, masks)] = True
    for mask in masks:
        assert tuples(rows[mask & chosen], strength) == tuples(rows[mask], strength)


@given(problems())
@examples(100)
def test_rows_are_chosen_once_from_those_there_are(problem: Problem) -> None:
    """Row numbers ascend and are of existing rows; with more axes than the strength each is said by some dialect."""
    rows, radix, strength, masks = problem
    chosen = cover(rows, radix, strength, masks)
    assert chosen == sorted(set(chosen))
    assert all(0 <= number < len(rows) for number in chosen)
    if len(radix) > strength:
        assert all(any(mask[number] for mask in masks) for number in chosen)


@pytest.mark.parametrize("strength", [3, 4, 9])
def test_no_more_axes_than_strength_gives_everything(strength: int) -> None:
    rows = np.array(list(product(range(2), range(3), range(4))), dtype=np.int32)
    assert cover(rows, (2, 3, 4), strength, [np.arange(24) % 2 == 0]) == list(range(24))


def test_few_rows_cover_much() -> None:
    """Of 4^8 combinations, about a hundred hold every triple; it is no covering if it is nearly everything."""
    rows = np.indices((4,) * 8, dtype=np.int32).reshape(8, -1).T
    pairs, triples = (cover(rows, (4,) * 8, strength, [np.ones(len(rows), dtype=bool)]) for strength in (2, 3))
    assert 16 <= len(pairs) <= 40
    assert 64 <= len(triples) <= 180
    assert tuples(rows[pairs], 2) == {
        ((a, x), (b, y)) for a, b in combinations(range(8), 2) for x in range(4) for y in range(4)
    }

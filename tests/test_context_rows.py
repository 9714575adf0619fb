"""The few rows of a sweep with a cover: they hold every tuple that a row may hold, also if many rows are left out."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from tconv.corpus.covering import Cover, cover_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.corpus import Corpus
    from tconv.corpus.sweep import Rows


def tuples(rows: Rows, cover: Cover) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the pairs of all axes and the triples of some that rows hold, as axes and labels."""
    of_axes = (*combinations(range(rows.shape[1]), 2), *combinations(cover.threes, 3))
    return {(axes, tuple(row[axis] for axis in axes)) for axes in of_axes for row in rows.tolist()}


def few(rows: Rows, cover: Cover) -> Rows:
    """Return the rows of which few enough axes have another label than the first."""
    levels = [sum(bool(row[axis]) for axis in cover.limited) for row in rows.tolist()]
    return rows[np.array(levels) <= cover.most]


@examples(60)
@given(
    st.lists(st.integers(2, 4), min_size=3, max_size=5),
    st.integers(2, 4),
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.integers(0, 4), st.integers(1, 3)), max_size=4),
)
def test_every_tuple_that_can_be_is_in_a_row(
    radix: list[int], most: int, left_out: list[tuple[int, int, int, int]]
) -> None:
    """By brute force, with pairs of labels that are left out; and no row is left out or has too many levels."""
    cover = Cover((0, 1, 2), frozenset(range(1, len(radix))), most)

    def is_case(row: Sequence[int]) -> bool:
        return not any(
            first < second < len(radix) and row[first] == one and row[second] == other
            for first, one, second, other in left_out
        )

    every = np.array([row for row in product(*map(range, radix)) if is_case(row)], dtype=np.int32)
    allowed = few(every.reshape(-1, len(radix)), cover)
    rows = cover_axes(radix, cover, is_case, 0)
    assert all(is_case(row) for row in rows.tolist())
    assert len(few(rows, cover)) == len(rows)
    assert tuples(rows, cover) == tuples(allowed, cover)


@pytest.mark.thorough
def test_the_rows_of_contexts_hold_every_tuple_of_random_rows(corpus: Corpus) -> None:
    """Of 20,000 random rows of each sweep with a cover, with as many levels as it allows."""
    sweeps = [sweep for sweep in corpus.sweeps.values() if sweep.cover is not None]
    assert sweeps
    for sweep in sweeps:
        cover = sweep.cover
        assert cover is not None
        blocks = list(corpus.tiers.blocks(sweep, "gate")) or list(corpus.tiers.blocks(sweep, "full"))
        rows = np.concatenate(blocks)
        random = np.random.default_rng(0)
        drawn = np.stack([random.integers(0, size, 20_000) for size in sweep.radix], axis=1).astype(np.int32)
        limited = np.array(sorted(cover.limited))
        order = random.permuted(np.tile(limited, (len(drawn), 1)), axis=1)[:, cover.most :]
        np.put_along_axis(drawn, order, 0, axis=1)
        allowed = drawn[[sweep.row_is_case(row) for row in drawn.tolist()]]
        assert tuples(allowed, cover) <= tuples(rows, cover), sweep.id

"""Where wrong answers are: the shortest condition on a call that holds for them and for hardly any right answer.

Sweeps ask a thing in many ways, and a bug does not know them. So failures that follow no formula are looked at in what
calls of all sweeps have: sizes, attributes of an axis, and words.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.vocabulary import Mask

    Counts = np.ndarray[Any, np.dtype[np.floating[Any]]]
    Numbers = np.ndarray[Any, np.dtype[np.int64]]

_MOST_TERMS = 3
HARDLY = 0.25
"""The right answers that a condition may hold for, as a part of the wrong ones: an error may be zero by chance."""
_PART = 0.2
"""A condition explains at least this part of the wrong answers."""
_BELIEVED = 10.0
"""Bits that a condition saves: chance alone gives such a condition in one of 10^3 runs."""
_BETTER = 1.15
"""A longer condition saves so many times the bits of a shorter one."""
_PAIRS = 200
"""Pairs of terms that a third term is added to."""
_SAMPLE = 4096
"""So many right and so many wrong answers are searched at most, evenly chosen."""


class _Joined(NamedTuple):
    """Combinations of terms.

    Attributes:
        terms: the numbers of the terms, of each combination.
        wrong, right: for which answers all of them hold, (combinations, answers).
    """

    terms: list[tuple[int, ...]]
    wrong: Counts
    right: Counts


def condition_of(holds: Mask, wrong: Numbers, right: Numbers) -> tuple[int, ...]:
    """Return the terms that together explain most wrong answers; none where all may be chance.

    Args:
        holds: for which calls each term holds, (terms, calls).
        wrong: the numbers of the calls with wrong answers.
        right: those with right answers.
    """
    if not (len(holds) and len(wrong) and len(right)):
        return ()
    columns = [holds[:, calls[:: -(-len(calls) // _SAMPLE)]].astype(np.float32) for calls in (wrong, right)]
    single = _Joined([(number,) for number in range(len(holds))], *columns)
    counts = single.wrong.shape[1], single.right.shape[1]
    best: tuple[float, tuple[int, ...]] = _BELIEVED / _BETTER, ()
    joined = _Joined([()], *(np.ones((1, count), np.float32) for count in counts))
    for size in range(1, _MOST_TERMS + 1):
        of_wrong, of_right = joined.wrong @ single.wrong.T, joined.right @ single.right.T
        saved = _bits_saved(of_wrong, of_right, *counts) - size * log2(len(holds))
        saved[(of_right > HARDLY * of_wrong) | (of_wrong < max(_PART * counts[0], 2))] = 0
        at, number = np.unravel_index(saved.argmax(), saved.shape)
        if saved[at, number] > best[0] * _BETTER:
            best = float(saved[at, number]), tuple(sorted((*joined.terms[at], int(number))))
        if size < _MOST_TERMS:
            joined = _most_telling(joined, single, of_wrong / counts[0] - of_right / counts[1])
    return best[1]


def _bits_saved(of_wrong: Counts, of_right: Counts, wrong: int, right: int) -> Counts:
    """Return how many bits fewer it takes to write which answers are wrong, where a condition is known.

    A description that is shorter than what it describes, with the terms that it is made of, is no chance (Rissanen,
    Modeling by shortest data description, Automatica 14, 1978).

    Args:
        of_wrong: for how many wrong answers each condition holds.
        of_right: the same of right answers.
        wrong: how many wrong answers there are.
        right: how many right answers there are.
    """
    all_wrong, all_right = (np.full_like(of_wrong, count) for count in (wrong, right))
    inside, outside = _bits(of_wrong, of_right), _bits(all_wrong - of_wrong, all_right - of_right)
    saved: Counts = _bits(all_wrong, all_right) - inside - outside
    return saved


def _bits(wrong: Counts, right: Counts) -> Counts:
    """Return how many bits it takes to write which of so many answers are wrong."""
    total = wrong + right
    of_wrong, of_right = (part * np.log2(np.maximum(total, 1) / np.maximum(part, 1)) for part in (wrong, right))
    bits: Counts = of_wrong + of_right
    return bits


def _most_telling(joined: _Joined, single: _Joined, telling: Counts) -> _Joined:
    """Return the combinations of one term more that tell wrong answers from right ones best.

    Args:
        joined: the combinations.
        single: the terms.
        telling: the part of the wrong answers less that of the right ones, of each combination with each term more.
    """
    order = np.argsort(-telling, axis=None, kind="stable")
    pairs = ((int(at), int(number)) for at, number in zip(*np.unravel_index(order, telling.shape), strict=True))
    chosen = list(_first(pairs, joined.terms))
    at, numbers = [at for at, _ in chosen], [number for _, number in chosen]
    return _Joined(
        [(*joined.terms[place], number) for place, number in chosen],
        joined.wrong[at] * single.wrong[numbers],
        joined.right[at] * single.right[numbers],
    )


def _first(pairs: Iterator[tuple[int, int]], terms: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """Yield the first pairs of a combination and a term that make another combination."""
    combinations: set[frozenset[int]] = set()
    for at, number in pairs:
        members = frozenset((*terms[at], number))
        if len(members) == len(terms[at]) + 1 and members not in combinations:
            combinations.add(members)
            yield at, number
        if len(combinations) == _PAIRS:
            return

"""The one criterion: the condition that describes which calls fail in the fewest bits.

This is subgroup discovery (Klösgen, Explora, 1996) by minimum description length (Rissanen, Modeling by shortest data
description, Automatica 14, 1978). Of 2,016 calls 40 fail. To write which takes 282 bits. `channels / groups >= 17`
holds for 61 calls, the 40 among them: 11 bits for the term, and 57 bits for which of the 61. A second term, `channels /
groups is 1 more than a multiple of 16`, costs 11 bits more and leaves nothing to be written.
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
BELIEVED = 10.0
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


def find_condition(holds: Mask, wrong: Numbers, right: Numbers) -> tuple[int, ...]:
    """Return the terms that together explain most wrong answers; none where all may be chance.

    Args:
        holds: for which calls each term holds, (terms, calls).
        wrong: the numbers of the calls with wrong answers.
        right: those with right answers.
    """
    if not (len(holds) and len(wrong) and len(right)):
        return ()
    columns = [holds[:, calls[:: -(-len(calls) // _SAMPLE)]] for calls in (wrong, right)]
    numbers = _telling_terms(*columns)
    if not len(numbers):
        return ()
    single = _Joined([(place,) for place in range(len(numbers))], *(of[numbers].astype(np.float32) for of in columns))
    counts = single.wrong.shape[1], single.right.shape[1]
    best: tuple[float, tuple[int, ...]] = BELIEVED / _BETTER, ()
    joined = _Joined([()], *(np.ones((1, count), np.float32) for count in counts))
    for size in range(1, _MOST_TERMS + 1):
        if not joined.terms:
            break
        of_wrong, of_right = joined.wrong @ single.wrong.T, joined.right @ single.right.T
        saved = bits_saved(of_wrong, of_right, *counts) - size * log2(len(holds))
        saved[(of_right > HARDLY * of_wrong) | (of_wrong < max(_PART * counts[0], 2))] = 0
        # What holds for all of them and for no other is better than whatever is shorter.
        exact = (of_wrong == counts[0]) & (of_right == 0) & (saved > BELIEVED)
        chosen = np.where(exact, saved, 0) if exact.any() else saved
        at, number = np.unravel_index(chosen.argmax(), chosen.shape)
        if exact.any() or saved[at, number] > best[0] * _BETTER:
            best = float(saved[at, number]), (*joined.terms[at], int(number))
        if exact.any():
            break
        if size < _MOST_TERMS:
            joined = _most_telling(joined, single, of_wrong / counts[0] - of_right / counts[1])
    return tuple(sorted(int(numbers[place]) for place in best[1]))


def _telling_terms(wrong: Mask, right: Mask) -> Numbers:
    """Return the numbers of the terms that may be a part of a condition: of equal ones the first.

    A condition holds for no more calls than each of its terms.
    """
    enough = wrong.sum(axis=1) >= max(_PART * wrong.shape[1], 2)
    enough &= ~(wrong.all(axis=1) & right.all(axis=1))
    seen: dict[bytes, int] = {}
    for number in np.flatnonzero(enough):
        seen.setdefault(wrong[number].tobytes() + right[number].tobytes(), int(number))
    return np.array([*seen.values()], dtype=np.int64)


def bits_saved(of_wrong: Counts, of_right: Counts, wrong: int, right: int) -> Counts:
    """Return how many bits fewer it takes to write which answers are wrong, where a condition is known.

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

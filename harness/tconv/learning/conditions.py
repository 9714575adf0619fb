"""Where wrong answers are: the shortest condition on a call that holds for them and for hardly any right answer.

Sweeps ask a thing in many ways, and a bug does not know them. So failures that follow no formula are looked at in what
calls of all sweeps have: sizes, attributes of an axis, and words.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.learning.terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.learning.features import Features

    Counts = np.ndarray[Any, np.dtype[np.floating[Any]]]

_MOST_TERMS = 3
_HARDLY = 0.1
"""The right answers that a condition may hold for, as a part of the wrong ones: an error may be zero by chance."""
_PART = 0.2
"""A condition explains at least this part of the answers that no other condition explains."""
_BELIEVED = 10.0
"""Bits that a condition saves: chance alone gives such a condition in one of 10^3 runs."""
_BETTER = 1.15
"""A longer condition saves so many times the bits of a shorter one."""
_PAIRS = 200
"""Pairs of terms that a third term is added to."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Where wrong answers are.

    Attributes:
        terms: what holds for a call, all of them together.
        cases: the ids of the wrong answers that it explains.
        right: for how many right answers it holds too.
    """

    terms: tuple[str, ...]
    cases: tuple[str, ...]
    right: int

    def __str__(self) -> str:
        return " and ".join(self.terms)


class _Joined(NamedTuple):
    """Combinations of terms.

    Attributes:
        terms: the numbers of the terms, of each combination.
        wrong, right: for which answers all of them hold, (combinations, answers).
    """

    terms: list[tuple[int, ...]]
    wrong: Counts
    right: Counts


def condition_of(wrong: Mapping[str, Features], right: Sequence[Features]) -> Condition | None:
    """Return the condition that explains most wrong answers; None where none is known to be more than chance.

    Args:
        wrong: what the calls of wrong answers are like, by the ids of the cases.
        right: what those of right answers are like.
    """
    if not wrong or not right:
        return None
    names, masks = zip(*terms_of([*wrong.values(), *right]).items(), strict=True)
    holds = np.array(masks, dtype=np.float32)
    single = _Joined([(number,) for number in range(len(names))], holds[:, : len(wrong)], holds[:, len(wrong) :])
    best: tuple[float, tuple[int, ...]] = _BELIEVED / _BETTER, ()
    joined = _Joined([()], np.ones((1, len(wrong)), np.float32), np.ones((1, len(right)), np.float32))
    for size in range(1, _MOST_TERMS + 1):
        of_wrong, of_right = joined.wrong @ single.wrong.T, joined.right @ single.right.T
        saved = _bits_saved(of_wrong, of_right, len(wrong), len(right)) - size * log2(len(names))
        saved[(of_right > _HARDLY * of_wrong) | (of_wrong < max(_PART * len(wrong), 2))] = 0
        at, number = np.unravel_index(saved.argmax(), saved.shape)
        if saved[at, number] > best[0] * _BETTER:
            best = float(saved[at, number]), (*joined.terms[at], int(number))
        joined = _most_telling(joined, single, of_wrong / len(wrong) - of_right / len(right))
    if not best[1]:
        return None
    members, others = (of.astype(bool) for of in (_all_hold(single.wrong, best[1]), _all_hold(single.right, best[1])))
    cases = tuple(case for case, holding in zip(wrong, members, strict=True) if holding)
    return Condition(tuple(names[number] for number in sorted(best[1])), cases, int(others.sum()))


def _all_hold(holds: Counts, numbers: Sequence[int]) -> Counts:
    product: Counts = holds[list(numbers)].prod(axis=0)
    return product


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
    known: set[frozenset[int]] = set()
    for at, number in pairs:
        members = frozenset((*terms[at], number))
        if len(members) == len(terms[at]) + 1 and members not in known:
            known.add(members)
            yield at, number
        if len(known) == _PAIRS:
            return

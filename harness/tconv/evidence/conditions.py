"""The criterion for conditions: the best condition describes in the fewest bits which calls fail.

This is subgroup discovery (Klösgen, Explora, 1996) by minimum description length (Rissanen, Modeling by shortest data
description, Automatica 14, 1978).

For example, a runtime drops the last channel of a group if the group has more than 16 channels, and 1 more than a
multiple of 16. In the smoke tier 40 calls fail and 1,517 are right: a list of the failures takes 268 bits.
`channels / groups >= 17` holds for the 40 and for 67 others: 11 bits name the term, and 102 bits say which of the 107
calls fail. With a second term, `channels / groups is 1 more than a multiple of 16`, 22 bits are enough for all.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.vocabulary import Mask

    Counts = np.ndarray[Any, np.dtype[np.floating[Any]]]
    Numbers = np.ndarray[Any, np.dtype[np.int64]]

_MOST_TERMS = 5
"""The most terms of a condition: a type, a kind of group, a size, and a bias or second tap that shows the defect."""
HARDLY = 0.25
"""The most calls that may contradict a condition, as a part of the failures that it explains."""
SELDOM = 0.75
"""The same limit for conditions on wrong values: many defects do not show in each output."""
_PART = 0.2
"""A condition explains at least this part of the failures."""
BELIEVED = 10.0
"""A condition must save so many bits, and a longer one so many more than a shorter: chance does so in one of 10^3 runs.
"""
_BEAM = 120
"""The most combinations to which a further term is added."""
_ALIKE = 3
"""The most combinations that are kept if they hold for equally many calls."""
_SAMPLE = 16_384
"""The most failures, and the most other calls, that are searched; they are chosen at even distances."""


class _Joined(NamedTuple):
    """Combinations of terms.

    Attributes:
        terms: the numbers of the terms of each combination.
        members: the members for which all terms hold, (combinations, members).
        others: the other calls for which all terms hold, (combinations, others).
    """

    terms: list[tuple[int, ...]]
    members: Counts
    others: Counts


def find_condition(
    holds: Mask, costs: Counts, members: Numbers, others: Numbers, hardly: float = HARDLY
) -> tuple[int, ...]:
    """Return the terms that together explain most of some calls; empty if chance may do the same.

    Args:
        holds: the calls for which each term holds, (terms, calls).
        costs: the bits that name each term, (terms,).
        members: the numbers of the calls that the condition is for.
        others: the numbers of the calls for which it may hold only rarely.
        hardly: the most others for which it may hold, as a part of the members for which it holds.
    """
    if not (len(holds) and len(members) and len(others)):
        return ()
    columns = [holds.take(calls[:: -(-len(calls) // _SAMPLE)], axis=1) for calls in (members, others)]
    counts = columns[0].shape[1], columns[1].shape[1]
    fewest = max(_PART * counts[0], 2)
    numbers = _telling_terms(columns[0], columns[1], fewest)
    single = _Joined([(place,) for place in range(len(numbers))], *(of[numbers].astype(np.float32) for of in columns))
    joined = _Joined([()], *(np.ones((1, count), np.float32) for count in counts))
    prices, paid = costs[numbers], np.zeros(1)
    best: tuple[float, tuple[int, ...]] = 0.0, ()
    for _ in range(_MOST_TERMS if len(numbers) else 0):
        of_members, of_others = joined.members @ single.members.T, joined.others @ single.others.T
        saved = bits_saved(of_members, of_others, *counts) - paid[:, None] - prices
        saved[of_members < fewest] = -np.inf
        allowed = np.where(of_others > hardly * of_members, -np.inf, saved)
        # An exact condition, for all members and no other call, is better than one that saves a little more.
        exact = np.where((of_members == counts[0]) & (of_others == 0), allowed, -np.inf)
        margin = 0.0 if best[1] and exact.max() > best[0] else BELIEVED
        of = exact if not margin else allowed
        at, number = np.unravel_index(of.argmax(), of.shape)
        if of[at, number] > best[0] + margin:
            best = float(of[at, number]), (*joined.terms[at], int(number))
        if of_members[at, number] == counts[0] and not of_others[at, number]:
            break
        # A further term costs bits, and keeps no more members: what cannot become better than the best is left out.
        most = bits_saved(of_members, np.zeros_like(of_others), *counts) - paid[:, None] - prices - prices.min()
        saved[most <= best[0]] = -np.inf
        chosen = list(_most_telling(joined, saved, of_members, of_others))
        if not chosen:
            break
        places, added = (list(of) for of in zip(*chosen, strict=True))
        paid = paid[places] + prices[added]
        joined = _Joined(
            [(*joined.terms[place], term) for place, term in chosen],
            joined.members[places] * single.members[added],
            joined.others[places] * single.others[added],
        )
    return tuple(sorted(int(numbers[place]) for place in best[1]))


def _telling_terms(members: Mask, others: Mask, fewest: float) -> Numbers:
    """Return the numbers of the terms that may be a part of a condition; of terms for the same calls only the first.

    A condition holds for no more calls than each of its terms.
    """
    with_members, with_others = members.sum(axis=1), others.sum(axis=1)
    telling = (with_members >= fewest) & (with_members / members.shape[1] > with_others / others.shape[1])
    seen: dict[bytes, int] = {}
    for number in np.flatnonzero(telling):
        seen.setdefault(members[number].tobytes() + others[number].tobytes(), int(number))
    return np.array([*seen.values()], dtype=np.int64)


def bits_saved(of_wrong: Counts, of_right: Counts, wrong: int, right: int) -> Counts:
    """Return how many bits a condition saves in the list of wrong answers.

    Args:
        of_wrong: the number of wrong answers for which each condition holds.
        of_right: the number of right answers for which each condition holds.
        wrong: the number of wrong answers.
        right: the number of right answers.
    """
    all_wrong, all_right = (np.full_like(of_wrong, count) for count in (wrong, right))
    inside, outside = _bits(of_wrong, of_right), _bits(all_wrong - of_wrong, all_right - of_right)
    saved: Counts = _bits(all_wrong, all_right) - inside - outside
    return saved


def _bits(wrong: Counts, right: Counts) -> Counts:
    """Return the bits of a list that says which of so many answers are wrong."""
    total = wrong + right
    of_wrong, of_right = (part * np.log2(np.maximum(total, 1) / np.maximum(part, 1)) for part in (wrong, right))
    bits: Counts = of_wrong + of_right
    return bits


def _most_telling(joined: _Joined, saved: Counts, of_members: Counts, of_others: Counts) -> Iterator[tuple[int, int]]:
    """Yield combinations, each with a term to add: those that save most bits first, and few that hold for equal counts.

    Args:
        joined: the combinations.
        saved: the bits that each combination saves with each added term.
        of_members: the number of members for which they hold with the added term.
        of_others: the number of other calls for which they hold with the added term.
    """
    seen: set[frozenset[int]] = set()
    alike: Counter[tuple[float, float]] = Counter()
    sizes = (of.sum(axis=1)[:, None] for of in (joined.members, joined.others))
    excludes = np.logical_or(*(of != size for of, size in zip((of_members, of_others), sizes, strict=True)))
    possible = np.flatnonzero(~np.isneginf(saved) & (excludes | (joined.terms == [()])))
    order = possible[np.argsort(-saved.ravel()[possible], kind="stable")]
    counts = zip(of_members.ravel()[order].tolist(), of_others.ravel()[order].tolist(), strict=True)
    for number, both in zip(order.tolist(), counts, strict=True):
        if len(seen) == _BEAM:
            return
        place, term = divmod(number, saved.shape[1])
        terms = joined.terms[place]
        members = frozenset((*terms, term))
        if alike[both] < _ALIKE and len(members) > len(terms) and members not in seen:
            seen.add(members)
            alike[both] += 1
            yield place, term

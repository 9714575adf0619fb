"""What cases have in common and others have not: the shortest conjunction of facts, or facts of which each has one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.cases.columns import NOT_WRITTEN, FactColumns
from tconv.corpus.facts import NAMES
from tconv.vocabulary import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.vocabulary import Mask

_MOST_FACTS = 3
_MOST_VALUES = 3
"""Values that a fact of all members may have between them."""
_MOST_ALTERNATIVES = 4
"""Facts of which each member has one or another."""
_HARDLY = 0.1
"""The others that a conjunction may hold for, as a part of the members."""
_OF_A_VALUE = 0.01
"""The others that a further value, of the same fact or another one, rules out at least, as a part of the members."""
_CANDIDATES = 14
"""Facts that are combined: those that rule out most of the others."""
_SIZES = re.compile(r"\d+(x\d+)+")
"""The value of a fact that is a list of numbers, as spatial=5x6."""
_OPERAND_SIZES = frozenset({"batch", "channels", "out_channels", "spatial", "kernel"})
_SIZES_COST, _LABEL_COST = 3, 2
"""So many plain facts are as short as a list of sizes, and as a label of a sweep or a single size of an operand.

What all cases of a sweep have may be chance.
"""
_MANY = 16
"""So many members have hardly a fact in common by chance."""
IDENTITY = frozenset({"seed", "about", "name"})
"""Settings that say which case it is, and nothing about the call."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Facts that hold for all of some cases.

    Attributes:
        where: the values of each fact.
        others: how many other cases they hold for.
        all_of: whether all of the facts hold for each case; else at least one of them.
    """

    where: Mapping[str, tuple[str, ...]]
    others: int
    all_of: bool = True

    def __str__(self) -> str:
        joint = " and " if self.all_of else " or "
        return joint.join(f"{name}={'|'.join(values)}" for name, values in self.where.items())

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it equal to another one."""
        return tuple(self.where.items()), self.all_of

    def holds_alone(self, members: int) -> bool:
        """Return whether the facts hold for hardly another case beside so many."""
        return self.others <= _HARDLY * members

    def holds(self, facts: Mapping[str, str]) -> bool:
        """Return whether a case of these facts is covered."""
        matches = (facts.get(name, NOT_WRITTEN) in values for name, values in self.where.items())
        return all(matches) if self.all_of else any(matches)


def shared_facts(
    members: Sequence[Mapping[str, str]],
    others: Sequence[Mapping[str, str]] | FactColumns,
    apart: Sequence[Mapping[str, str]] | FactColumns = (),
) -> Shared | None:
    """Return the shortest conjunction that holds for all members, and for the fewest others.

    A longer conjunction is taken only where it at least halves the others that a shorter one leaves; or, by plain facts
    alone, the cases of other causes where these are more than the members. A list of sizes counts as three plain facts;
    a label of a sweep, or a size of an operand, as two. Fewer values say more: `rank=1` is better than `spatial=3|4|5`,
    also where a single other case has it. Where each conjunction holds for many others, facts are looked for that no
    other case has, and of which each member has at least one.

    Args:
        members: the facts of each case of a cause.
        others: the facts of the cases that were asked beside them.
        apart: the facts of cases with other causes; what a few members have and these have not may be chance.

    Returns:
        The facts; None where they would hold for more other cases than members.
    """
    if not members or not len(others):
        return None
    beside, apart = (facts if isinstance(facts, FactColumns) else FactColumns.of(facts) for facts in (others, apart))
    conjunction = _conjunction(members, beside, apart if len(members) >= _MANY else apart.chosen([]))
    if conjunction is not None and conjunction.holds_alone(len(members)):
        return conjunction
    alternatives = _alternatives(members, beside)
    if alternatives is not None:
        return alternatives
    return conjunction if conjunction is not None and conjunction.others <= len(members) else None


class _Counted(NamedTuple):
    """A conjunction of facts.

    Attributes:
        score: how many others it holds for, and more for each of its values; the least is the best.
        others: how many others it holds for.
        apart: how many cases of other causes it holds for.
        names: the names of the facts.
    """

    score: float
    others: int
    apart: int
    names: tuple[str, ...]

    def is_better(self, shorter: _Counted, members: int, *, plain: bool) -> bool:
        """Return whether it leaves so many fewer others, or cases of other causes, than a shorter one."""
        halves = self.score < shorter.score and self.others * 2 <= shorter.others
        apart = self.others <= shorter.others and shorter.apart > members and self.apart * 2 <= shorter.apart
        return halves or (apart and plain) or (not shorter.names and self.score < shorter.score)


def _conjunction(members: Sequence[Mapping[str, str]], others: FactColumns, apart: FactColumns) -> Shared | None:
    masks = _conditions(members, others, apart)
    values = {name: _values(members, name) for name in masks}
    costs = {name: _cost(name, values[name]) for name in masks}

    def counted(names: tuple[str, ...]) -> _Counted:
        holds = np.logical_and.reduce([masks[name] for name in names])
        left = int(holds[: len(others)].sum())
        count = sum(len(values[name]) for name in names)
        return _Counted(left + _OF_A_VALUE * len(members) * count, left, int(holds[len(others) :].sum()), names)

    best = _Counted(float(len(others)), len(others), len(apart), ())
    for cost in range(1, _MOST_FACTS + 1):
        sets = chain.from_iterable(combinations(masks, size) for size in range(cost, 0, -1))
        of_cost = (counted(names) for names in sets if sum(map(costs.__getitem__, names)) == cost)
        longer = min(of_cost, default=best, key=lambda each: (each.score, each.apart))
        if longer.is_better(best, len(members), plain=len(longer.names) == cost):
            best = longer
        if best.others == 0 and best.apart <= len(members):
            break
    return Shared({name: values[name] for name in best.names}, best.others) if best.names else None


def _cost(name: str, values: Sequence[str]) -> int:
    """Return how many plain facts a fact counts as."""
    if any(map(_SIZES.fullmatch, values)):
        return _SIZES_COST
    return 1 if name in NAMES and name not in _OPERAND_SIZES else _LABEL_COST


def _alternatives(members: Sequence[Mapping[str, str]], others: FactColumns) -> Shared | None:
    """Return facts of which every member has at least one, and no other case has any."""
    pairs = {pair for facts in members for pair in facts.items() if pair[0] not in IDENTITY}
    pure = pairs.difference(*(facts.items() for facts in others))
    remaining, chosen = list(members), dict[str, list[str]]()
    while remaining and sum(map(len, chosen.values())) < _MOST_ALTERNATIVES:
        counts = Counter(pair for facts in remaining for pair in facts.items() if pair in pure)
        if not counts:
            return None
        name, value = max(counts, key=lambda pair: (counts[pair], pair))
        chosen.setdefault(name, []).append(value)
        remaining = [facts for facts in remaining if facts.get(name) != value]
    return None if remaining else Shared({name: tuple(values) for name, values in chosen.items()}, 0, all_of=False)


def _conditions(members: Sequence[Mapping[str, str]], others: FactColumns, apart: FactColumns) -> dict[str, Mask]:
    """Return, for each fact of all members, which others, and then which cases apart, share its values.

    Those that rule out most come first.

    An attribute is a fact of all members where one writes it.
    """
    written = dict.fromkeys(name for facts in members for name in facts if name not in IDENTITY)
    names = [name for name in written if name in ATTRIBUTES or all(name in facts for facts in members)]
    masks: dict[str, Mask] = {}
    for name in names:
        values = set(_values(members, name))
        if len(values) <= _MOST_VALUES:
            mask = np.concatenate([others.holding(name, values), apart.holding(name, values)])
            if not mask.all():
                masks[name] = mask
    ordered = sorted(masks, key=lambda name: (int(masks[name].sum()), names.index(name)))
    return {name: masks[name] for name in ordered[:_CANDIDATES]}


def _values(members: Sequence[Mapping[str, str]], name: str) -> tuple[str, ...]:
    return tuple(sorted({facts.get(name, NOT_WRITTEN) for facts in members}))

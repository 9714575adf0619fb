"""What cases have in common and others have not: the shortest conjunction of facts, or facts of which each has one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

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
_OF_A_VALUE = 0.02
"""The others that a further value, of the same fact or another one, rules out at least, as a part of the members."""
_CANDIDATES = 14
"""Facts that are combined: those that rule out most of the others."""
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

    def holds(self, facts: Mapping[str, str]) -> bool:
        """Return whether a case of these facts is covered."""
        each = (facts.get(name) in values for name, values in self.where.items())
        return all(each) if self.all_of else any(each)


def shared_facts(members: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]]) -> Shared | None:
    """Return the shortest conjunction that holds for all members, and for the fewest others.

    A longer conjunction is taken only where it at least halves the others that a shorter one leaves. Fewer values say
    more: `rank=1` is better than `spatial=3|4|5`, also where a single other case has it. Where every one holds for many
    others, facts are looked for that no other case has, and of which every member has one or another.

    Args:
        members: the facts of each case of a cause.
        others: the facts of the cases that were asked beside them.

    Returns:
        The facts; None where they would hold for more other cases than members.
    """
    if not members or not others:
        return None
    found = _conjunction(members, others)
    if found is not None and found.others <= _HARDLY * len(members):
        return found
    alternatives = _alternatives(members, others)
    if alternatives is not None:
        return alternatives
    return found if found is not None and found.others <= len(members) else None


def _conjunction(members: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]]) -> Shared | None:
    conditions = _conditions(members, others)
    values = {name: _values(members, name) for name in conditions}

    def of(names: tuple[str, ...]) -> tuple[float, int, tuple[str, ...]]:
        left = _left(conditions, names)
        return left + _OF_A_VALUE * len(members) * sum(len(values[name]) for name in names), left, names

    best: tuple[float, int, tuple[str, ...]] = float(len(others)), len(others), ()
    for size in range(1, _MOST_FACTS + 1):
        found = min(map(of, combinations(conditions, size)), default=best, key=itemgetter(0))
        if found[0] < best[0] and (not best[2] or found[1] * 2 <= best[1]):
            best = found
        if best[1] == 0:
            break
    return Shared({name: values[name] for name in best[2]}, best[1]) if best[2] else None


def _alternatives(members: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]]) -> Shared | None:
    """Return facts of which every member has at least one, and no other case has any."""
    pairs = {pair for facts in members for pair in facts.items() if pair[0] not in IDENTITY}
    pure = pairs.difference(*(facts.items() for facts in others))
    left, chosen = list(members), dict[str, list[str]]()
    while left and sum(map(len, chosen.values())) < _MOST_ALTERNATIVES:
        counts = Counter(pair for facts in left for pair in facts.items() if pair in pure)
        if not counts:
            return None
        name, value = max(counts, key=lambda pair: (counts[pair], pair))
        chosen.setdefault(name, []).append(value)
        left = [facts for facts in left if facts.get(name) != value]
    return None if left else Shared({name: tuple(values) for name, values in chosen.items()}, 0, all_of=False)


def _left(conditions: Mapping[str, Mask], names: tuple[str, ...]) -> int:
    return int(np.logical_and.reduce([conditions[name] for name in names]).sum())


def _conditions(members: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]]) -> dict[str, Mask]:
    """Return, for each fact of all members, which others share its values: those that rule out most come first."""
    names = [name for name in members[0] if name not in IDENTITY and all(name in facts for facts in members)]
    found: dict[str, Mask] = {}
    for name in names:
        values = set(_values(members, name))
        if len(values) <= _MOST_VALUES:
            mask = np.array([facts.get(name) in values for facts in others])
            if not mask.all():
                found[name] = mask
    ordered = sorted(found, key=lambda name: (int(found[name].sum()), names.index(name)))
    return {name: found[name] for name in ordered[:_CANDIDATES]}


def _values(members: Sequence[Mapping[str, str]], name: str) -> tuple[str, ...]:
    return tuple(sorted({facts[name] for facts in members}))

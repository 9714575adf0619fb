"""Which cases are run: those of a tier that match patterns, as a stream, a number or a list."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from tconv.corpus.corpus import EXCLUDING
from tconv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.corpus import Corpus, Tier
    from tconv.corpus.corpus import Deal
    from tconv.records.shards import Shards


_LONGEST_NAME = 40
MOST_CASES = 100_000
"""Cases of a run. The gate and the page have all records in memory: about a gigabyte for so many."""
_OF_A_SHARD = 18_600
"""Cases of a shard, as the error advises: its run takes at most 250 MB."""


@dataclass(frozen=True)
class Selection:
    """Which cases of a corpus are run.

    Attributes:
        corpus: the corpus.
        tier: smoke, gate, full or exhaustive.
        patterns: a case must match one of them, if there is any; cases that match a pattern after a `!` are left out.
        path: the path of the corpus as the user wrote it; empty for tconv's own.
        shard: which part of the selection is run; None for all of it.
    """

    corpus: Corpus
    tier: Tier = "gate"
    patterns: tuple[str, ...] = ()
    path: str = ""
    shard: Shards | None = None
    _made: dict[str, Case] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The part of file names that keeps runs of other cases apart; empty for all cases of tconv's own corpus.

        It depends on the path of a folder of cases, not on its content. So after a change of a case, a new run replaces
        the old records.
        """
        words = "|".join(self.patterns)
        parts = (
            name_of_cases(self.path) if self.path else "",
            f"selection-{_digest(words)}" if words else "",
            self.shard.name if self.shard else "",
        )
        return "-".join(filter(None, parts))

    @cached_property
    def count(self) -> int:
        """How many cases are selected.

        Raises:
            UsageError: a pattern matches no case, or the tier or the shard has none.
        """
        count = sum(self.corpus.count(tier, patterns) for tier, patterns in self._parts)
        if not count:
            chosen = (
                " that no --exclude leaves out" if any(text.startswith(EXCLUDING) for text in self.patterns) else ""
            )
            raise UsageError(f"the {self.tier} tier must have a case{chosen} (got none); choose another with --tier")
        if self.shard is None:
            return count
        if part := int(self.shard.deal()(count).sum()):
            return part
        raise UsageError(f"--shard i/n must have a case (got {self.shard} of {count} cases); take a smaller n")

    def refuse_too_many(self) -> None:
        """Refuse more cases than a run may have.

        Raises:
            UsageError: there are too many, or `count` raises it.
        """
        if self.count <= MOST_CASES:
            return
        shards = ceil(self.count / _OF_A_SHARD) * (self.shard.count if self.shard else 1)
        must = f"a run must have at most {MOST_CASES:,} cases (got {self.count:,})"
        raise UsageError(f"{must}; run its shards one by one: --shard 1/{shards} to --shard {shards}/{shards}")

    def stream(self) -> Iterator[Case]:
        """Yield the cases.

        Raises:
            UsageError: a pattern matches none.
        """
        dealt = self._dealt()
        for case in chain.from_iterable(self.corpus.cases(tier, patterns, *dealt) for tier, patterns in self._parts):
            self._made[case.id] = case
            yield case

    def find(self, case_id: str) -> Case | None:
        """Return the case of an id, or None; a case that was streamed is not made again."""
        return self._made.get(case_id) or self.corpus.find(case_id)

    def ids(self) -> Iterator[str]:
        """Return the ids of the cases, without making them.

        Raises:
            UsageError: a pattern matches none, or the tier has none.
        """
        parts, dealt = self._parts if self.count else (), self._dealt()
        return chain.from_iterable(self.corpus.ids(tier, patterns, *dealt) for tier, patterns in parts)

    def cases(self) -> list[Case]:
        """Return the cases as a list.

        Raises:
            UsageError: a pattern matches none, or the tier has none.
        """
        return list(self.stream()) if self.count else []

    def _dealt(self) -> tuple[Deal, ...]:
        """Return the dealer that gives the shard its cases of all parts; nothing without a shard."""
        return (self.shard.deal(),) if self.shard else ()

    @cached_property
    def _parts(self) -> list[tuple[Tier, tuple[str, ...]]]:
        """Tiers and the patterns that select from each: a pattern without a match selects from the next larger tier."""
        excluded = tuple(text for text in self.patterns if text.startswith(EXCLUDING))
        for text in excluded:
            if not any(self.corpus.ids("exhaustive", (text.removeprefix(EXCLUDING),))):
                raise self.corpus.unmatched(text.removeprefix(EXCLUDING))
        remaining, parts = tuple(text for text in self.patterns if text not in excluded), []
        if not remaining:
            return [(self.tier, excluded)]
        for tier in dict.fromkeys((self.tier, "full", "exhaustive")):
            if matching := tuple(text for text in remaining if any(self.corpus.ids(tier, (text,)))):
                parts.append((tier, (*matching, *excluded)))
                remaining = tuple(text for text in remaining if text not in matching)
        if remaining:
            raise self.corpus.unmatched(remaining[0])
        return parts


def name_of_cases(path: str | Path) -> str:
    """Return the part of file names for a folder or file of cases: its name, and a digest of its path."""
    place = Path(path).resolve()
    return f"cases-{re.sub('[^A-Za-z0-9._+-]', '_', place.stem)[:_LONGEST_NAME]}-{_digest(str(place))}"


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogateescape"), digest_size=4).hexdigest()

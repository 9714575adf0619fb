"""The facts of many cases, column by column: what waivers and conditions ask of thousands of cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.patterns import label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tconv.vocabulary import Mask

    Numbers = np.ndarray[Any, np.dtype[np.intp]]

NOT_WRITTEN = label(None)
"""The value of an attribute that a case does not write, as waivers and patterns have it."""


@dataclass
class FactColumns:
    """The facts of some of many cases.

    Attributes:
        every: the facts of each of the many cases.
        numbers: which of them are meant, (cases,).
    """

    every: Sequence[Mapping[str, str]]
    numbers: Numbers
    _columns: dict[str, tuple[dict[str | None, int], Numbers]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, facts: Sequence[Mapping[str, str]]) -> FactColumns:
        """Return the facts of all of some cases."""
        return cls(facts, np.arange(len(facts)))

    def chosen(self, numbers: Sequence[int]) -> FactColumns:
        """Return the facts of other ones of the many cases; what is looked up for these is looked up for all."""
        return FactColumns(self.every, np.array(numbers, np.intp), self._columns)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        return (self.every[number] for number in self.numbers)

    def holding(self, name: str, values: Collection[str], absent: str | None = NOT_WRITTEN) -> Mask:
        """Return which cases have one of some values of a fact, (cases,).

        Args:
            name: the fact.
            values: any of them is meant.
            absent: the value of a case that does not have the fact; None for one that is never meant.
        """
        if name not in self._columns:
            codes: dict[str | None, int] = {}
            column = [codes.setdefault(facts.get(name), len(codes)) for facts in self.every]
            self._columns[name] = codes, np.array(column, np.intp)
        codes, column_codes = self._columns[name]
        wanted = [codes[value] for value in (*values, *[None] * (absent in values)) if value in codes]
        mask: Mask = np.isin(column_codes[self.numbers], wanted)
        return mask

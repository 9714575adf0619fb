"""The facts of many cases, column by column, for waivers and conditions over thousands of cases."""

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
"""The value of an attribute that a case does not write, in waivers and patterns."""


@dataclass
class FactColumns:
    """The facts of some cases among many.

    Attributes:
        every: the facts of each of the many cases.
        numbers: the numbers of the chosen cases, (cases,).
    """

    every: Sequence[Mapping[str, str]]
    numbers: Numbers
    _columns: dict[str, tuple[dict[str | None, int], Numbers]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, facts: Sequence[Mapping[str, str]]) -> FactColumns:
        """Return the columns for all these facts."""
        return cls(facts, np.arange(len(facts)))

    def chosen(self, numbers: Sequence[int]) -> FactColumns:
        """Return the facts of other cases among the many; looked-up columns are shared."""
        return FactColumns(self.every, np.array(numbers, np.intp), self._columns)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        return (self.every[number] for number in self.numbers)

    def holding(self, name: str, values: Collection[str], absent: str | None = NOT_WRITTEN) -> Mask:
        """Return a mask of the cases with one of some values of a fact, (cases,).

        Args:
            name: the fact.
            values: the values.
            absent: the value of cases without the fact; None if these cases never count.
        """
        if name not in self._columns:
            codes: dict[str | None, int] = {}
            column = [codes.setdefault(facts.get(name), len(codes)) for facts in self.every]
            self._columns[name] = codes, np.array(column, np.intp)
        codes, column_codes = self._columns[name]
        wanted = [codes[value] for value in (*values, *[None] * (absent in values)) if value in codes]
        mask: Mask = np.isin(column_codes[self.numbers], wanted)
        return mask

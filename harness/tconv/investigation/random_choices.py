"""Choices among settings: from a seed, with the same result on every machine, or from another source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

LARGEST_SEED = 2**64 - 1


class Choices(ABC):
    """The choices for a case, all of them made from integers."""

    @abstractmethod
    def within(self, low: int, high: int) -> int:
        """Return an integer from low to high."""

    def often(self, percent: int) -> bool:
        """Return true in `percent` of 100 calls."""
        return self.within(1, 100) > 100 - percent

    def among(self, values: Sequence[T]) -> T:
        """Return one of the values with equal probability."""
        return values[self.within(0, len(values) - 1)]

    def weighted(self, *weights: tuple[T, int]) -> T:
        """Return one of the values with a probability by its weight."""
        return self.among([value for value, weight in weights for _ in range(weight)])

    def axes(self, rank: int, low: int, high: int) -> list[int]:
        """Return an integer from low to high for each axis; in half of the calls the same for all axes."""
        if self.often(50):
            return [self.within(low, high) for _ in range(rank)]
        return [self.within(low, high)] * rank


class Seeded(Choices):
    """Choices from the raw bits of a counter-based generator, the same with every numpy on every machine.

    Args:
        seed: the seed of all cases.
        number: the number of the case.
    """

    def __init__(self, seed: int, number: int) -> None:
        self._bits = np.random.Philox(key=(seed << 64) + number)

    def within(self, low: int, high: int) -> int:
        """Return an integer from low to high."""
        return low + int(self._bits.random_raw()) % (high - low + 1)

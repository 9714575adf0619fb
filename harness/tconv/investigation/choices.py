"""Choices among settings: from a seed, the same on every machine, or from whoever else makes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

LARGEST_SEED = 2**64 - 1


class Choices(ABC):
    """The choices of one case, all of them integers in the end."""

    @abstractmethod
    def within(self, low: int, high: int) -> int:
        """Return an integer of low..high."""

    def often(self, percent: int) -> bool:
        """Return true so often in a hundred."""
        return self.within(1, 100) > 100 - percent

    def among(self, some: Sequence[T]) -> T:
        """Return one of some, each as likely."""
        return some[self.within(0, len(some) - 1)]

    def weighted(self, *weights: tuple[T, int]) -> T:
        """Return one as often as its weight says."""
        return self.among([one for one, weight in weights for _ in range(weight)])

    def axes(self, rank: int, low: int, high: int) -> list[int]:
        """Return an integer of low..high for each axis, as often as not the same one."""
        if self.often(50):
            return [self.within(low, high) for _ in range(rank)]
        return [self.within(low, high)] * rank


class Seeded(Choices):
    """Choices from the raw bits of a counter-based generator: no numpy and no machine draws them otherwise.

    Args:
        seed: of all cases.
        number: of this one.
    """

    def __init__(self, seed: int, number: int) -> None:
        self._bits = np.random.Philox(key=(seed << 64) + number)

    def within(self, low: int, high: int) -> int:
        """Return an integer of low..high."""
        return low + int(self._bits.random_raw()) % (high - low + 1)

"""Limits of a corpus and of a case. They are checked from the numbers in the files, before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

from tconv.expectation.expected import LARGEST_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.vocabulary import Tier

MOST_ROWS = 200_000
"""Combinations of all sweeps; `tconv check` lints about a thousand a second."""
MOST_EXHAUSTIVE_ROWS = 20_000_000
"""Combinations of the sweeps of the exhaustive tier, which are never in memory together."""
MOST_TUPLES = 50_000_000
"""Quadruples of labels in the combinations of all sweeps. To choose the rows of a tier takes a second for a million."""
MOST_SWEEPS = 2_000
MOST_PATHS = 10_000
"""Files and folders of a corpus that only a record file names, not the command line."""
MOST_SPATIAL_AXES = 16
"""A case has two further axes, and the reference splits each axis into up to three; numpy allows 64."""
MOST_PRODUCTS = 2**36
"""Products of one case: ten seconds to a minute of one core."""
MOST_ELEMENTS = LARGEST_OUTPUT
"""Elements of operands and output of a case. Each takes up to 64 bytes in a worker, so together a gigabyte."""
_TUPLE = 4


@dataclass(slots=True)
class Budget:
    """The cost of the sweeps of a corpus so far."""

    sweeps: int = 0
    rows: int = 0
    exhaustive_rows: int = 0
    tuples: int = 0

    def charge(self, radix: Sequence[int], tier: Tier | None) -> str | None:
        """Add a sweep; return the error's text if a limit is exceeded, None if not.

        Args:
            radix: the number of labels of each axis of the sweep.
            tier: the smallest tier with its cases; None if smaller tiers have chosen rows of it.
        """
        rows, exhaustive = prod(radix), tier == "exhaustive"
        self.sweeps += 1
        self.exhaustive_rows += rows if exhaustive else 0
        self.rows += 0 if exhaustive else rows
        self.tuples += rows * comb(len(radix), _TUPLE) if tier is None else 0
        for spent, most, what in (
            (self.sweeps, MOST_SWEEPS, "sweeps"),
            (self.rows, MOST_ROWS, "combinations"),
            (self.exhaustive_rows, MOST_EXHAUSTIVE_ROWS, "combinations of the exhaustive tier"),
            (self.tuples, MOST_TUPLES, "quadruples of labels in its combinations"),
        ):
            if spent > most:
                return f"the sweeps of a corpus must have at most {most} {what} (got {spent} with this one)"
        return None

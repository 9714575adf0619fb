"""What a corpus and a case may cost. It is known from the files' numbers, before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

from tconv.expectation.expected import LARGEST_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.vocabulary import Tier

MOST_ROWS = 200_000
"""Combinations of all sweeps of a corpus; `tconv check` lints about a thousand a second."""
MOST_EXHAUSTIVE_ROWS = 20_000_000
"""The same of the sweeps of the exhaustive tier, which are never held as a whole."""
MOST_TUPLES = 50_000_000
"""Quadruples of labels in the combinations of all sweeps: choosing the rows of a tier takes a second for a million."""
MOST_SWEEPS = 2_000
MOST_PATHS = 10_000
"""Files and folders of a corpus that a record file names, and not the command line."""
MOST_SPATIAL_AXES = 16
"""A case has two axes more, and an array of numpy at most 64: the reference splits each axis in up to three."""
MOST_PRODUCTS = 2**36
"""Products of one case: ten seconds to a minute of one core."""
MOST_ELEMENTS = LARGEST_OUTPUT
"""Elements of a case's operands and of its output together, of which each takes a worker up to 64 bytes: a gigabyte."""
_TUPLE = 4


@dataclass(slots=True)
class Budget:
    """What the sweeps of a corpus have cost so far."""

    sweeps: int = 0
    rows: int = 0
    exhaustive_rows: int = 0
    tuples: int = 0

    def charge(self, radix: Sequence[int], tier: Tier | None) -> str | None:
        """Add a sweep, and return what the corpus must be where it costs more than it may.

        Args:
            radix: how many labels each of the sweep's axes has.
            tier: the smallest tier that has its cases; None if rows of it are chosen for the smaller ones.
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

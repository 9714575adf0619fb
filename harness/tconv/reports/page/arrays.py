"""The arrays of artifacts as the page includes them: up to a size, with notes on what is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tconv.records import artifacts
from tconv.reports.page.blocks import block

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.vocabulary import Array

LARGEST = 16_384
"""Elements of an array that the page includes."""

VALUES = ("expected", "actual", "allowed")
OPERANDS = ("x", "w", "b")


@dataclass(slots=True)
class ArrayBlock:
    """The arrays of one artifact. What follows from them, such as the difference, the script computes.

    Attributes:
        notes: sentences that say what is left out, and why.
        arrays: by name, in float32 where that has every element as it is, else in float64.
    """

    notes: list[str] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)

    def text(self) -> str:
        """Return the block as the page has it."""
        shapes = {name: list(array.shape) for name, array in self.arrays.items()}
        return block({"notes": self.notes, "shapes": shapes}, self.arrays)


def array_block(folder: Path, artifact: str, names: tuple[str, ...]) -> ArrayBlock:
    """Return the arrays of an artifact; a file that cannot be read gives a note, and no exception.

    Args:
        folder: the folder that the path is relative to and must not leave.
        artifact: the path in the record.
        names: the arrays to include.
    """
    try:
        arrays, notes = artifacts.read(folder, artifact, names, LARGEST)
    except artifacts.Unreadable as reason:
        return ArrayBlock([f"{reason} The artifact is {artifact}."])
    if notes:
        notes.append(f"The artifact is {artifact}.")
    return ArrayBlock(notes, {name: _as_short_as_exact(array) for name, array in arrays.items()})


def _as_short_as_exact(array: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        short = array.astype(np.float32)
    exact = np.array_equal(short.astype(np.float64), array, equal_nan=True)
    return short if exact else array.astype(np.float64)

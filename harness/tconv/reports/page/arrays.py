"""The arrays of artifacts as the page includes them: in float32, up to a size, with notes on what is left out."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tconv.records import artifacts

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.vocabulary import Array

LARGEST = 16_384
"""Elements of an array that the page includes."""

VALUES = ("expected", "actual", "allowed")
OPERANDS = ("x", "w", "b")


@dataclass(slots=True)
class ArrayBlock:
    """The arrays of one artifact.

    Attributes:
        notes: sentences that say what is left out, and why.
        arrays: by name, each as its shape and the base64 of little-endian float32.
        wrong: base64 of a bit for each element, most significant first; None without two arrays to compare.
    """

    notes: list[str] = field(default_factory=list)
    arrays: dict[str, tuple[list[int], str]] = field(default_factory=dict)
    wrong: str | None = None

    def data(self) -> dict[str, object]:
        """Return the block under the keys that the page's script reads."""
        return {"told": self.notes, "arrays": self.arrays, "wrong": self.wrong}


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
    block = ArrayBlock(notes)
    _compare(arrays, block)
    for name, array in arrays.items():
        block.arrays[name] = (list(array.shape), _float32(array, name, block.notes))
    return block


def _compare(arrays: dict[str, Array], block: ArrayBlock) -> None:
    """Add the difference, and which elements are wrong, both computed in float64: float32 would round them away."""
    expected, actual = arrays.get("expected"), arrays.get("actual")
    if expected is None or actual is None or expected.shape != actual.shape:
        return
    with np.errstate(invalid="ignore"):
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        difference = np.where(same, 0.0, actual - expected)
        allowed = arrays.get("allowed")
        if allowed is None or allowed.shape != expected.shape:
            wrong = ~same
        else:
            wrong = ~same & ~((np.abs(difference) <= allowed) & np.isfinite(actual))
    arrays["difference"] = difference
    block.wrong = b64encode(np.packbits(wrong).tobytes()).decode("ascii")


def _float32(array: Array, name: str, notes: list[str]) -> str:
    """Return the base64 of an array in float32; a finite number stays finite."""
    largest = float(np.finfo(np.float32).max)
    finite = np.isfinite(array)
    if (np.abs(array[finite]) > largest).any():
        notes.append(f"{name} has numbers beyond float32, drawn here as its largest one.")
        array = np.where(finite, np.clip(array, -largest, largest), array)
    return b64encode(array.astype("<f4").tobytes()).decode("ascii")

"""Artifacts, as far as the page carries them: arrays in float32, within limits, and in words why one is not there."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tconv.records import artifacts

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.vocabulary import Array

VALUES = ("expected", "actual", "allowed")
OPERANDS = ("x", "w", "b")


@dataclass(slots=True)
class Shown:
    """What the page says and shows of an artifact.

    Attributes:
        told: sentences: what is left out, and why.
        arrays: by name, each as shape and base64 of little-endian float32.
        wrong: base64 of a bit for each element, most significant first; None without two arrays to compare.
    """

    told: list[str] = field(default_factory=list)
    arrays: dict[str, tuple[list[int], str]] = field(default_factory=dict)
    wrong: str | None = None


def shown(folder: Path, artifact: str, names: tuple[str, ...]) -> Shown:
    """Return what the page shows of an artifact; whatever is wrong with the file is told, and never raised.

    Args:
        folder: what the path is relative to and must not leave.
        artifact: the path in the record.
        names: the arrays that are wanted.
    """
    try:
        found, told = artifacts.read(folder, artifact, names)
    except artifacts.Unreadable as reason:
        return Shown([f"{reason} The artifact is {artifact}."])
    if told:
        told.append(f"The artifact is {artifact}.")
    result = Shown(told)
    _compare(found, result)
    for name, array in found.items():
        result.arrays[name] = (list(array.shape), _float32(array, name, result.told))
    return result


def _compare(found: dict[str, Array], result: Shown) -> None:
    """Add the difference and what of it is more than allowed, both in float64: in float32 neither could be told."""
    expected, actual = found.get("expected"), found.get("actual")
    if expected is None or actual is None or expected.shape != actual.shape:
        return
    with np.errstate(invalid="ignore"):
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        difference = np.where(same, 0.0, actual - expected)
        allowed = found.get("allowed")
        if allowed is None or allowed.shape != expected.shape:
            wrong = ~same
        else:
            wrong = ~same & ~((np.abs(difference) <= allowed) & np.isfinite(actual))
    found["difference"] = difference
    result.wrong = b64encode(np.packbits(wrong).tobytes()).decode("ascii")


def _float32(array: Array, name: str, told: list[str]) -> str:
    """Return an array as float32; a finite number stays finite."""
    largest = float(np.finfo(np.float32).max)
    finite = np.isfinite(array)
    if (np.abs(array[finite]) > largest).any():
        told.append(f"{name} has numbers beyond float32, drawn here as its largest one.")
        array = np.where(finite, np.clip(array, -largest, largest), array)
    return b64encode(array.astype("<f4").tobytes()).decode("ascii")

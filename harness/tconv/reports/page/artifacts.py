"""Artifacts, as far as the page carries them: arrays in float32, within limits, and in words why one is not there."""

from __future__ import annotations

import zipfile
from base64 import b64encode
from dataclasses import dataclass, field
from math import prod
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray[Any, np.dtype[Any]]

ELEMENTS = 16_384
"""The most elements of an array that the page carries."""

VALUES = ("expected", "actual", "allowed")
OPERANDS = ("x", "w", "b")

_NUMBERS = "fiub"
_LONGEST = 200


class _NotShown(Exception):  # noqa: N818 - nothing went wrong with the report
    """An artifact is not shown; the message is a sentence for the page."""


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
        found, told = _read(_inside(folder, artifact), names)
    except _NotShown as reason:
        return Shown([f"{reason} The artifact is {artifact}."])
    if told:
        told.append(f"The artifact is {artifact}.")
    result = Shown(told)
    _compare(found, result)
    for name, array in found.items():
        result.arrays[name] = (list(array.shape), _float32(array, name, result.told))
    return result


def kept(folder: Path, artifact: str | None, name: str) -> Array | None:
    """Return one array of an artifact, or None where there is none or it cannot be read."""
    if artifact is None:
        return None
    try:
        found, _ = _read(_inside(folder, artifact), (name,))
    except _NotShown:
        return None
    return found.get(name)


def _inside(folder: Path, artifact: str) -> Path:
    try:
        root = folder.resolve()
        path = (root / artifact).resolve()
        is_file = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise _NotShown(f"The arrays are not shown: the path cannot be followed ({_clipped(error)}).") from None
    if not path.is_relative_to(root):
        raise _NotShown("The arrays are not shown: the path leaves the report's folder.")
    if not is_file:
        raise _NotShown("The arrays are not shown: the artifact is missing.")
    return path


def _read(path: Path, names: tuple[str, ...]) -> tuple[dict[str, Array], list[str]]:
    found: dict[str, Array] = {}
    told: list[str] = []
    try:
        with zipfile.ZipFile(path) as archive:
            for name in names:
                if f"{name}.npy" in archive.NameToInfo:
                    _member(archive, name, found, told)
    except Exception as error:  # noqa: BLE001 - a corrupt file makes zipfile and numpy raise almost anything
        raise _NotShown(f"The arrays are not shown: the artifact cannot be read ({_clipped(error)}).") from None
    if not found and not told:
        raise _NotShown(f"The artifact has none of the arrays {', '.join(names)}.")
    return found, told


def _member(archive: zipfile.ZipFile, name: str, found: dict[str, Array], told: list[str]) -> None:
    """Read one array, its header first: an oversized one is never decompressed."""
    with archive.open(f"{name}.npy") as stream:
        shape, dtype = _header(stream)
    if dtype.kind not in _NUMBERS:
        told.append(f"{name} is not shown: it has no numbers but {dtype}.")
    elif prod(shape) > ELEMENTS:
        told.append(f"{name} is not shown: {prod(shape):,} elements are more than the page's limit of {ELEMENTS:,}.")
    else:
        with archive.open(f"{name}.npy") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
        found[name] = array.astype(np.float64)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


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


def _clipped(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:_LONGEST]

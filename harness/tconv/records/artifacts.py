"""Artifacts: the arrays of a wrong output, in a file next to the records. Only this module writes and reads them."""

from __future__ import annotations

import zipfile
from hashlib import blake2b
from math import prod
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tconv.vocabulary import Array

FOLDER = "artifacts"
"""The folder next to the record file."""
LARGEST_WRITTEN = 2**22
"""Elements of all arrays of an artifact; a larger one is not written."""
_LARGEST_FILE = 8 * LARGEST_WRITTEN + 2**20
"""Bytes of an artifact's file: its elements as float64, and room for names and compression."""
_NUMBERS = "fiub"
_LONGEST = 200


class Unreadable(Exception):  # noqa: N818 - not an error of the report, but a state of a file
    """An artifact cannot be read; the message is a sentence for the reader of a report."""


def write(folder: Path, identity: Sequence[str], arrays: Mapping[str, Array]) -> str | None:
    """Write arrays as float64, and return the path relative to `folder`; None if they are too large.

    Args:
        folder: the folder of the record file.
        identity: backend, dialect, case id and chosen options, which are unique in the folder.
        arrays: operands, expected and actual output by name, in NCX and IOX.
    """
    if sum(array.size for array in arrays.values()) > LARGEST_WRITTEN:
        return None
    path = folder / FOLDER / file_name(identity)
    path.parent.mkdir(parents=True, exist_ok=True)
    with np.errstate(invalid="ignore"):
        numbers = {name: array.astype(np.float64) for name, array in arrays.items()}
    np.savez_compressed(path, allow_pickle=False, **numbers)
    return f"{FOLDER}/{path.name}"


def file_name(identity: Sequence[str]) -> str:
    """Return the name of an artifact's file: a digest of the identity, see `write`."""
    return f"{blake2b('|'.join(identity).encode(), digest_size=8).hexdigest()}.npz"


def read(
    folder: Path, artifact: str, names: Sequence[str], largest: int = LARGEST_WRITTEN
) -> tuple[dict[str, Array], list[str]]:
    """Return the arrays of these names as float64, and a sentence for each array that is left out.

    Args:
        folder: the folder of the record file; the path must not leave it.
        artifact: the path in the record.
        names: the names of the wanted arrays.
        largest: an array with more elements is left out, and not decompressed.

    Raises:
        Unreadable: there is no such file, or it is not an artifact.
    """
    path = _inside(folder, artifact)
    arrays: dict[str, Array] = {}
    omissions: list[str] = []
    if (size := path.stat().st_size) > _LARGEST_FILE:
        raise Unreadable(f"The arrays are not shown: the artifact has {size:,} bytes, more than {_LARGEST_FILE:,}.")
    try:
        with zipfile.ZipFile(path) as archive:
            for name in names:
                if f"{name}.npy" in archive.NameToInfo:
                    _read_member(archive, name, largest, arrays, omissions)
    except Exception as error:  # noqa: BLE001 - a corrupt file makes zipfile and numpy raise almost anything
        raise Unreadable(f"The arrays are not shown: the artifact cannot be read ({_clipped(error)}).") from None
    if not arrays and not omissions:
        raise Unreadable(f"The artifact has none of the arrays {', '.join(names)}.")
    return arrays, omissions


def array(folder: Path, artifact: str | None, name: str, largest: int = LARGEST_WRITTEN) -> Array | None:
    """Return one array of an artifact; None if there is none, it is too large, or it cannot be read."""
    if artifact is None:
        return None
    try:
        arrays, _ = read(folder, artifact, (name,), largest)
    except Unreadable:
        return None
    return arrays.get(name)


def _inside(folder: Path, artifact: str) -> Path:
    try:
        root = folder.resolve()
        path = (root / artifact).resolve()
        is_file = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise Unreadable(f"The arrays are not shown: the path cannot be followed ({_clipped(error)}).") from None
    if not path.is_relative_to(root):
        raise Unreadable("The arrays are not shown: the path leaves the report's folder.")
    if not is_file:
        raise Unreadable("The arrays are not shown: the artifact is missing.")
    return path


def _read_member(
    archive: zipfile.ZipFile, name: str, largest: int, arrays: dict[str, Array], omissions: list[str]
) -> None:
    """Read an array, its header first, so that an array that is too large is never decompressed."""
    if (size := archive.getinfo(f"{name}.npy").file_size) > _LARGEST_FILE:
        # The header alone may have gigabytes.
        omissions.append(f"{name} is not shown: its file has {size:,} bytes, more than {_LARGEST_FILE:,}.")
        return
    with archive.open(f"{name}.npy") as stream:
        shape, dtype = _header(stream)
    if dtype.kind not in _NUMBERS:
        omissions.append(f"{name} is not shown: it has no numbers but {dtype}.")
    elif prod(shape) > largest:
        omissions.append(
            f"{name} is not shown: {prod(shape):,} elements are more than the page's limit of {largest:,}."
        )
    else:
        with archive.open(f"{name}.npy") as stream:
            arrays[name] = np.lib.format.read_array(stream, allow_pickle=False).astype(np.float64)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


def _clipped(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:_LONGEST]

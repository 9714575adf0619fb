"""A YAML file as plain values or as a model, with every error at its line and column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import ValidationError

from tconv.documents.models import Part, list_complaints
from tconv.documents.tree import Node, Place, Plain, compose, place_after
from tconv.errors import FileError, joined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Document", "load", "place_error", "read"]

M = TypeVar("M", bound=Part)

MAX_BYTES: Final = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Document:
    """The value of a YAML file, and the places of its parts.

    Attributes:
        path: the file.
        value: plain dicts with texts as keys, lists, str, int, float, bool and None; aliases share their value.
        root: the tree of places; use `mark`.
    """

    path: Path
    value: Plain
    root: Node = field(repr=False, compare=False)

    def mark(self, location: Sequence[str | int], *, key: bool = False) -> Place:
        """Return the place of a value.

        Args:
            location: the keys and indices that lead to the value.
            key: whether the place of its key is wanted; in a list, this is the place of the value.

        Returns:
            1-based line and column; those of the nearest enclosing value if the location does not exist.
        """
        node = self.root
        for segment in location:
            if segment not in node.parts:
                return node.place
            node = node.parts[segment]
        return node.key if key else node.place


def read(path: Path) -> Document:
    """Read a YAML file by the core schema of YAML 1.2.

    Keys are texts, as written: `on`, `010` and `<<` are ordinary keys.

    Args:
        path: the file.

    Returns:
        Its one document.

    Raises:
        FileError: the file cannot be read, is not UTF-8 or YAML, or exceeds a limit. A key is repeated or is not a
            scalar, a value has a tag, or there is not exactly one document.
    """
    root = compose(path, _text(path))
    return Document(path, root.value, root)


def load(path: Path, model: type[M]) -> tuple[M, Document]:
    """Read a YAML file, and validate it.

    Args:
        path: the file.
        model: its model. Validators of the model raise a ValueError for a wrong value.

    Returns:
        The validated model, and the document for errors that are found later.

    Raises:
        FileError: as `read`, or for every place that the model does not accept.
    """
    document = read(path)
    try:
        return model.model_validate(document.value), document
    except ValidationError as error:
        file_errors = [
            place_error(document, location, message, key=key)
            for location, key, message in list_complaints(document.root, model, error)
        ]
        raise joined(file_errors) from error


def place_error(document: Document, location: Sequence[str | int], message: str, *, key: bool = False) -> FileError:
    """Return an error at a place of a document.

    Args:
        document: the document.
        location: the keys and indices that lead to the place.
        message: what must be, what was got, what to do; one line.
        key: whether the key is wrong, not the value.
    """
    return FileError(document.path, message, *document.mark(location, key=key))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(path, f"must be a file that can be read (got: {reason}); check the path") from error
    if len(data) > MAX_BYTES:
        raise FileError(path, f"must be at most {MAX_BYTES} bytes (got more); split the file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # `error.object` has no byte order mark, even if the file has one.
        place = place_after(error.object[: error.start].decode())
        message = f"must be UTF-8 (got the byte 0x{error.object[error.start]:02x}); save the file as UTF-8"
        raise FileError(path, message, *place) from error

"""Errors; their messages say what must be, what was got, and what to do.

Every error that a user can cause is a `TconvError`; it carries the exit code that the command ends with.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class TconvError(Exception):
    """An error with a message for a person; `exit_code` is the command's exit code."""

    exit_code: ClassVar[int] = 2


class UsageError(TconvError):
    """The command line or an argument of the API is not as it must be."""


class DialectError(UsageError):
    """A backend was asked to speak a dialect that it does not speak."""


class OptionError(UsageError):
    """A backend was given an option that it does not have, or a value that the option may not have."""


class FileError(TconvError):
    """Something is wrong at a place in a file.

    Args:
        path: the file.
        message: what must be, what was got, what to do; one line.
        line: 1-based; None where the whole file is meant.
        column: 1-based; None where the whole line is meant.
    """

    def __init__(self, path: Path, message: str, line: int | None = None, column: int | None = None) -> None:
        self.path = path
        self.message = message
        self.line = line
        self.column = column
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(printable(f"{place}: {message}"))


@contextmanager
def writing(path: Path, what: Literal["file", "folder"] = "file") -> Iterator[None]:
    """Report as a `FileError` that the system refuses to write something.

    Args:
        path: the file or folder that is written inside of this context.
        what: which of both it is.

    Raises:
        FileError: the system refused.
    """
    try:
        yield
    except OSError as error:
        raise FileError(path, f"must be a {what} that can be written ({error.strerror})") from None


class BackendMissing(TconvError):  # noqa: N818 - a state of the machine, not a fault of the program
    """A backend was asked for that is not there, or that does not start."""

    exit_code = 3


class BackendLost(BackendMissing):
    """A backend was there, and does not start again after it died."""


class ClusterError(TconvError):
    """A cluster cannot be had, its workers would not judge alike, or none of them is left."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that does not hold.

    Attributes:
        constraint: its name.
        attribute: the attribute or input at fault.
        must: what must hold of it.
        got: what was found.
        clause: the words of the dialect's text that state the constraint; empty before a dialect adds them.
    """

    constraint: str
    attribute: str
    must: str
    got: str
    clause: str = ""

    def __str__(self) -> str:
        return f"{self.attribute} {self.must} (got {self.got}) [{self.constraint}: {self.clause}]"


class Invalid(ValueError):  # noqa: N818 - a public name
    """Attributes or shapes violate a constraint that the dialect states.

    Attributes:
        constraint: the constraint's name.
        attribute: the attribute or input at fault.
        must: what must hold.
        got: what was given.
        cites: the clause of the dialect's text.
    """

    def __init__(self, violation: Violation) -> None:
        self.constraint, self.attribute = violation.constraint, violation.attribute
        self.must, self.got, self.cites = violation.must, violation.got, violation.clause
        super().__init__(str(violation))


def nearest(word: str, known: Iterable[str]) -> str:
    """Return '; did you mean X?' for the known word nearest to `word`, or an empty text where none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it, and every command would wait for it

    match = get_close_matches(word, map(str, known), n=1, cutoff=0.6)
    return f"; did you mean {match[0]!r}?" if match else ""


def printable(text: str) -> str:
    """Return text from outside with an escape for every character that is no part of what a reader sees.

    A terminal acts on control characters, an editor on those that turn the direction of writing; half of a surrogate
    pair cannot be written at all. Spaces of all widths, newlines and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else repr(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """Return the text in one line, and printable."""
    return printable(" ".join(text.split()))


def shortened(text: str, width: int) -> str:
    """Return a text of at most `width` characters; a longer one loses its middle, where messages say least."""
    if len(text) <= width:
        return text
    half = (width - len(_LEFT_OUT)) // 2
    return f"{text[: width - len(_LEFT_OUT) - half]}{_LEFT_OUT}{text[-half:]}"


_LEFT_OUT = " ... "


def shown(value: object, width: int = 60) -> str:
    """Return how a message shows a value: its repr, which escapes control characters, cut to `width`."""
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 3]}..."

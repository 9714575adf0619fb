"""Errors. Their messages say what must be, what was got, and what to do.

Every error that a user can cause is a `TconvError`, which has the exit code of the command.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from tconv.shown_texts import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")


class TconvError(Exception):
    """An error with a message for a person; `exit_code` is the command's exit code."""

    exit_code: ClassVar[int] = 2


class UsageError(TconvError):
    """The command line or an argument of the API is wrong."""


class DialectError(UsageError):
    """The backend does not speak the dialect."""


class OptionError(UsageError):
    """The backend does not have the option, or the value is wrong."""


class FileError(TconvError):
    """Something is wrong at a place in a file.

    Args:
        path: the file.
        message: what must be, what was got, what to do; one line.
        line: 1-based; None for the whole file.
        column: 1-based; None for the whole line.
    """

    def __init__(self, path: Path, message: str, line: int | None = None, column: int | None = None) -> None:
        self.path = path
        self.message = message
        self.line = line
        self.column = column
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(printable(f"{place}: {message}"))


class FileErrors(FileError):  # noqa: N818 - it is several
    """Several errors of files, reported together, each in its own line.

    Args:
        errors: at least two, in the order of the report.
    """

    def __init__(self, errors: Sequence[FileError]) -> None:
        first = errors[0]
        super().__init__(first.path, first.message, first.line, first.column)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


def joined(errors: Iterable[FileError]) -> FileError:
    """Return one error, or several joined to one, in the order of their places in each file."""
    several = [single for error in errors for single in (error.errors if isinstance(error, FileErrors) else (error,))]
    paths = list(dict.fromkeys(error.path for error in several))
    several.sort(key=lambda error: (paths.index(error.path), error.line or 0, error.column or 0))
    return several[0] if len(several) == 1 else FileErrors(several)


def make_all(makers: Iterable[Callable[[], T]]) -> list[T]:
    """Call all functions, and return their results.

    Raises:
        FileError: some of them raised one; these are reported together.
    """
    results, errors = [], []
    for make in makers:
        try:
            results.append(make())
        except FileError as error:
            errors.append(error)
    if errors:
        raise joined(errors)
    return results


@contextmanager
def writing(path: Path, what: Literal["file", "folder"] = "file") -> Iterator[None]:
    """Turn an error of the system inside this context into a `FileError`.

    Args:
        path: the file or folder that is written.
        what: whether it is a file or a folder.

    Raises:
        FileError: the system refused to write.
    """
    try:
        yield
    except OSError as error:
        raise FileError(path, f"must be a {what} that can be written ({error.strerror})") from None


class BackendMissing(TconvError):  # noqa: N818 - a state of the machine, not a fault of the program
    """A backend is not there, or does not start."""

    exit_code = 3


class BackendLost(BackendMissing):
    """A backend crashed, and does not start again."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken constraint.

    Attributes:
        constraint: its name.
        attribute: the wrong attribute or input.
        must: what must hold.
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
        constraint: the name of the constraint.
        attribute: the wrong attribute or input.
        must: what must hold.
        got: what was given.
        cites: the clause of the dialect's text.
    """

    def __init__(self, violation: Violation) -> None:
        self.constraint, self.attribute = violation.constraint, violation.attribute
        self.must, self.got, self.cites = violation.must, violation.got, violation.clause
        super().__init__(str(violation))

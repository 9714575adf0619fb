"""What a worker says besides its records: which backend it runs, and why it cannot go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationError

from tconv.errors import BackendMissing, DialectError, FileError, OptionError, TconvError
from tconv.records.headers import BackendHeader


class EndedWhileLoading(BackendMissing):
    """A worker ended before it said which backend it runs: perhaps something outside has ended it."""


class Introduced(NamedTuple):
    """What a worker says of itself.

    Attributes:
        dialect: the dialect's name.
        backend: what records say of the backend.
        options: its options, each as name, meaning, default and what it may be.
    """

    dialect: str
    backend: BackendHeader
    options: list[tuple[str, str, str, str]]


def introduction_of(message: list[Any], spec: str) -> Introduced:
    """Return what a worker says of itself in its first message.

    Args:
        message: the message.
        spec: how the user named the backend.

    Raises:
        BackendMissing: there is no backend, or its name or version is none.
        DialectError: the backend does not speak the dialect.
        OptionError: the backend does not have an option that it was given, or not with that value.
        FileError: the worker cannot make its files.
    """
    match message:
        case ["info", dialect_name, header, options]:
            return Introduced(dialect_name, _header(header | {"spec": spec}), options)
        case ["missing", text]:
            raise BackendMissing(text)
        case ["option", text]:
            raise OptionError(text)
        case ["wrong", text]:
            raise DialectError(text)
        case ["unwritable", folder, reason]:
            raise unwritable(folder, reason)
        case _:
            raise TconvError(f"a worker must introduce itself (got {message!r})")


def unwritable(folder: str, reason: str) -> FileError:
    """Return the error for a folder in which a worker cannot write."""
    return FileError(Path(folder), f"must be writable while cases run ({reason}); make room, and --resume")


def _header(values: dict[str, Any]) -> BackendHeader:
    """Return what records say of a backend.

    Raises:
        BackendMissing: its name or version is none.
    """
    try:
        return BackendHeader.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise BackendMissing(f"a backend must have a name and a version of 1 to 100 characters (got {what})") from None


def raise_for(message: list[Any], case: str) -> NoReturn:
    """Raise what a worker says that it cannot go on for; `case` is the id of the case that it is at."""
    match message:
        case ["unwritable", folder, reason]:
            raise unwritable(folder, reason)
        case ["memory", reason]:
            raise MemoryError(f"a worker: {reason}")
        case ["failed", trace]:
            raise RuntimeError(f"judging {case} failed:\n{trace}")
        case _:
            raise TconvError(f"a worker must answer in the protocol (got {message!r})")

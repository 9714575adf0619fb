"""What a backend did with a call."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Produced:
    """An output array, in the call's data layout."""

    array: np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class ShapeOnly:
    """A shape and a type without values, as shape inference gives them."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The backend says that the call is invalid."""

    message: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The backend says that it does not implement the call."""

    reason: str


@dataclass(frozen=True, slots=True)
class Died:
    """The backend's process ended: the signal or exit code, and the tail of its standard error."""

    cause: str
    stderr: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The backend did not answer in time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Broke:
    """Anything unexpected: an exception that is no refusal, an answer that is no array."""

    message: str


def ending(code: int | None) -> str:
    """Return what a process ended of, as `Died` says it: a signal's name, or the exit code."""
    if code is None or code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    # Real-time signals have no names.
    return f"signal {-code}"


Outcome = Produced | ShapeOnly | Refused | Unsupported | Died | TimedOut | Broke

"""The outcome of a call. Without an answer (unsupported, crashed, timed out), the outcome is also the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, assert_never

if TYPE_CHECKING:
    import numpy as np
    from pydantic import ConfigDict

    from tconv.cases.context import Quantisation


class Recorded:
    """A part of a record. A reader of records refuses unknown keys."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, eq=False)
class Produced:
    """An output.

    Attributes:
        array: the output, in the call's data layout.
        notes: notes of the backend for the verdict.
        executed: in a context, the operations that the runtime executes, each with its element type if that is known,
            such as `ConvTranspose i8`; empty if the runtime does not report them.
        quantisation: of a call in floating point that the runtime quantises by itself, its scales and zero points. The
            output may then be off by half a step of each tensor more.
    """

    array: np.ndarray[Any, np.dtype[Any]]
    notes: tuple[str, ...] = ()
    executed: tuple[str, ...] = ()
    quantisation: Quantisation | None = None


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
class Unsupported(Recorded):
    """The backend says that it does not implement the call.

    Attributes:
        reason: its words.
    """

    reason: str
    kind: Literal["unsupported"] = field(default="unsupported", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Crashed(Recorded):
    """The backend's process ended during this call.

    Attributes:
        cause: the name of the signal that ended it, or its exit code.
        stderr: the end of its standard error.
    """

    cause: str
    stderr: str
    kind: Literal["crashed"] = field(default="crashed", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class TimedOut(Recorded):
    """The backend did not answer in time.

    Attributes:
        seconds: the limit.
    """

    seconds: float
    kind: Literal["timed-out"] = field(default="timed-out", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class BackendError(Recorded):
    """The backend gave no output and no refusal.

    Attributes:
        message: what happened, in one line or more.
    """

    message: str
    kind: Literal["backend-error"] = field(default="backend-error", kw_only=True, repr=False)


Outcome = Produced | ShapeOnly | Refused | Unsupported | Crashed | TimedOut | BackendError


def in_words(outcome: Outcome) -> str:
    """Return what a backend did, for a person."""
    match outcome:
        case Refused(text):
            return f"refused: {text}"
        case Unsupported(text):
            return f"unsupported: {text}"
        case BackendError(text):
            return f"no answer: {text}"
        case Crashed(cause):
            return f"the process ended ({cause})"
        case TimedOut(seconds):
            return f"no answer within {seconds:g} s"
        case Produced() | ShapeOnly():
            return "an output"
        case _:
            assert_never(outcome)

"""What a backend does with a call, as an evaluator has it: checked, compared with another, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.operands import NUMPY_TYPES

if TYPE_CHECKING:
    from tconv.vocabulary import Array


@dataclass(frozen=True, slots=True)
class Answer:
    """What a backend did with a call.

    Attributes:
        outcome: the outcome.
        seconds: how long the backend took; in company, its share.
        other: an outcome of the same call that is another; None where all are the same.
    """

    outcome: out.Outcome
    seconds: float
    other: out.Outcome | None = None


def checked(outcome: Any) -> out.Outcome:  # noqa: ANN401 - a backend may return anything
    """Return the outcome, or `Broke` for a value that is none: it would end the worker, or break the record file."""
    array: object = getattr(outcome, "array", None)
    match outcome:
        case out.Produced() if not isinstance(array, np.ndarray):
            return out.Broke(f"must produce an array (got {type(array).__name__})")
        case out.Produced() if not _numeric(outcome.array):
            return out.Broke(f"must produce an array of numbers (got {outcome.array.dtype})")
        case (
            out.Produced()
            | out.ShapeOnly(tuple(), str())
            | out.Refused(str())
            | out.Unsupported(str(), kind="unsupported")
            | out.Died(str(), str(), kind="died")
            | out.TimedOut(int() | float(), kind="timed-out")
            | out.Broke(str(), kind="broke")
        ):
            return outcome
        case _:
            return out.Broke(f"must return an outcome (got {outcome!r:.200})")


def alike(first: out.Outcome, second: out.Outcome) -> bool:
    """Return whether two outcomes of a call are the same: bit for bit where they are arrays, NaN aside."""
    if isinstance(first, out.Produced) and isinstance(second, out.Produced):
        return first.array.dtype == second.array.dtype and np.array_equal(
            _values(first.array), _values(second.array), equal_nan=True
        )
    if isinstance(first, out.ShapeOnly):
        return first == second
    # Messages are not compared: the names of nodes in them may be numbered anew in each run.
    return type(first) is type(second)


def _values(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def described(outcome: out.Outcome) -> str:
    """Return an outcome in words, in one line as long as a message may be."""
    if not isinstance(outcome, out.Produced):
        return f"{type(outcome).__name__.lower()}: {outcome}"[:_LONGEST_OUTCOME]
    first = outcome.array.ravel()[:_FIRST].tolist()
    return f"{outcome.array.dtype} {list(outcome.array.shape)} beginning with {first}"


def told_apart(first: out.Outcome, second: out.Outcome) -> tuple[str, str]:
    """Return two outcomes that are not alike in words: of arrays, the first element in which they differ."""
    arrays = [_values(outcome.array) for outcome in (first, second) if isinstance(outcome, out.Produced)]
    if len(arrays) == len((first, second)) and arrays[0].shape == arrays[1].shape:
        here, there = arrays
        for place in np.argwhere((here != there) & ~(np.isnan(here) & np.isnan(there)))[:1]:
            return f"{here[tuple(place)]:.9g} at {place.tolist()}", f"{there[tuple(place)]:.9g} at {place.tolist()}"
    return described(first), described(second)


_FIRST = 4
_LONGEST_OUTCOME = 200


def _numeric(array: Array) -> bool:
    """Return whether the elements are real numbers, those of ml_dtypes included."""
    return array.dtype.kind in "fiub" or array.dtype in NUMPY_TYPES.values()

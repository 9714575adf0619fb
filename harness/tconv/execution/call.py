"""One call of a backend: its own copy of the operands, the state of its process, and the checked outcome.

The runtime keeps its own state of the floating-point unit, and tconv computes in the state of its start. A library may
flush subnormal numbers to zero for its whole thread, or round differently. Reference and comparison run in this thread.

Uninitialised memory is filled with a fixed pattern while an invalid call runs (glibc only). A runtime may read beyond a
list that is too short. Whether it then refuses the call must not depend on what the process did before. Valid calls
have no pattern, as it costs a write to all memory that is allocated and freed.

Source: C17, 7.6, "Floating-point environment".
"""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.context import Grid, Quantisation
from tconv.cases.operands import NUMPY_TYPES
from tconv.shown_texts import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.call import Call
    from tconv.vocabulary import Array


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of a call, asked once or several times.

    Attributes:
        outcome: what the backend did.
        seconds: how long all calls took.
        other: a different outcome of the same call; None if all outcomes were the same.
        settles: whether all later outcomes, at least two, were this other one.
    """

    outcome: out.Outcome
    seconds: float
    other: out.Outcome | None = None
    settles: bool = False


def checked(outcome: Any) -> out.Outcome:  # noqa: ANN401 - a backend may return anything
    """Return an outcome of plain values; `BackendError` for a value that would end the worker or break the file.

    The outcome is made anew, of plain values: texts are cut, and an output is copied, as the backend may use its memory
    for the next call.
    """
    match outcome:
        case out.Produced(array, notes, executed, quantisation):
            return _produced(array, notes, executed, quantisation)
        case out.ShapeOnly(tuple() as shape, str(dtype)) if all(_is_size(size) for size in shape):
            return out.ShapeOnly(tuple(shape), plain(dtype))
        case (
            out.Refused(str(text))
            | out.Unsupported(str(text), kind="unsupported")
            | out.BackendError(str(text), kind="backend-error")
        ):
            kind = next(kind for kind in (out.Refused, out.Unsupported, out.BackendError) if isinstance(outcome, kind))
            return kind(plain(text))
        case out.Crashed(str(cause), str(stderr), kind="crashed"):
            return out.Crashed(plain(cause), plain(stderr))
        case out.TimedOut(int() | float() as seconds, kind="timed-out") if 0 <= seconds < inf:
            return out.TimedOut(float(seconds))
        case _ if isinstance(outcome, out.Outcome):
            return out.BackendError(
                f"must give the fields of an outcome values of their types (got {_printed(outcome)})"
            )
        case _:
            # The type alone: with the numbers of an array, each case would have another message.
            must = "must return Produced(array), ShapeOnly, Refused, Unsupported or BackendError"
            return out.BackendError(f"{must} (got {_type_of(outcome)})")


def _produced(array: object, notes: object, executed: object, quantisation: object) -> out.Produced | out.BackendError:
    # A subclass, such as a masked array, would compare itself by code of the backend.
    if type(array) is not np.ndarray:
        return out.BackendError(f"must produce a plain array (got {type(array).__name__})")
    if not _numeric(array):
        return out.BackendError(f"must produce an array of numbers (got {_printed(array.dtype)})")
    if not _are_texts(notes, _MOST_NOTES):
        return out.BackendError(f"must note at most {_MOST_NOTES} texts in a tuple (got {_printed(notes)})")
    if not _are_texts(executed, _MOST_OPERATIONS):
        got = _printed(executed)
        return out.BackendError(
            f"must name at most {_MOST_OPERATIONS} operations that it executes in a tuple (got {got})"
        )
    if not _is_quantisation(quantisation):
        must = "must declare scales above 0 and whole zero points in a Quantisation of Grids"
        return out.BackendError(f"{must} (got {_printed(quantisation)})")
    shown, names = (tuple(plain(text, _LONGEST_NOTE) for text in of) for of in (notes, executed))
    return out.Produced(array.copy(), shown, names, quantisation)


def _is_quantisation(quantisation: object) -> TypeGuard[Quantisation | None]:
    match quantisation:
        case None:
            return True
        case Quantisation(x, w, y):
            return all(grid is None or _is_grid(grid) for grid in (x, w, y))
    return False


def _is_grid(grid: object) -> bool:
    match grid:
        case Grid(tuple() as scale, None | int()):
            return bool(scale) and all(isinstance(step, int | float) and 0 < step < inf for step in scale)
    return False


def _are_texts(texts: object, most: int) -> TypeGuard[tuple[str, ...]]:
    return type(texts) is tuple and len(texts) <= most and all(isinstance(text, str) for text in texts)


def _is_size(size: object) -> bool:
    """Return whether a value can be a size. Python cannot print an integer of thousands of digits."""
    return type(size) is int and abs(size) < _NO_SIZE


def _type_of(value: object) -> str:
    """Return the name of a value's type, with its module if it is not a builtin: `numpy.ndarray`."""
    kind = type(value)
    if value is None:
        return "None"
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _printed(value: object) -> str:
    """Return the shortened `repr` of a backend's value; its type if `repr` raises."""
    try:
        return plain(repr(value), _LONGEST_OUTCOME)
    except Exception:  # noqa: BLE001 - it is the backend's own code
        return type(value).__name__


def private(call: Call, arrays: Mapping[str, Array]) -> tuple[Call, dict[str, Array]]:
    """Return a copy of a call and its operands: cases share them, and a backend may write into them."""
    return replace(call, attributes=dict(call.attributes)), {role: array.copy() for role, array in arrays.items()}


def alike(first: out.Outcome, second: out.Outcome) -> bool:
    """Return whether two outcomes of a call are the same: for arrays by value, and NaN equals NaN."""
    if isinstance(first, out.Produced) and isinstance(second, out.Produced):
        return first.array.dtype == second.array.dtype and np.array_equal(
            _values(first.array), _values(second.array), equal_nan=True
        )
    if isinstance(first, out.ShapeOnly):
        return first == second
    # Messages are not compared: a runtime may number the nodes anew in each call.
    return type(first) is type(second)


def _values(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def _described(outcome: out.Outcome) -> str:
    """Return an outcome in words, in one short line."""
    if not isinstance(outcome, out.Produced):
        return f"{type(outcome).__name__.lower()}: {outcome}"[:_LONGEST_OUTCOME]
    first = outcome.array.ravel()[:_FIRST].tolist()
    return f"{outcome.array.dtype} {list(outcome.array.shape)} beginning with {first}"


def changed(outcome: out.Outcome, other: out.Outcome) -> str:
    """Return two different outcomes of one call in words; for arrays of one shape, where they differ."""
    if not (isinstance(outcome, out.Produced) and isinstance(other, out.Produced) and _of_one_kind(outcome, other)):
        return f"{_described(outcome)}, and then {_described(other)}"
    before, after = _values(outcome.array), _values(other.array)
    places = np.argwhere((before != after) & ~(np.isnan(before) & np.isnan(after)))
    first = tuple(places[0].tolist())
    return (
        f"{len(places)} of {before.size} elements of {outcome.array.dtype} {list(before.shape)} change; "
        f"as they came, {list(first)} is {before[first]:.9g}, and then {after[first]:.9g}"
    )


def _of_one_kind(first: out.Produced, second: out.Produced) -> bool:
    return (first.array.dtype, first.array.shape) == (second.array.dtype, second.array.shape)


_FIRST = 4
_LONGEST_OUTCOME = 200
_LONGEST_NOTE, _MOST_NOTES, _MOST_OPERATIONS = 200, 16, 64
_NO_SIZE = 2**63


def _numeric(array: Array) -> bool:
    """Return whether the elements are real numbers, those of ml_dtypes included."""
    return array.dtype.kind in "fiub" or array.dtype in NUMPY_TYPES.values()


_BYTES = 512
"""More than any platform's fenv_t has."""


def _functions() -> tuple[ctypes._NamedFuncPointer, ctypes._NamedFuncPointer] | None:
    """Return fegetenv and fesetenv; None if the platform's C library does not have them."""
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        return library.fegetenv, library.fesetenv
    return None


_FUNCTIONS = _functions()


class FloatingPoint:
    """The floating-point states of tconv and of the runtime; one is active. Made before the runtime is loaded."""

    def __init__(self) -> None:
        self._own, self._runtimes = (ctypes.create_string_buffer(_BYTES) for _ in range(2))
        if _FUNCTIONS is not None:
            for state in (self._own, self._runtimes):
                _FUNCTIONS[0](state)

    def enter(self) -> None:
        """Restore the state that the runtime left."""
        if _FUNCTIONS is not None:
            _FUNCTIONS[1](self._runtimes)

    def leave(self) -> None:
        """Store the active state as the runtime's, and restore tconv's own."""
        if _FUNCTIONS is not None:
            _FUNCTIONS[0](self._runtimes)
            _FUNCTIONS[1](self._own)


_PERTURB = -6
"""`M_PERTURB` of mallopt(3)."""
_PATTERN = 165
"""The byte that fills freed memory; its complement fills new memory. As floats, these are not zero and not small."""
_GLIBC = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


@contextmanager
def patterned(*, wanted: bool) -> Iterator[None]:
    """Fill all memory that is allocated inside this context with a pattern, if that is wanted."""
    if _GLIBC is None or not wanted:
        yield
        return
    _GLIBC.mallopt(_PERTURB, _PATTERN)
    try:
        yield
    finally:
        own = os.environ.get("MALLOC_PERTURB_", "")
        # The user may have set a pattern.
        _GLIBC.mallopt(_PERTURB, int(own) if own.isdecimal() else 0)

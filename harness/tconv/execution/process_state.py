"""The state of a process that its runtime shares with tconv: the floating-point unit's, and what free memory holds.

The runtime has its own state of the floating-point unit, and tconv judges with that of its start. A library may let
subnormal numbers count as zero when it is loaded, or round differently, for its whole thread. The reference and the
comparison run in the same thread, and must not compute so.

Uninitialised memory is filled with a fixed pattern while an invalid call runs, so that every run reads the same. A
runtime that reads beyond a list that is too short finds what happens to be there: whether it refuses the call then
depends on what the process did before. With the pattern it finds the same in every process (glibc, but for small pieces
that were given back just before; elsewhere nothing is done). Valid calls are asked without it: it costs a write to all
memory that is taken and given back.

Source: C17, 7.6, "Floating-point environment".
"""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BYTES = 512
"""More than any platform's fenv_t has."""


def _functions() -> tuple[ctypes._NamedFuncPointer, ctypes._NamedFuncPointer] | None:
    """Return fegetenv and fesetenv; None where the platform's C library cannot be asked."""
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        return library.fegetenv, library.fesetenv
    return None


_FUNCTIONS = _functions()


class FloatingPoint:
    """Two states, of which one holds: tconv's own, and the runtime's. Made before the runtime is loaded."""

    def __init__(self) -> None:
        self._own, self._runtimes = (ctypes.create_string_buffer(_BYTES) for _ in range(2))
        if _FUNCTIONS is not None:
            for state in (self._own, self._runtimes):
                _FUNCTIONS[0](state)

    def enter(self) -> None:
        """Let the runtime's state hold, as it left it."""
        if _FUNCTIONS is not None:
            _FUNCTIONS[1](self._runtimes)

    def leave(self) -> None:
        """Store the state that holds as the runtime's, and let tconv's own hold."""
        if _FUNCTIONS is not None:
            _FUNCTIONS[0](self._runtimes)
            _FUNCTIONS[1](self._own)


_PERTURB = -6
"""`M_PERTURB` of mallopt(3)."""
_PATTERN = 165
"""What freed memory is filled with, byte by byte; new memory has its complement. It is no small number and no zero."""
_GLIBC = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


@contextmanager
def patterned(*, wanted: bool) -> Iterator[None]:
    """Let all memory that is taken inside of this context be filled with a pattern, where that is wanted."""
    if _GLIBC is None or not wanted:
        yield
        return
    _GLIBC.mallopt(_PERTURB, _PATTERN)
    try:
        yield
    finally:
        own = os.environ.get("MALLOC_PERTURB_", "")
        # The user may want a pattern all the time.
        _GLIBC.mallopt(_PERTURB, int(own) if own.isdecimal() else 0)

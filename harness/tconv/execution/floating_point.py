"""The state of the processor's floating-point unit: the runtime has its own, and tconv judges with that of its start.

A library may let subnormal numbers count as zero when it is loaded, or round otherwise, for its whole thread. The
reference and the comparison run in the same thread, and must not compute so.

Source: C17, 7.6, "Floating-point environment".
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

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

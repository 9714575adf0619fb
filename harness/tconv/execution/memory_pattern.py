"""Uninitialised memory is filled with a fixed pattern while an invalid call runs, so that every run reads the same.

A runtime that reads beyond a list that is too short finds what happens to be there: whether it refuses the call then
depends on what the process did before. With the pattern it finds the same in every process (glibc, but for small pieces
that were given back just before; elsewhere nothing is done). Valid calls are asked without it: it costs a write to all
memory that is taken and given back.
"""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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

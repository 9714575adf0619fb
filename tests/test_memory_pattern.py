"""What a runtime finds in memory that it did not fill is the same in every process, where the call is invalid."""

from __future__ import annotations

import ctypes
import platform

import pytest

from tconv.execution.call import patterned

_SIZE = 5000
"""Bytes: glibc hands on smaller pieces that were just given back as they are."""

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc fills memory")


def found() -> bytes:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    place = libc.malloc(_SIZE)
    content = ctypes.string_at(place, _SIZE)
    libc.free(ctypes.c_void_p(place))
    return content


@glibc
def test_new_memory_has_the_pattern_where_it_is_wanted() -> None:
    with patterned(wanted=True):
        assert found() == bytes([165 ^ 255]) * _SIZE
    with patterned(wanted=False):
        assert found() != bytes([165 ^ 255]) * _SIZE


@glibc
def test_a_pattern_of_the_users_own_is_there_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_PERTURB_", "90")
    with patterned(wanted=True):
        pass
    try:
        assert found() == bytes([90 ^ 255]) * _SIZE
    finally:
        monkeypatch.delenv("MALLOC_PERTURB_")
        with patterned(wanted=True):
            pass

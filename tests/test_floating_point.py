"""What a runtime does to the processor's floating-point unit changes no judgement, and stays for the runtime."""

from __future__ import annotations

import ctypes
import platform
from typing import TYPE_CHECKING

import numpy as np
import pytest

from small_corpus import TIMEOUT
from tconv.backends import Refused
from tconv.cases.case import Attributes, Case, Operand
from tconv.dialects import find_dialect
from tconv.execution.asking import Asking
from tconv.execution.evaluation import Evaluator
from tconv.execution.pool import Pool
from tconv.verdict import kinds as ver
from wrong_backends import Right

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

ONNX = find_dialect("onnx/ConvTranspose-22")
MXCSR = 28
"""Where glibc's fenv_t has the register on x86-64."""
FLUSHES = 0x8040
"""Its bits for subnormal results and operands."""
CASE = Case("a/b", Attributes(), Operand((1, 1, 3), "f32"), Operand((1, 1, 3), "f32"), None)

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc", reason="the register is one of x86-64's"
)


def flushes() -> bool:
    """Return whether this thread takes subnormal numbers for zero."""
    return bool((np.array([1e-40], np.float32) * np.float32(1) == 0).all())


def flush() -> None:
    """Let subnormal numbers be zero in this thread."""
    state, library = ctypes.create_string_buffer(512), ctypes.CDLL(None)
    library.fegetenv(state)
    register = int.from_bytes(state[MXCSR : MXCSR + 4], "little") | FLUSHES
    ctypes.memmove(ctypes.addressof(state) + MXCSR, register.to_bytes(4, "little"), 4)
    library.fesetenv(state)


class Flushing(Right):
    """A runtime whose library lets subnormal numbers be zero, as it is called first."""

    def __init__(self) -> None:
        self.found: list[bool] = []

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Note how it finds the unit, and set it."""
        self.found.append(flushes())
        flush()
        return super().run(call, arrays)


class FlushingFromTheStart(Right):
    """A runtime whose library lets subnormal numbers be zero as it is loaded; it says how it finds the unit."""

    def __init__(self) -> None:
        flush()

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:  # noqa: ARG002 - it computes nothing
        """Refuse, and say whether they are zero."""
        return Refused(f"zero: {flushes()}")


def test_what_a_runtime_sets_as_it_is_loaded_holds_when_it_is_called() -> None:
    with Pool(Asking("test_floating_point:FlushingFromTheStart", timeout=TIMEOUT)) as pool:
        for _ in range(2):
            assert pool.record(CASE).verdict == ver.RefusedValid("zero: True")


def test_a_runtimes_floating_point_state_is_its_own() -> None:
    backend = Flushing()
    evaluator = Evaluator(backend, "flushing", ONNX, None)
    for _ in range(2):
        evaluator.evaluate(CASE)
        assert not flushes()
    assert backend.found == [False, True]

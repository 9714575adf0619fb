"""Backends whose outputs have another shape or type, that refuse, or whose outcome is none."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends import BackendInfo, Outcome, Produced, Refused, Unsupported
from wrong_backends.right import SPOKEN, Array, Right, Troubled, log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call


class WrongDtype(Right):
    """float64, for every type."""

    def answer(self, y: Array) -> Outcome:
        return Produced(y.astype(np.float64))


class WrongShape(Right):
    """One element short."""

    def answer(self, y: Array) -> Outcome:
        return Produced(y[..., :-1])


class Scalar(Right):
    """One number."""

    def answer(self, y: Array) -> Outcome:
        return Produced(np.array(y.sum()))


class NanReplaced(Right):
    """Zero instead of NaN."""

    def answer(self, y: Array) -> Outcome:
        return Produced(np.nan_to_num(y, nan=0.0))


class AcceptsEverything(Right):
    """Zeros of the data's shape, also for what is invalid."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        log(call)
        return Produced(np.zeros_like(arrays["x"]))


class OutOfMemoryBelowZero(Right):
    """Answers negative totals under SAME_UPPER; under SAME_LOWER it refuses them, as if there were no memory."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if call.attributes.get("auto_pad") == "SAME_LOWER":
            return Refused("out of memory: 4096 bytes")
        return super().run(call, arrays)


class RefusesEverything(Right):
    """A refusal, also of what is valid."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        log(call)
        return Refused(f"I do not like {sorted(arrays)}")


class UnsupportedEverywhere(Right):
    """Nothing is implemented."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        log(call)
        return Unsupported(f"{sorted(arrays)} to come")


class OnlyTwoAxes(Right):
    """Implements two spatial axes only."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        return super().run(call, arrays) if call.rank == 2 else Unsupported("only two axes")


class UnsupportedByStride(Right):
    """No stride but 1 is implemented."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        stride = (*call.attributes.get("strides", ()), 1)[0]
        return super().run(call, arrays) if stride == 1 else Unsupported(f"no kernel for stride {stride}")


class Slow(Right):
    """Right, in its own time."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        time.sleep(0.02)
        return super().run(call, arrays)


class Prints(Right):
    """Megabytes, by Python and past it."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        sys.stdout.write(SPOKEN * 20_000)
        sys.stderr.write(SPOKEN * 20_000)
        os.write(1, SPOKEN.encode() * 20_000)
        os.write(2, SPOKEN.encode() * 20_000)
        return super().run(call, arrays)


class TellsThreads(Right):
    """Says how many threads its process has, and the number that the user wants of a runtime."""

    def info(self) -> BackendInfo:
        told = {"threads": str(len(os.listdir("/proc/self/task"))), "wanted": os.environ.get("OMP_NUM_THREADS", "")}  # noqa: PTH208
        return BackendInfo("TellsThreads", "1", ("onnx/ConvTranspose-22",), told)


class Raises(Right):
    """An exception for every call."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        raise RuntimeError(f"no kernel \udcff for {call.dialect}\n\x1b[31m{sorted(arrays)}")


class NoOutcome(Right):
    """An array instead of an outcome."""

    def answer(self, y: Array) -> Outcome:
        return y  # type: ignore[return-value] # that is what is wrong


class Unreadable(str):
    """A text whose methods all raise."""

    __slots__ = ()

    def _raise(self, *_: object) -> Any:  # noqa: ANN401 - it returns nothing
        raise RuntimeError

    __str__ = __repr__ = __eq__ = __hash__ = __len__ = __iter__ = __getitem__ = __contains__ = __add__ = __mod__ = (
        _raise
    )
    __format__ = encode = split = splitlines = strip = replace = partition = isprintable = lower = startswith = _raise


class UnreadableTexts(Right):
    """All of its texts are of a class of its own whose methods raise."""

    def info(self) -> BackendInfo:
        name, version, dialect, key = map(Unreadable, (type(self).__name__, "1", "onnx/ConvTranspose-22", "kind"))
        return BackendInfo(name, version, (dialect,), {"build": key}, (Unreadable("same"),))

    def answer(self, y: Array) -> Outcome:
        return Produced(y, (Unreadable("computed"),))


class RefusesUnreadably(UnreadableTexts):
    """What it refuses with is such a text, and a long one."""

    def answer(self, y: Array) -> Outcome:
        return Refused(Unreadable(f"first {'x' * 10**6} last {y.ndim}"))


class NotesMuch(Right):
    """A note as long as a book."""

    def answer(self, y: Array) -> Outcome:
        return Produced(y, ("first " + "x" * 10**6,))


class SpeaksNothing(Right):
    """No dialect at all."""

    def info(self) -> BackendInfo:
        return BackendInfo("SpeaksNothing", "1", ())


class SpeaksUnknown(Right):
    """A dialect that there is not."""

    def info(self) -> BackendInfo:
        return BackendInfo("SpeaksUnknown", "1", ("onnx/ConvTranspose-99",))


class Various(Troubled):
    """Right at stride 1, another way of not being so at each other one; dies at 7."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if arrays["x"].size == 0:
            return Refused("nothing to do")
        match call.attributes.get("strides"):
            case (2,):
                return Produced(np.zeros((2, 6, 11), dtype=arrays["x"].dtype))
            case (3,) | (4,):
                return Unsupported("only small strides")
            case _:
                pass
        if "pads" in call.attributes and "auto_pad" in call.attributes:
            return Produced(arrays["x"])
        return super().run(call, arrays)

    def end(self) -> None:
        sys.stderr.write("stack smashing detected\n")
        sys.stderr.flush()
        os.abort()

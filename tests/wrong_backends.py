"""Miniature backends that are wrong on purpose, and one that is right: what the harness itself is tested with.

Each is named as any backend is, `wrong_backends:PadsSwapped`. They speak ONNX and compute with the reference, so that
whatever a verdict says of one of them is that one's own doing.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numpy as np

from tconv import conv_transpose
from tconv.backends import BackendInfo, Broke, Option, Outcome, Produced, Refused, ShapeOnly, Unsupported
from tconv.errors import Invalid, UsageError
from tconv.execution import worker
from tconv.execution.position import _INDEX, Position

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.call import Call

Array = np.ndarray[Any, np.dtype[Any]]

LOG = "WRONG_BACKENDS_LOG"
"""The environment's name for a file that takes a line for every call: process, strides, spatial size."""
HUNG = "WRONG_BACKENDS_HUNG"
"""The environment's name for a file that is there once a company was not answered."""
TROUBLE = 7
"""The stride on which the backends that die or fall silent do so."""
SPOKEN = "<this was printed by a backend>"
FOREVER = 3600.0


class Right:
    """The reference, which does as it is asked."""

    version = "1.0"

    def info(self) -> BackendInfo:
        """Return the class's name."""
        return BackendInfo(
            type(self).__name__, self.version, ("onnx/ConvTranspose-22", "onnx/ConvTranspose-11"), {"kind": "miniature"}
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, after whatever the subclass makes of operands and attributes."""
        words = self.understood(dict(call.attributes))
        log(call)
        try:
            y = self.computed(call, words, dict(arrays))
        except (Invalid, UsageError) as error:
            return Refused(str(error))
        return self.answer(y.astype(arrays["x"].dtype))

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the canonical attributes of ONNX's."""
        pads = attributes.get("pads")
        half = len(pads or ()) // 2
        return {
            "strides": attributes.get("strides"),
            "dilations": attributes.get("dilations"),
            "pads_begin": pads and pads[:half],
            "pads_end": pads and pads[half:],
            "auto_pad": AUTO_PADS.get(attributes.get("auto_pad"), attributes.get("auto_pad")),
            "output_padding": attributes.get("output_padding"),
            "output_shape": attributes.get("output_shape"),
        }

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Return the reference's values."""
        return conv_transpose(
            arrays["x"],
            arrays["w"],
            arrays.get("b"),
            dialect=call.dialect,
            groups=call.groups,
            data_format=call.data_format,
            filter_format=call.filter_format,
            **words,
        )

    def answer(self, y: Array) -> Outcome:
        """Return the outcome."""
        return Produced(y)


AUTO_PADS = {None: None, "NOTSET": "explicit", "VALID": "valid", "SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower"}


def log(call: Call) -> None:
    """Note a call where a test wants to know of it; one write a line, so that processes do not mix theirs."""
    if path := os.environ.get(LOG):
        line = f"{os.getpid()} {call.attributes.get('strides')} {call.inputs[0].shape}\n"
        with Path(path).open("ab", buffering=0) as file:
            file.write(line.encode())


def troubled(call: Call) -> bool:
    """Return whether the call is one that the backends below cannot stand."""
    return TROUBLE in call.attributes.get("strides", ())  # type: ignore[operator] # the corpus writes lists


class PadsSwapped(Right):
    """The padding of the end at the beginning."""

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Swap."""
        words = super().understood(attributes)
        return words | {"pads_begin": words["pads_end"], "pads_end": words["pads_begin"]}


class NoOutputPaddingInThePlane(Right):
    """Ignores output_padding where there are two axes."""

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Leave it out."""
        words = super().understood(attributes)
        is_plane = len(words["output_padding"] or ()) == 2
        return words | {"output_padding": None} if is_plane else words


class BiasOfTheFirstGroup(Right):
    """Adds the bias of the first group, and no other."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Compute with zeros for the rest of the bias."""
        bias = arrays.get("b")
        if bias is not None and bias.ndim == 1:
            arrays["b"] = bias * (np.arange(len(bias)) < len(bias) // call.groups).astype(bias.dtype)
        return super().computed(call, words, arrays)


class PadsSwappedAndMore(PadsSwapped):
    """The same, and much else that is no business of pads: it dies of one element, refuses two, spoils three."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or do what belongs to the size along the last axis."""
        match arrays["x"].shape[-1]:
            case 1:
                os.abort()
            case 2:
                return Refused("no kernel for two elements")
            case 3:
                return Produced(super().run(call, arrays).array + 1)  # type: ignore[union-attr] # it is valid
            case _:
                return super().run(call, arrays)


class PadsAsChosen(PadsSwapped):
    """The padding of the end at the beginning, where its option says so."""

    OPTIONS: ClassVar = (
        Option("pads", "where pads are put", "in-place", ("in-place", "swapped")),
        Option("threads", "how many", "1", range(1, 9)),
    )

    def __init__(self, pads: str = "in-place", threads: str = "1") -> None:
        self._swaps, self._threads = pads == "swapped", threads

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Swap, where that was chosen."""
        return super().understood(attributes) if self._swaps else Right.understood(self, attributes)


class GroupsReversed(Right):
    """The groups' outputs in reverse order."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Reverse; the bias stays where it was."""
        bias = arrays.pop("b", np.zeros(1))
        y = super().computed(call, words, arrays)
        groups = np.split(y, call.groups, axis=1)
        return np.concatenate(groups[::-1], axis=1) + bias.reshape(-1, *(1,) * (y.ndim - 2))


class DroppedTap(Right):
    """The filter's last tap is not there."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Take it for zero."""
        w = arrays["w"].copy()
        w[..., -1] = 0
        return super().computed(call, words, arrays | {"w": w})


class BiasDoubled(Right):
    """The bias twice."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Double it."""
        return super().computed(call, words, {k: v * 2 if k == "b" else v for k, v in arrays.items()})


class HalfResults(Right):
    """Results in single precision are rounded to half precision."""

    def answer(self, y: Array) -> Outcome:
        """Round, and return the type that is owed."""
        with np.errstate(over="ignore"):
            return Produced(y.astype(np.float16).astype(y.dtype) if y.dtype == np.float32 else y)


class LowerAsUpper(Right):
    """SAME_LOWER computed as SAME_UPPER, which itself is right."""

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Take the one for the other."""
        words = super().understood(attributes)
        return words | {"auto_pad": "same_upper"} if words["auto_pad"] == "same_lower" else words


class PadsSwappedAndBiasDoubled(PadsSwapped, BiasDoubled):
    """Two mistakes that know nothing of each other."""


class BiasOfNextChannel(Right):
    """Every channel has the bias of the next."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Roll it."""
        return super().computed(call, words, {k: np.roll(v, -1) if k == "b" else v for k, v in arrays.items()})


class OverlapsStored(Right):
    """Stores what each position of the data gives, one position after the other, and adds nothing but the bias."""

    order: ClassVar[int] = 1

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Store what is computed of one position alone, wherever a tap brings it."""
        x, w, bias = (arrays.get(name) for name in ("x", "w", "b"))
        assert x is not None
        assert w is not None
        y = super().computed(call, words, {"x": np.zeros_like(x), "w": w})
        for position in list(np.ndindex(x.shape[2:]))[:: self.order]:
            here = (slice(None), slice(None), *position)
            alone, mark = np.zeros_like(x), np.zeros_like(x)
            alone[here], mark[here] = x[here], 1
            given = super().computed(call, words, {"x": alone, "w": w})
            reached = super().computed(call, words, {"x": mark, "w": np.ones_like(w)}) != 0
            y = np.where(reached, given, y)
        return y if bias is None else y + bias.astype(y.dtype).reshape(-1, *(1,) * (x.ndim - 2))


class OverlapsStoredBackwards(OverlapsStored):
    """The same from the last position to the first one."""

    order = -1


class OneProduct(Right):
    """One product of many is left out, or added twice, for one output channel alone."""

    times = 0
    last = False

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Take one weight so often."""
        w = arrays["w"].copy()
        at = tuple(size - 1 for size in w.shape) if self.last else (0,) * w.ndim
        w[at] *= self.times
        return super().computed(call, words, arrays | {"w": w})


class Odd(Right):
    """What a test makes of the output."""

    @staticmethod
    def change(y: Array) -> Array:
        """Return the output as it is."""
        return y

    def answer(self, y: Array) -> Outcome:
        """Change it."""
        with np.errstate(over="ignore", invalid="ignore"):
            return Produced(self.change(y))


class _Rounding(Right):
    """Operands are rounded, and then computed with as they should be."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Round data and filter."""
        return super().computed(call, words, {k: v if k == "b" else self.rounded(v) for k, v in arrays.items()})

    def rounded(self, array: Array) -> Array:
        """Return the operand with fewer bits."""
        raise NotImplementedError


class Tf32Operands(_Rounding):
    """As a tensor core takes float32, by the bits."""

    def rounded(self, array: Array) -> Array:
        """Drop 13 bits, to nearest even."""
        bits = array.astype(np.float32).view(np.uint32)
        nearest = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
        return (nearest & np.uint32(0xFFFFE000)).view(np.float32).astype(array.dtype)


class Bf16Operands(_Rounding):
    """As a runtime does whose default precision is bfloat16."""

    def rounded(self, array: Array) -> Array:
        """Convert and back."""
        return array.astype(np.float32).astype(ml_dtypes.bfloat16).astype(array.dtype)


class Bf16Truncated(_Rounding):
    """The upper half of each float32, as it stands."""

    def rounded(self, array: Array) -> Array:
        """Mask."""
        bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return bits.view(np.float32).astype(array.dtype)


class SubnormalOperandsFlushed(_Rounding):
    """Denormals are zero: of the operands."""

    def rounded(self, array: Array) -> Array:
        """Flush."""
        return np.where(np.abs(array) < ml_dtypes.finfo(array.dtype).smallest_normal, 0, array).astype(array.dtype)


class SubnormalResultsFlushed(Right):
    """Denormals are zero: of the sums."""

    def answer(self, y: Array) -> Outcome:
        """Flush."""
        return Produced(np.where(np.abs(y) < ml_dtypes.finfo(y.dtype).smallest_normal, 0, y).astype(y.dtype))


class InSinglePrecision(Right):
    """Operands, sums and results in single precision."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Compute with what is left of the operands."""
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = {name: array.astype(np.float32) for name, array in arrays.items()}
            return super().computed(call, words, rounded).astype(np.float32)


class F16Sums(Right):
    """Each product is right, and is added in float16, one after the other."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Add product by product: one input channel under one tap is one product of each element."""
        w, b = arrays["w"], arrays.get("b")
        total: Array | None = None
        for channel, *tap in np.ndindex(w.shape[0], *w.shape[2:]):
            alone = np.zeros_like(w)
            alone[(channel, slice(None), *tap)] = w[(channel, slice(None), *tap)]
            product = super().computed(call, words, {"x": arrays["x"], "w": alone})
            total = np.zeros(product.shape, np.float16) if total is None else total
            total = (total.astype(np.float32) + product).astype(np.float16)
        assert total is not None
        if b is not None:
            total = (total.astype(np.float32) + b.reshape(-1, *(1,) * (w.ndim - 2))).astype(np.float16)
        return total


class StepsIn16Bits(Right):
    """Rounds the sum over the channels under each tap to the operands' type, and adds those sums in it."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Add tap by tap, as a product of matrices whose result is added to the output column by column."""
        w, b = arrays["w"], arrays.get("b")
        dtype = arrays["x"].dtype
        total: Array | None = None
        for tap in np.ndindex(*w.shape[2:]):
            alone = np.zeros_like(w)
            alone[(..., *tap)] = w[(..., *tap)]
            columns = super().computed(call, words, {"x": arrays["x"], "w": alone}).astype(dtype)
            total = columns if total is None else total + columns
        assert total is not None
        return total if b is None else total + b.reshape(-1, *(1,) * (w.ndim - 2))


class ZerosForManyProducts(F16Sums):
    """Sums in float16, and zeros where there are so many products that any value is within the bound of such sums."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Give zeros for a thousand input channels and more."""
        if arrays["x"].shape[1] < _MANY:
            return super().computed(call, words, arrays)
        return np.zeros_like(Right.computed(self, call, words, arrays))


_MANY = 1024


class ResultsTruncated(Right):
    """Sums of 16-bit types are right, and lose their lower bits."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Round towards zero."""
        dtype = arrays["x"].dtype
        y = super().computed(call, words, {name: array.astype(np.float64) for name, array in arrays.items()})
        nearest = y.astype(dtype)
        if dtype.itemsize != _HALF:
            return nearest
        beyond = np.abs(nearest.astype(np.float64)) > np.abs(y)
        return np.where(beyond, np.nextafter(nearest, np.zeros_like(nearest)), nearest)


_HALF = 2


class RoundedUpFromOdd(Right):
    """Sums of bfloat16 are right, and the bit that decides of their rounding is added only where the last is 1."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Round as OpenVINO's bfloat16 does."""
        y = super().computed(call, words, {name: array.astype(np.float64) for name, array in arrays.items()})
        if arrays["x"].dtype != ml_dtypes.bfloat16:
            return y.astype(arrays["x"].dtype)
        bits = np.atleast_1d(y.astype(np.float32)).view(np.uint32)
        rounded = (bits + ((bits & np.uint32(0x10000)) >> np.uint32(1))) >> np.uint32(16)
        return rounded.astype(np.uint16).view(ml_dtypes.bfloat16).reshape(y.shape)


class WrongDtype(Right):
    """float64, whatever was asked."""

    def answer(self, y: Array) -> Outcome:
        """Widen."""
        return Produced(y.astype(np.float64))


class WrongShape(Right):
    """One element short."""

    def answer(self, y: Array) -> Outcome:
        """Cut."""
        return Produced(y[..., :-1])


class WrongRank(Right):
    """Without the batch's axis."""

    def answer(self, y: Array) -> Outcome:
        """Drop it."""
        return Produced(y[0])


class Scalar(Right):
    """One number."""

    def answer(self, y: Array) -> Outcome:
        """Return an array without any axis."""
        return Produced(np.array(y.sum()))


class NanReplaced(Right):
    """Zero where NaN must be."""

    def answer(self, y: Array) -> Outcome:
        """Replace."""
        return Produced(np.nan_to_num(y, nan=0.0))


class AcceptsEverything(Right):
    """Zeros of the data's shape, also for what is invalid."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Refuse nothing."""
        log(call)
        return Produced(np.zeros_like(arrays["x"]))


class OutOfMemoryBelowZero(Right):
    """A refusal under SAME_LOWER, as if there were no memory, where negative totals are answered under SAME_UPPER."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Refuse under SAME_LOWER."""
        if call.attributes.get("auto_pad") == "SAME_LOWER":
            return Refused("out of memory: 4096 bytes")
        return super().run(call, arrays)


class RefusesEverything(Right):
    """A refusal, also of what is valid."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Refuse."""
        log(call)
        return Refused(f"I do not like {sorted(arrays)}")


class UnsupportedEverywhere(Right):
    """Nothing is implemented."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Say so."""
        log(call)
        return Unsupported(f"{sorted(arrays)} to come")


class UnsupportedByStride(Right):
    """No stride but 1 is implemented."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Say so, and of which stride."""
        stride = (*call.attributes.get("strides", ()), 1)[0]
        return super().run(call, arrays) if stride == 1 else Unsupported(f"no kernel for stride {stride}")


class _Troubled(Right):
    """Right, but for the calls that it cannot stand."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or do what the subclass does."""
        if troubled(call):
            log(call)
            self.end()
        return super().run(call, arrays)

    def end(self) -> None:
        """Do what is wrong."""


class Aborts(_Troubled):
    """As a failed assertion of C does."""

    def end(self) -> None:
        """Abort."""
        sys.stderr.write("assertion failed: stride < 7\n")
        sys.stderr.flush()
        os.abort()


class AbortsAndSaysThatItLoads(Aborts):
    """It takes a line of the log when it is loaded."""

    def __init__(self) -> None:
        with Path(os.environ[LOG]).open("ab", buffering=0) as file:
            file.write(b"loaded\n")


class AbortsAndEndsAtAFork(Aborts):
    """Copies of the process that has loaded it end before they are asked anything."""

    def __init__(self) -> None:
        os.register_at_fork(after_in_child=lambda: os._exit(7))


class AbortsAndHasAThread(AbortsAndSaysThatItLoads):
    """With a thread that no copy of the process would have."""

    def __init__(self) -> None:
        super().__init__()
        threading.Thread(target=time.sleep, args=(FOREVER,), daemon=True).start()


class Panics(_Troubled):
    """As a runtime in Rust does: the reason first, below it a backtrace that is longer than what is kept."""

    def end(self) -> None:
        """Panic, in a thread of some number, at some address."""
        sys.stderr.write(f"thread 'worker-{os.getpid()}' panicked at /build/{os.getpid()}/src/deconv.rs:41:9:\n")
        sys.stderr.write("attempt to subtract with overflow\nstack backtrace:\n")
        sys.stderr.writelines(f"  {frame}: {id(object()):#x} - tract_core::ops::cnn::deconv\n" for frame in range(200))
        sys.stderr.flush()
        os.abort()


class DiesOfTheSecondCall(_Troubled):
    """The first call of a case that it cannot stand is answered, the second ends the process."""

    calls = 0

    def end(self) -> None:
        """Abort the second time."""
        self.calls += 1
        if self.calls % 2 == 0:
            os.abort()


class Exits(_Troubled):
    """As a library does that ends the process for its caller."""

    def end(self) -> None:
        """Exit with 3."""
        os._exit(3)


class ExitsPolitely(_Troubled):
    """With an exception that is no error."""

    def end(self) -> None:
        """Exit with 5."""
        sys.exit(5)


class IsKilled(_Troubled):
    """As when memory runs out."""

    def end(self) -> None:
        """Be killed."""
        os.kill(os.getpid(), signal.SIGKILL)


class DiesAfterwards(_Troubled):
    """The answer is right; what it leaves behind ends the process before the worker goes on."""

    def end(self) -> None:
        """Wait until the worker goes on, to another case or to wait for one, and die."""

        def die(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        Position.begin = worker._send = die  # type: ignore[method-assign] # that is what is wrong


class PreparationDies(Right):
    """The process is killed, for want of memory say, while the worker makes what the backend would be asked."""

    def __init__(self) -> None:
        prepared = worker.Evaluator.prepare

        def prepare(self: Any, problem: Any) -> None:  # noqa: ANN401 - the worker's own types
            if TROUBLE in (problem.case.attributes.strides or ()):
                os.kill(os.getpid(), signal.SIGKILL)
            prepared(self, problem)

        worker.Evaluator.prepare = prepare  # type: ignore[method-assign] # that is what is wrong


class ReusesItsOutput(Right):
    """The memory of every output is that of the one before: that is nothing wrong."""

    def __init__(self) -> None:
        self._memory = np.empty(2**16, np.uint8)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute into the memory."""
        outcome = super().run(call, arrays)
        assert isinstance(outcome, Produced)
        array = outcome.array
        output = self._memory[: array.nbytes].view(array.dtype).reshape(array.shape)
        output[...] = array
        return Produced(output)


class RemembersPads(Right):
    """The first pads that a call of its process has stay for all later ones with pads."""

    def __init__(self) -> None:
        self._pads: dict[str, Any] = {}

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Take the first pads."""
        words = super().understood(attributes)
        given = {name: words[name] for name in ("pads_begin", "pads_end") if words[name]}
        self._pads = self._pads or given
        return words | self._pads if given else words


class RemembersPadsAndDoublesBias(RemembersPads):
    """The same, with the bias twice."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        """Double it."""
        return super().computed(call, words, {k: v * 2 if k == "b" else v for k, v in arrays.items()})


class WaversAlways(Right):
    """Another answer each time."""

    times = 0

    def answer(self, y: Array) -> Outcome:
        """Add how often it was asked."""
        self.times += 1
        return Produced((y + self.times).astype(y.dtype))


class WrongAtFirst(Right):
    """The first call of its process is wrong, and no other."""

    warm = False

    def answer(self, y: Array) -> Outcome:
        """Add one, once."""
        cold, self.warm = not self.warm, True
        return Produced((y + cold).astype(y.dtype))


class DiesOfTheCaseBefore(_Troubled):
    """What a case harms, another one dies of: the next that is asked about."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute; harm the process, or die of the harm."""
        if getattr(self, "harmed", False):
            os.kill(os.getpid(), signal.SIGSEGV)
        self.harmed = troubled(call)
        return Right.run(self, call, arrays)


class HarmsAsItErrs(Right):
    """Strides of 7, or of 5, give wrong values, and harm the process: it dies of the next call."""

    harmed = False

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Die of the harm, or compute; harm the process."""
        if self.harmed:
            os.kill(os.getpid(), signal.SIGSEGV)
        self.harmed = not {5, TROUBLE}.isdisjoint(call.attributes.get("strides", ()))  # type: ignore[arg-type]
        outcome = super().run(call, arrays)
        return Produced(outcome.array + 1) if self.harmed else outcome  # type: ignore[union-attr] # it is valid


class DiesUnasked(Right):
    """The process ends when it is given cases, before it is asked about one; where there is a log, once only."""

    def __init__(self) -> None:
        path = os.environ.get(LOG)
        if path is None or not Path(path).exists():
            Position.begin = self.end  # type: ignore[method-assign] # that is what is wrong

    def end(self, *_: object) -> None:
        """Die where a case begins."""
        if path := os.environ.get(LOG):
            Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)


class Hangs(_Troubled):
    """No answer, and no ear for signals."""

    def end(self) -> None:
        """Sleep on."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(FOREVER)


class HangsOfTheCaseBefore(_Troubled):
    """A case that it cannot stand is answered, and leaves a lock behind: the next call waits for it."""

    locked = False

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or wait."""
        if self.locked:
            time.sleep(FOREVER)
        self.locked = troubled(call)
        return Right.run(self, call, arrays)


class ErrsAndHangs(BiasDoubled):
    """The bias twice; without one there is no answer."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or sleep."""
        if "b" not in arrays:
            time.sleep(FOREVER)
        return super().run(call, arrays)


class RemovesRecords(_Troubled):
    """It removes the file of its worker's records, as something that tidies up a folder might."""

    def end(self) -> None:
        """Remove it."""
        records = Path(tempfile.gettempdir()).with_suffix(".records")
        records.unlink(missing_ok=True)


class ReplacesRecords(_Troubled):
    """It puts a file of its own in the place of its worker's records."""

    def end(self) -> None:
        """Replace it."""
        records = Path(tempfile.gettempdir()).with_suffix(".records")
        records.unlink(missing_ok=True)
        records.write_bytes(b'0 {"case":"another"}\nx\n\xff 1 {}\n')


class LeavesChild(_Troubled):
    """A child that outlives it and holds all that it had open."""

    def end(self) -> None:
        """Fork, and die."""
        if os.fork() == 0:
            time.sleep(FOREVER)
        os.abort()


class LeavesSession(_Troubled):
    """A child in a session of its own, which no signal to its group reaches."""

    def end(self) -> None:
        """Fork, and die."""
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER)
        os.abort()


class HangsWithSession(Hangs):
    """It leaves a child in a session of its own, and hears nothing itself."""

    def end(self) -> None:
        """Fork, say that it hangs, and sleep on."""
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER)
        Path("hangs").touch()
        super().end()


class Reaches(_Troubled):
    """Where it is not confined: a file of others, the next worker's log, the network. It tells what came of it."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or try both."""
        if not troubled(call):
            return super().run(call, arrays)
        came = []
        log = Path("/proc/self/fd/1").readlink().with_name("worker-9.log")
        for what in (
            lambda: Path("outside").touch(),
            lambda: log.symlink_to("outside"),
            lambda: socket.create_connection(("127.0.0.1", 9), 5),
        ):
            try:
                what()
            except OSError as error:
                came.append(error.strerror)
        return Refused(", ".join(map(str, came)))


class DiesAndHangs(_Troubled):
    """By the size of the data: now one, now the other."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, die or hang."""
        size = arrays["x"].shape[-1]
        if troubled(call) and size % 2 == 0:
            log(call)
            if size % 8 == 0:
                time.sleep(FOREVER)
            os.kill(os.getpid(), signal.SIGKILL)
        return Right.run(self, call, arrays)


class DiesOnHalf(Right):
    """An instruction that this processor does not have, for float16 alone."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or die."""
        if arrays["x"].dtype == np.float16:
            os.kill(os.getpid(), signal.SIGILL)
        return super().run(call, arrays)


class Slow(Right):
    """Right, in its own time."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Wait, then compute."""
        time.sleep(0.02)
        return super().run(call, arrays)


class Prints(Right):
    """Megabytes, by Python and past it."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Print, then compute."""
        sys.stdout.write(SPOKEN * 20_000)
        sys.stderr.write(SPOKEN * 20_000)
        os.write(1, SPOKEN.encode() * 20_000)
        os.write(2, SPOKEN.encode() * 20_000)
        return super().run(call, arrays)


class TellsThreads(Right):
    """Says how many threads its process has, and the number that the user wants of a runtime."""

    def info(self) -> BackendInfo:
        """Count them."""
        told = {"threads": str(len(os.listdir("/proc/self/task"))), "wanted": os.environ.get("OMP_NUM_THREADS", "")}  # noqa: PTH208
        return BackendInfo("TellsThreads", "1", ("onnx/ConvTranspose-22",), told)


class Raises(Right):
    """An exception, whatever is asked."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Raise; the message has half a character, as text has that was not decoded."""
        raise RuntimeError(f"no kernel \udcff for {call.dialect}\n\x1b[31m{sorted(arrays)}")


class NoArray(Right):
    """A list where an array must be."""

    def answer(self, y: Array) -> Outcome:
        """Return a list."""
        return Produced(y.tolist())


class NoOutcome(Right):
    """An array where an outcome must be."""

    def answer(self, y: Array) -> Outcome:
        """Return the array."""
        return y  # type: ignore[return-value] # that is what is wrong


class NoText(Right):
    """A refusal without a text."""

    def answer(self, y: Array) -> Outcome:
        """Return the array as the message."""
        return Refused(y)  # type: ignore[arg-type] # that is what is wrong


class AnotherKind(Right):
    """An outcome that says it is a verdict."""

    def answer(self, y: Array) -> Outcome:
        """Return what is no answer by the word for one."""
        return Broke(f"{y.size} elements", kind="agreed")  # type: ignore[arg-type] # that is what is wrong


class MasksWhatIsWrong(Right):
    """The output is an array that has its own idea of what is equal."""

    def answer(self, y: Array) -> Outcome:
        """Mask the first element, which is wrong."""
        y.flat[0] += 99
        return Produced(np.ma.masked_array(y, mask=[True] + [False] * (y.size - 1)))


class RaisesWithoutWords(Right):
    """Every call raises, and so does whoever asks the exception what it says."""

    class Silent(Exception):  # noqa: N818 - it says nothing, not even that
        """An exception without words."""

        def __str__(self) -> str:
            """Raise."""
            raise RuntimeError

    def answer(self, _y: Array) -> Outcome:
        """Raise."""
        raise self.Silent


class NotesNumbers(Right):
    """The notes on an output are no texts."""

    def answer(self, y: Array) -> Outcome:
        """Return them."""
        return Produced(y, (1,))  # type: ignore[arg-type] # that is what is wrong


class ShapeOfWords(Right):
    """The sizes of an output are no numbers."""

    def answer(self, _y: Array) -> Outcome:
        """Return them."""
        return ShapeOnly(("a", "b"), "f32")  # type: ignore[arg-type] # that is what is wrong


class WritesIntoOperands(Right):
    """Native code uses the memory of its inputs for what it likes, after it has answered."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Answer, and clear the operands."""
        outcome = super().run(call, arrays)
        for array in arrays.values():
            ctypes.memset(array.ctypes.data, 0, array.nbytes)
        return outcome


class ChildReturns(_Troubled):
    """A process that it starts goes on as if it were the worker."""

    def end(self) -> None:
        """Fork, and return twice."""
        os.fork()


class WritesIntoConnections(_Troubled):
    """It writes into descriptors that are not its own, and lives on."""

    def end(self) -> None:
        """Write into each socket."""
        for path in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if str(path.readlink()).startswith("socket:"):
                    os.write(int(path.name), b"garbage\n")


class FailsToStart(Right):
    """There is no licence."""

    def __init__(self) -> None:
        raise RuntimeError("no licence\nsee the manual")


class DiesAtStart(Right):
    """The process ends."""

    def __init__(self) -> None:
        sys.stderr.write("cannot allocate\n")
        sys.stderr.flush()
        os._exit(9)


class Wavers(_Troubled):
    """Another answer each time, where it is troubled."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, and add how often it was asked."""
        self.times = getattr(self, "times", 0) + 1
        outcome = Right.run(self, call, arrays)
        if troubled(call) and isinstance(outcome, Produced):
            return Produced(outcome.array + self.times)
        return outcome


class DiesForGood(_Troubled):
    """The first process dies of a case, and no other one starts."""

    def __init__(self) -> None:
        self._mark = Path(f"{os.environ[LOG]}.mark")
        if self._mark.exists():
            raise RuntimeError("licence server is down")

    def end(self) -> None:
        """Leave a mark, and die."""
        self._mark.touch()
        os.kill(os.getpid(), signal.SIGSEGV)


class SpeaksNothing(Right):
    """No dialect at all."""

    def info(self) -> BackendInfo:
        """Return none."""
        return BackendInfo("SpeaksNothing", "1", ())


class SpeaksUnknown(Right):
    """A dialect that there is not."""

    def info(self) -> BackendInfo:
        """Return a version that nobody has written."""
        return BackendInfo("SpeaksUnknown", "1", ("onnx/ConvTranspose-99",))


class Various(_Troubled):
    """Right at stride 1, another way of not being so at each other one; dies at 7."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, and do what belongs to the stride."""
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
        """Say why, and die."""
        sys.stderr.write("stack smashing detected\n")
        sys.stderr.flush()
        os.abort()


class SlowAndVarious(Various):
    """Various, in its own time."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Wait, then do what belongs to the stride."""
        time.sleep(0.05)
        return super().run(call, arrays)


class EndsItsParent(Right):
    """Right, but for a call that ends the process above: of a cluster, that is the dask worker."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or end the process above and wait for what comes of it."""
        if troubled(call) and arrays["x"].shape[-1] == 3:
            above = os.getppid()
            # A worker may have been forked by a process between.
            while b"forkserver" in Path(f"/proc/{above}/cmdline").read_bytes():
                above = int(Path(f"/proc/{above}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(above, signal.SIGKILL)
            time.sleep(1)
        return super().run(call, arrays)


class Company(Right):
    """Right in company too: each call is answered as it is alone."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Answer each call."""
        return [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)]


class LastWrongInCompany(Company):
    """The last output of a company shares its memory with another, and has that one's values."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Spoil the last."""
        *others, last = (self.run(call, operands) for call, operands in zip(calls, arrays, strict=True))
        return [*others, Produced(last.array + 1) if isinstance(last, Produced) else last]


class WrongAlone(Company):
    """Right in company, wrong alone."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Add one."""
        right = super().run(call, arrays)
        return Produced(right.array + 1) if isinstance(right, Produced) else right

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Answer each call rightly."""
        return [Right.run(self, call, operands) for call, operands in zip(calls, arrays, strict=True)]


class WrongEverywhere(Company):
    """Wrong alone, and by another value in company."""

    def answer(self, y: Array) -> Outcome:
        """Spoil the last element."""
        y[..., -1] += 1
        return Produced(y)

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Spoil it twice."""
        outcomes = [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)]
        return [self.answer(outcome.array) for outcome in outcomes if isinstance(outcome, Produced)]


class WrongAlike(Company):
    """Wrong by the same value alone and in company."""

    def answer(self, y: Array) -> Outcome:
        """Spoil the last element."""
        y[..., -1] += 1
        return Produced(y)


class WrongOnceInCompany(Company):
    """The first company that it is asked has a wrong answer, and the next has none."""

    asked = 0

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Spoil the first company's last."""
        self.asked += 1
        outcomes = [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)]
        if self.asked == 1 and isinstance(outcomes[-1], Produced):
            outcomes[-1] = Produced(outcomes[-1].array + 1)
        return outcomes


class RefusesLargeCompany(Company):
    """More than three calls are too many for one model."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Refuse a large company as a whole."""
        return Refused("too many nodes") if len(calls) > 3 else super().run_together(calls, arrays)


class CompanyInOneBuffer(Company):
    """The outputs of a company, and of a call alone, are in the same memory each time: that is nothing wrong."""

    def __init__(self) -> None:
        self._memory = np.empty(2**16, np.uint8)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute into the memory."""
        return self._moved([super().run(call, arrays)])[0]

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Compute into the memory, one behind the other."""
        return self._moved([Right.run(self, call, of) for call, of in zip(calls, arrays, strict=True)])

    def _moved(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        moved, end = list[Outcome](), 0
        # What stood there before is gone: a float of these bytes is NaN.
        self._memory[:] = 255
        for outcome in outcomes:
            assert isinstance(outcome, Produced)
            array = outcome.array
            output = self._memory[end : end + array.nbytes].view(array.dtype).reshape(array.shape)
            output[...] = array
            moved.append(Produced(output))
            end += array.nbytes
        return moved


class RefusesTrouble(Company):
    """A call that it cannot stand is refused, in company too: by its name, and the others have no answer."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Refuse trouble."""
        return Refused("trouble") if troubled(call) else super().run(call, arrays)

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Refuse the first call that is trouble."""
        places = [place for place, call in enumerate(calls) if troubled(call)]
        if places:
            return [Refused("node is trouble") if place == places[0] else None for place in range(len(calls))]
        return super().run_together(calls, arrays)


class DiesInCompany(Company):
    """A company with a call that it cannot stand ends the process; alone the same call is answered."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Die of trouble."""
        if any(map(troubled, calls)):
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().run_together(calls, arrays)


class DiesOfTrouble(DiesInCompany):
    """A call that it cannot stand ends the process, in company and alone."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Die of trouble."""
        if troubled(call):
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().run(call, arrays)


class OverwritesItsCompany(DiesOfTrouble):
    """Before it dies, it writes zeros over the memory in which its worker says which other cases it asks."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Write over them, and die of trouble."""
        if troubled(call):
            self._write_over(_position())
        return super().run(call, arrays)

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Write over them, and die of trouble."""
        if any(map(troubled, calls)):
            self._write_over(_position())
        return super().run_together(calls, arrays)

    def _write_over(self, position: Position) -> None:
        position._cells[_INDEX + 1 :] = [0.0] * (position.most - 1)


class OverwritesItsPosition(OverwritesItsCompany):
    """Before it dies, it writes zeros over all that its worker says."""

    left = 0.0

    def _write_over(self, position: Position) -> None:
        position._cells[:] = [self.left] * len(position._cells)


class OverwritesWithOnes(OverwritesItsPosition):
    """The number is that of the first message, of the second case, and of a company of one."""

    left = 1.0


class OverwritesWithNaN(OverwritesItsPosition):
    """The number is none."""

    left = nan


def _position() -> Position:
    (position,) = (found for found in gc.get_objects() if isinstance(found, Position))
    return position


class HangsInCompany(Company):
    """A company with a call that it cannot stand is never answered."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Sleep on trouble."""
        if any(map(troubled, calls)):
            time.sleep(FOREVER)
        return super().run_together(calls, arrays)


class HangsOnceInCompany(Company):
    """The first company of all its processes is never answered; a file says that it was asked."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Sleep where nobody did before."""
        asked = Path(os.environ[HUNG])
        if not asked.exists():
            asked.touch()
            time.sleep(FOREVER)
        return super().run_together(calls, arrays)


class ShortInCompany(Company):
    """One outcome is missing."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Leave out the last."""
        return [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)][:-1]


class RefusesOnceInCompany(Company):
    """The first company is refused as a whole, and no other."""

    asked = 0

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Refuse the first."""
        self.asked += 1
        return Refused("not now") if self.asked == 1 else super().run_together(calls, arrays)


class RaisesInCompany(Company):
    """What goes wrong in company leaves the backend as an exception."""

    def run_together(self, *_: object) -> Sequence[Outcome | None] | Outcome:
        """Raise."""
        raise RuntimeError("no company")

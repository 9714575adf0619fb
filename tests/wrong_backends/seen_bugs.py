"""Bugs that were seen in runtimes, each played alone. `test_golden_explanations` has the calls that each changes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv import conv_transpose
from tconv.backends import Crashed, Outcome, Produced, Refused, Unsupported
from tconv.backends.resolved_call import geometry_of
from tconv.cases.layouts import from_ncx, to_iox, to_ncx
from tconv.vocabulary import DataFormat, DType
from wrong_backends.misread import PadsSwapped
from wrong_backends.right import Array, Right

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call
    from tconv.dialects.geometry import Geometry

_WIDTH = 16
_ROWS = 32
_ROWS_OF_CASES = 40
"""Rows of the smallest case of the tests that has more than these."""


class _ByGeometry(Right):
    """Computes in NCX and IOX from the geometry, which the subclass changes."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        geometry = geometry_of(call)
        if isinstance(geometry, Refused):
            return super().computed(call, words, arrays)
        x, w = to_ncx(arrays["x"], call.data_format), to_iox(arrays["w"], call.filter_format)
        return from_ncx(self.from_geometry(geometry, x, w, arrays.get("b")), call.data_format)

    def from_geometry(self, geometry: Geometry, x: Array, w: Array, b: Array | None, **changed: Any) -> Array:  # noqa: ANN401 - attributes
        words = {
            "strides": geometry.strides,
            "dilations": geometry.dilations,
            "pads_begin": geometry.pads_begin,
            "pads_end": geometry.pads_end,
        }
        return conv_transpose(x, w, b, dialect="geometry/1", groups=geometry.groups, **words | changed)


class PadsAroundData(_ByGeometry):
    """Explicit pads are put around the data, and the output is cut to its size: pads_begin acts as -pads_begin * s."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        explicit = words["auto_pad"] in {None, "explicit"} and words["output_shape"] is None
        return super().computed(call, words, arrays) if explicit else Right.computed(self, call, words, arrays)

    def from_geometry(self, geometry: Geometry, x: Array, w: Array, b: Array | None, **changed: Any) -> Array:  # noqa: ANN401 - as above
        begin, end = geometry.pads_begin, geometry.pads_end
        if min(begin, default=0) < 0:
            return super().from_geometry(geometry, x, w, b, **changed)
        cropped = tuple(max(pad, 0) for pad in end)
        around = np.pad(x, [(0, 0), (0, 0), *zip(begin, cropped, strict=True)])
        added = tuple(min(pad, 0) for pad in end)
        y = super().from_geometry(geometry, around, w, b, pads_begin=(0,) * len(begin), pads_end=added, **changed)
        return np.ascontiguousarray(y[(..., *map(slice, geometry.output))])


class EndPaddingOfAxis1Ignored(Right):
    """The padding of the end of the second axis is taken for 0."""

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        words = super().understood(attributes)
        if words["pads_end"] and len(words["pads_end"]) > 1:
            words["pads_end"] = (words["pads_end"][0], 0, *words["pads_end"][2:])
        return words


class CrashesOnGroups(Right):
    """A process of its own dies of every grouped call that is not depthwise."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        return Crashed("SIGSEGV", "") if _channels(call, arrays) > 1 < call.groups else super().run(call, arrays)


def _channels(call: Call, arrays: Mapping[str, Array]) -> int:
    """Return the channels of a group; those of a call that is no convolution are none."""
    x = arrays["x"]
    axis = 1 if call.data_format is DataFormat.NCX else -1
    return x.shape[axis] // max(call.groups, 1) if x.ndim > 1 else 0


class LastChannelOf17(Right):
    """The last channel of a group is dropped if they are more than 16, and one more than a multiple of 16."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        x, channels = to_ncx(arrays["x"], call.data_format).copy(), _channels(call, arrays)
        if channels > _WIDTH and channels % _WIDTH == 1:
            x[:, channels - 1 :: channels] = 0
        return super().computed(call, words, arrays | {"x": from_ncx(x, call.data_format)})


class RowsBeyond32Skipped(Right):
    """Output rows, the axis before the last, are not computed from the 33rd on."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        y = to_ncx(super().computed(call, words, arrays), call.data_format).copy()
        if call.rank > 1:
            y[..., _ROWS:, :] = 0
        return from_ncx(y, call.data_format)


class FirstItemForTheLast(Right):
    """The last item of a batch is computed from the data of the first one: in a batch of two, the first is repeated."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        x = arrays["x"].copy()
        x[-1] = x[0]
        return super().computed(call, words, {**arrays, "x": x})


class EndsBeforeRow40(RowsBeyond32Skipped):
    """The same, and the process ends if there are 33 to 39 rows."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        y = super().computed(call, words, arrays)
        if call.rank > 1 and _ROWS < to_ncx(y, call.data_format).shape[-2] < _ROWS_OF_CASES:
            os.abort()
        return y


class FirstMultiplierForAll(_ByGeometry):
    """All outputs of a depthwise channel are computed with the filter of its first."""

    def from_geometry(self, geometry: Geometry, x: Array, w: Array, b: Array | None, **changed: Any) -> Array:  # noqa: ANN401 - as above
        if geometry.groups == x.shape[1] > 1:
            w = np.repeat(w[:, :1], w.shape[1], axis=1)
        return super().from_geometry(geometry, x, w, b, **changed)


class IntegerBits(Right):
    """The output of depthwise calls in float32 are integers of 32 bits, whose bits are taken for floats."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        outcome = super().run(call, arrays)
        if isinstance(outcome, Produced) and call.groups > 1 == _channels(call, arrays) and call.dtype is DType.F32:
            with np.errstate(invalid="ignore"):
                return Produced(outcome.array.astype(np.int32).view(np.float32))
        return outcome


class DanglingUnderNxc(Right):
    """Outputs in NXC are memory that was given back: each answer is another one."""

    times = 0

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        self.times += 1
        outcome = super().run(call, arrays)
        if isinstance(outcome, Produced) and call.data_format is DataFormat.NXC:
            return Produced((outcome.array + self.times).astype(outcome.array.dtype))
        return outcome


class UnsetMemoryBesides(PadsSwapped):
    """The pads are exchanged; one call, by its shape, returns memory that was never written.

    To be asked again it takes longer than there is time for all others: so a runtime does that starts slowly.
    """

    times = 0
    seconds = 11.0

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        self.times += 1
        outcome = super().run(call, arrays)
        if isinstance(outcome, Produced) and self.is_unset(call):
            if self.times == 1:
                time.sleep(self.seconds)
            return Produced((outcome.array + self.times).astype(outcome.array.dtype))
        return outcome

    @staticmethod
    def is_unset(call: Call) -> bool:
        return call.inputs[0].shape == (3, 2, 4, 3)


class NoDevice(Right):
    """It refuses what is invalid, and has no device for all else."""

    def answer(self, y: Array) -> Outcome:  # noqa: ARG002 - nothing is computed
        return Unsupported("no device")

"""PyTorch's conv_transpose1d, 2d and 3d, which the reference is also checked against, in float64.

Where its own padding, output_padding and bias can say the geometry, they do. What they cannot say, such as pads that
differ from side to side, runs without them: the output is cropped, the bias is added, the answer is marked `cropped`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import torch
from torch.nn import functional

from tconv.backends import BackendInfo
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.backends.resolved_call import ALL_DIALECT_NAMES, DECLARES_NO_SHAPE, geometry_of, own_padding
from tconv.cases.layouts import permutation
from tconv.dialects.rules import QUESTIONS
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array

_OPERATORS = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


class Torch:
    """torch on the CPU, on one thread."""

    def __init__(self) -> None:
        torch.set_num_threads(1)

    def info(self) -> BackendInfo:
        """Return the version and the backends that torch was built with."""
        return BackendInfo(
            "torch",
            torch.__version__,
            ALL_DIALECT_NAMES,
            {
                "threads": "1",
                "mkldnn": str(torch.backends.mkldnn.is_available()),
                "cpu": torch.backends.cpu.get_cpu_capability(),
                "padding": "torch's own, and its output_padding and bias; an answer marked 'cropped' is without them",
            },
            QUESTIONS,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call, its geometry resolved first."""
        if call.shapes != "static":
            return DECLARES_NO_SHAPE
        geometry = geometry_of(call)
        if isinstance(geometry, Refused):
            return geometry
        if call.rank not in _OPERATORS:
            return Unsupported(f"torch has no conv_transpose for {call.rank} spatial axes")
        x = _tensor(arrays["x"]).permute(permutation(call.rank, call.data_format))
        w = _iox(_tensor(arrays["w"]), call)
        b = _tensor(arrays["b"]) if "b" in arrays else None
        run = partial(_OPERATORS[call.rank], x, w, stride=geometry.strides, dilation=geometry.dilations)
        added = own_padding(geometry)
        try:
            if added is not None:
                y = run(b, padding=geometry.pads_begin, output_padding=added, groups=geometry.groups)
                return Produced(_answer(y, call))
            y = _cropped(run(None, groups=geometry.groups), geometry)
        except RuntimeError as error:
            return Refused(str(error).partition("\n")[0])
        y = y if b is None else y + b.reshape(-1, *(1,) * call.rank)
        return Produced(_answer(y, call), ("cropped",))


def _answer(y: torch.Tensor, call: Call) -> Array:
    return _array(y if call.data_format is DataFormat.NCX else y.movedim(1, -1))


def _tensor(array: Array) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _array(tensor: torch.Tensor) -> Array:
    tensor = tensor.contiguous()
    if tensor.dtype is torch.bfloat16:
        bits: Array = tensor.view(torch.int16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    array: Array = tensor.numpy()
    return array


def _iox(w: torch.Tensor, call: Call) -> torch.Tensor:
    if call.filter_format is FilterFormat.XOI:
        return w.movedim((-1, -2), (0, 1))
    return w.flatten(0, 1) if call.filter_format is FilterFormat.GIOX else w


def _cropped(unpadded: torch.Tensor, geometry: Geometry) -> torch.Tensor:
    """Add zeros where pads are negative, then crop where they are positive.

    In this order, because a pad at one end may be larger than the axis is without the zeros at the other.
    """
    pads = list(zip(geometry.pads_begin, geometry.pads_end, strict=True))
    # torch's padding has the last axis first.
    zeros = [max(-pad, 0) for ends in reversed(pads) for pad in ends]
    enlarged = functional.pad(unpadded, zeros) if any(zeros) else unpadded
    starts = [max(begin, 0) for begin in geometry.pads_begin]
    window = [slice(start, start + size) for start, size in zip(starts, geometry.output, strict=True)]
    return enlarged[(..., *window)]

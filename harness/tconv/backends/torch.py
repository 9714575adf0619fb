"""PyTorch's conv_transpose1d, 2d and 3d: the second opinion on the reference, in true float64 too.

Asymmetric pads are beyond its interface: it runs without pads, and the output is cut out of what is reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import torch
from torch.nn import functional

from tconv.backends import BackendInfo
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.backends.resolved import SPOKEN, geometry_of
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
            SPOKEN,
            {
                "threads": "1",
                "mkldnn": str(torch.backends.mkldnn.is_available()),
                "cpu": torch.backends.cpu.get_cpu_capability(),
            },
            QUESTIONS,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call, its geometry resolved first."""
        geometry = geometry_of(call)
        if isinstance(geometry, Refused):
            return geometry
        if call.rank not in _OPERATORS:
            return Unsupported(f"torch has no conv_transpose for {call.rank} spatial axes")
        x = _tensor(arrays["x"]).permute(permutation(call.rank, call.data_format))
        w = _iox(_tensor(arrays["w"]), call)
        b = _tensor(arrays["b"]) if "b" in arrays else None
        try:
            reached = _OPERATORS[call.rank](
                x, w, None, stride=geometry.strides, dilation=geometry.dilations, groups=geometry.groups
            )
        except RuntimeError as error:
            return Refused(str(error).partition("\n")[0])
        y = _cut(reached, geometry)
        y = y if b is None else y + b.reshape(-1, *(1,) * call.rank)
        return Produced(_array(y if call.data_format is DataFormat.NCX else y.movedim(1, -1)))


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


def _cut(reached: torch.Tensor, geometry: Geometry) -> torch.Tensor:
    """Enlarge at both ends, then crop: one side may crop more than there is without the other's enlargement."""
    sides = list(zip(geometry.pads_begin, geometry.pads_end, strict=True))
    # torch's padding takes the last axis first.
    added = [max(-pad, 0) for begin, end in reversed(sides) for pad in (begin, end)]
    enlarged = torch.nn.functional.pad(reached, added) if any(added) else reached
    cropped = [
        slice(max(begin, 0), max(begin, 0) + size) for (begin, _), size in zip(sides, geometry.output, strict=True)
    ]
    return enlarged[(..., *cropped)]

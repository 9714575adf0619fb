"""oneDNN Graph's ConvTranspose and ConvolutionBackwardData on the real libdnnl."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import BackendInfo
from tconv.backends.onednn_graph import Graph, Refusal, Tensor
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.backends.resolved import geometry_of
from tconv.cases.layouts import data_shape
from tconv.dialects.geometry import Geometry
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array, Ints

_DATA_TYPES = {DType.F16: 1, DType.BF16: 2, DType.F32: 3, DType.F64: 7}
_NO_KERNEL = ("unimplemented",)


class OneDnn:
    """ConvTranspose, the operation of the Graph API."""

    name = "onednn"
    dialect = "onednn/ConvTranspose-1"
    kind = 16
    supplied: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._graph = Graph()

    def info(self) -> BackendInfo:
        """Return the library's version and what it runs on."""
        return BackendInfo(
            self.name,
            self._graph.version,
            (self.dialect,),
            {"library": self._graph.path.name, "isa": self._graph.isa, "machine": platform.machine(), "threads": "1"},
            self.supplied,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call; a refusal of any step is a refusal, a missing kernel is unsupported."""
        inputs = []
        for one in call.inputs:
            if one.role == "output_shape":
                continue
            data_type = _DATA_TYPES.get(one.dtype or DType.F32)
            if data_type is None:
                return Unsupported(f"the Graph API has no type for {one.dtype}")
            inputs.append(Tensor(np.ascontiguousarray(arrays[one.role]), data_type, one.constant))
        try:
            dtype = arrays["x"].dtype
            return Produced(self._graph.run(self.kind, self.words(call), inputs, dtype, call.rank + 2))
        except Refusal as refusal:
            unsupported = refusal.status in _NO_KERNEL
            return Unsupported(str(refusal)) if unsupported else Refused(str(refusal))

    def words(self, call: Call) -> dict[str, str | int | tuple[int, ...]]:
        """Return the attributes as the library spells them."""
        return dict(call.attributes)


class OneDnnBackwardData(OneDnn):
    """ConvolutionBackwardData, which is what became of the specification's ConvolutionBackpropData-1.

    The library finds no output shape by itself, and refuses whatever does not say one: where a call asks for none, it
    is told the primary reading's. A wrong size can therefore not be seen here, wrong values can. An invalid call, which
    has no reading, is told what the formula gives: what is then refused is the fault, not the size's absence.
    """

    name = "onednn-backward-data"
    dialect = "onednn/ConvolutionBackpropData-1"
    kind = 14
    supplied = ("same",)

    def words(self, call: Call) -> dict[str, str | int | tuple[int, ...]]:
        """Return the attributes; the output's size is an attribute here, with batch and channels."""
        words = super().words(call)
        asked = next((one.values for one in call.inputs if one.role == "output_shape"), None)
        geometry = geometry_of(call) if asked is None else None
        spatial = geometry.output if isinstance(geometry, Geometry) else asked
        if spatial is None:
            spatial = _by_formula(call)
        channels = call.written.w.shape[1] * call.groups
        words["dst_shape"] = data_shape((call.inputs[0].shape[0], channels, *spatial), call.data_format)
        return words


def _by_formula(call: Call) -> Ints:
    """Return the sizes of the text's first formula, with a neutral value wherever a list or the filter ends early."""
    spatial, given = call.written.x.shape[2:], call.written.attributes
    axes = zip(
        spatial,
        _each(call.written.w.shape[2:], 1, len(spatial)),
        _each(given.strides, 1, len(spatial)),
        _each(given.dilations, 1, len(spatial)),
        _each(given.pads_begin, 0, len(spatial)),
        _each(given.pads_end, 0, len(spatial)),
        _each(given.output_padding, 0, len(spatial)),
        strict=True,
    )
    return tuple(s * (x - 1) + (k - 1) * d + 1 - begin - end + op for x, k, s, d, begin, end, op in axes)


def _each(values: Ints | None, neutral: int, rank: int) -> Ints:
    return (*(values or ()), *[neutral] * rank)[:rank]

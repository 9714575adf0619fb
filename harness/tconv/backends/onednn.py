"""oneDNN Graph's ConvTranspose and ConvolutionBackwardData, as libdnnl computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import BackendInfo, onednn_isa
from tconv.backends.onednn_graph import Graph, Operation
from tconv.backends.onednn_library import LibraryError
from tconv.backends.onednn_tensors import Tensor
from tconv.backends.outcome import Produced, Refused, ShapeOnly, Unsupported
from tconv.backends.resolved_call import geometry_of
from tconv.cases.layouts import data_shape
from tconv.dialects.geometry import Geometry
from tconv.vocabulary import NEUTRAL, DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array, Ints, Signature

DATA_TYPES: dict[DType | Quantised, int] = {DType.F16: 1, DType.BF16: 2, DType.F32: 3, DType.F64: 7}
"""dnnl_data_type_t, by our name for the type."""


class OneDnn:
    """ConvTranspose, the operation of the Graph API."""

    name = "onednn"
    DIALECTS: tuple[str, ...] = ("onednn/ConvTranspose-1",)
    kind = 16
    supplied: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._graph = Graph()

    def info(self) -> BackendInfo:
        """Return the library's version and what it runs on."""
        return BackendInfo(
            self.name,
            self._graph.version,
            self.DIALECTS,
            {
                "library": self._graph.path.name,
                "isa": onednn_isa.name(self._graph.isa),
                "fpmath": self._graph.fpmath,
                "threads": "1",
            },
            self.supplied,
            onednn_isa.extensions(self._graph.isa),
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call: a step that fails makes it `Refused`, the status `unimplemented` makes it `Unsupported`."""
        operation = self._operation(call, arrays)
        if isinstance(operation, Unsupported):
            return operation
        try:
            array, sizes = self._graph.run(self.kind, operation)
        except LibraryError as refusal:
            return (Unsupported if refusal.status == "unimplemented" else Refused)(str(refusal))
        if array.shape != sizes:
            # No array has a size below zero, but 3.13.2 compiles and executes one beside a size of 0: an answer.
            return ShapeOnly(sizes, call.inputs[0].dtype or DType.F32)
        return Produced(array)

    def _operation(self, call: Call, arrays: Mapping[str, Array]) -> Operation | Unsupported:
        inputs = []
        for tensor in call.inputs:
            if tensor.role == "output_shape":
                if not tensor.constant:
                    return Unsupported("the Graph API has the output's shape as an attribute, and no input for it")
                continue
            data_type = DATA_TYPES.get(tensor.dtype or DType.F32)
            if data_type is None:
                return Unsupported(f"the Graph API has no type for {tensor.dtype}")
            inputs.append(Tensor(np.ascontiguousarray(arrays[tensor.role]), data_type, tensor.constant, call.shapes))
        return Operation(self.attributes(call), inputs, arrays["x"].dtype, call.rank + 2)

    @classmethod
    def attributes(cls, call: Call) -> dict[str, str | int | Ints]:
        """Return the operation's attributes."""
        return dict(call.attributes)


class OneDnnBackwardData(OneDnn):
    """ConvolutionBackwardData, the library's name for the specification's ConvolutionBackpropData-1.

    The library does not derive the output shape, and refuses an operation without one, so the caller supplies it: a
    wrong size cannot be noticed here, but wrong values can. Under SAME_* a user supplies the size of the reading by
    which the operation is the gradient of a Convolution; no other leads back to the data's size. An invalid call has no
    reading and is given the formula's shape, so that it is refused for its fault and not for a missing shape.
    """

    name = "onednn-backward-data"
    DIALECTS = ("onednn/ConvolutionBackpropData-1",)
    kind = 14
    supplied = ("same",)

    @classmethod
    def attributes(cls, call: Call) -> dict[str, str | int | Ints]:
        """Return the operation's attributes; the whole shape of the output is one of them."""
        output_shape = next((tensor.values for tensor in call.inputs if tensor.role == "output_shape"), None)
        if output_shape is None:
            geometry = geometry_of(call, "same-as-convolution")
            output_shape = geometry.output if isinstance(geometry, Geometry) else _by_formula(call.written)
        ncx = (call.inputs[0].shape[0], call.written.w.shape[1] * call.groups, *output_shape)
        return {**super().attributes(call), "dst_shape": data_shape(ncx, call.data_format)}


def _by_formula(written: Signature) -> Ints:
    """Return the sizes by the text's first formula; lists that are too short are filled with neutral values."""
    rank = len(written.spatial)
    lists = [(written.kernel, 1), *((written.per_axis(name), neutral) for name, neutral in NEUTRAL.items())]
    axes = zip(written.spatial, *((*values, *[neutral] * rank)[:rank] for values, neutral in lists), strict=True)
    return tuple(s * (x - 1) + (k - 1) * d + 1 - begin - end + op for x, k, s, d, begin, end, op in axes)

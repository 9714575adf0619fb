"""oneDNN Graph's ConvTranspose and ConvolutionBackwardData, as libdnnl computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tconv.backends import BackendInfo, onednn_isa
from tconv.backends.onednn_graph import POLICIES, Graph
from tconv.backends.onednn_library import LibraryError
from tconv.backends.onednn_operations import Operation, written
from tconv.backends.onednn_tensors import DATA_TYPES, Tensor
from tconv.backends.options import Option, with_defaults
from tconv.backends.outcome import Produced, Refused, ShapeOnly, Unsupported
from tconv.backends.resolved_call import geometry_of
from tconv.cases import graph as graphs
from tconv.cases.graph import OPERATOR, Node
from tconv.cases.layouts import data_shape
from tconv.dialects.geometry import Geometry
from tconv.vocabulary import NEUTRAL, DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array, Ints, Signature


class OneDnn:
    """ConvTranspose, the operation of the Graph API."""

    name = "onednn"
    DIALECTS: tuple[str, ...] = ("onednn/ConvTranspose-1",)
    kind = "ConvTranspose"
    supplied: tuple[str, ...] = ()
    contexts = True

    OPTIONS: ClassVar = (Option("policy", "how a graph is partitioned", "fusion", tuple(POLICIES), "debug"),)

    def __init__(self, **options: str) -> None:
        self._graph = Graph(with_defaults(self.OPTIONS, options)["policy"])

    def info(self) -> BackendInfo:
        """Return the library's version and settings."""
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
            contexts=self.contexts,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call. If a step fails, it is `Refused`; with the status `unimplemented`, it is `Unsupported`."""
        tensors = {}
        for tensor in call.inputs:
            if tensor.role == "output_shape":
                if not tensor.constant:
                    return Unsupported("the Graph API has the output's shape as an attribute, and no input for it")
                continue
            array = np.ascontiguousarray(arrays[tensor.role])
            tensors[tensor.role] = Tensor(array, tensor.dtype or DType.F32, tensor.constant, call.shapes)
        graph = call.graph or graphs.Graph((Node(OPERATOR, tuple(tensors), ("Y",), {}, call),), "Y")
        operations = [self._operation(node, arrays) for node in graph.nodes]
        operations += [Operation("End", (name,)) for name in graph.also]
        for operation in operations:
            for name in operation.inputs:
                if name in tensors and tensors[name].dtype not in DATA_TYPES:
                    return Unsupported(f"no operation of the graph has {tensors[name].dtype} as its input's type")
        try:
            array, sizes, executed = self._graph.run(operations, tensors, graph.output)
        except LibraryError as refusal:
            return (Unsupported if refusal.status == "unimplemented" else Refused)(str(refusal))
        if array.shape != sizes:
            # 3.13.2 answers calls with an output size below zero, if another size is 0. No array has such a size.
            return ShapeOnly(sizes, call.dtype)
        return Produced(array, executed=executed if call.graph else ())

    def _operation(self, node: Node, arrays: Mapping[str, Array]) -> Operation:
        if node.call is None:
            return written(node, arrays)
        return Operation(self.kind, node.inputs, node.outputs[0], node.call.dtype, self.attributes(node.call))

    @classmethod
    def attributes(cls, call: Call) -> dict[str, str | int | Ints]:
        """Return the operation's attributes."""
        return dict(call.attributes)


class OneDnnBackwardData(OneDnn):
    """ConvolutionBackwardData, the library's name for the specification's ConvolutionBackpropData-1.

    The library refuses an operation without an output shape, so this backend supplies one: wrong sizes cannot be found
    here, only wrong values. Under SAME_* it is the size by which the operation is the gradient of a Convolution, as no
    other size leads back to the data's. An invalid call gets the formula's shape, so that a missing shape is not the
    reason of the refusal.
    """

    name = "onednn-backward-data"
    DIALECTS = ("onednn/ConvolutionBackpropData-1",)
    kind = "ConvolutionBackwardData"
    supplied = ("same",)
    # The supplied shape would have to fit the other tensors of a graph.
    contexts = False

    @classmethod
    def attributes(cls, call: Call) -> dict[str, str | int | Ints]:
        """Return the operation's attributes, with the whole shape of the output."""
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

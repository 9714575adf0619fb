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
            contexts=self.contexts,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call: a step that fails makes it `Refused`, the status `unimplemented` makes it `Unsupported`."""
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
            # No array has a size below zero, but 3.13.2 compiles and executes one beside a size of 0: an answer.
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

    The library does not derive the output shape, and refuses an operation without one, so the caller supplies it: a
    wrong size cannot be noticed here, but wrong values can. Under SAME_* a user supplies the size of the reading by
    which the operation is the gradient of a Convolution; no other leads back to the data's size. An invalid call has no
    reading and is given the formula's shape, so that it is refused for its fault and not for a missing shape.
    """

    name = "onednn-backward-data"
    DIALECTS = ("onednn/ConvolutionBackpropData-1",)
    kind = "ConvolutionBackwardData"
    supplied = ("same",)
    # The shape that is supplied would have to fit those of the other tensors.
    contexts = False

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

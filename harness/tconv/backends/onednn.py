"""oneDNN Graph's ConvTranspose and ConvolutionBackwardData, as libdnnl computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tconv.backends import BackendInfo, onednn_graph, onednn_isa
from tconv.backends.onednn_graph import DATA_TYPES, POLICIES, LibraryError, Operation, Tensor, version
from tconv.backends.onednn_library import fpmath, isa, located, opened
from tconv.backends.onednn_operations import written
from tconv.backends.options import Option, with_defaults
from tconv.backends.outcome import Produced, Refused, ShapeOnly, Unsupported
from tconv.backends.resolved_call import geometry_of
from tconv.backends.snippet import Snippet, plain_source
from tconv.cases import graph as graphs
from tconv.cases.graph import OPERATOR, Node
from tconv.cases.layouts import data_shape
from tconv.dialects.geometry import Geometry
from tconv.vocabulary import NEUTRAL, DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call, Input
    from tconv.vocabulary import Array, Ints, Signature


_PACKAGE = "onednn-cpu-gomp"
_FIND = (
    "import sys",
    "from pathlib import Path",
    "# LIBDNNL may name the file of another library than that of this environment.",
    'DNNL = load(Path(os.environ.get("LIBDNNL") or next(Path(sys.prefix, "lib").glob("libdnnl.so.3*"))))',
)


class OneDnn:
    """ConvTranspose, the operation of the Graph API."""

    name = "onednn"
    DIALECTS: tuple[str, ...] = ("onednn/ConvTranspose-1",)
    kind = "ConvTranspose"
    supplied: tuple[str, ...] = ()
    contexts = True

    OPTIONS: ClassVar = (Option("policy", "how a graph is partitioned", "fusion", tuple(POLICIES), "debug"),)

    def __init__(self, **options: str) -> None:
        self._graph = opened(with_defaults(self.OPTIONS, options)["policy"])

    def info(self) -> BackendInfo:
        """Return the library's version and settings."""
        library = self._graph.library
        return BackendInfo(
            self.name,
            version(library),
            self.DIALECTS,
            {
                "library": located().name,
                "isa": onednn_isa.name(isa(library)),
                "fpmath": fpmath(self._graph),
                "threads": "1",
            },
            self.supplied,
            onednn_isa.extensions(isa(library)),
            contexts=self.contexts,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call. If a step fails, it is `Refused`; with the status `unimplemented`, it is `Unsupported`."""
        if any(tensor.role == "output_shape" and not tensor.constant for tensor in call.inputs):
            return Unsupported("the Graph API has the output's shape as an attribute, and no input for it")
        tensors = {}
        for tensor in _operands(call):
            array = np.ascontiguousarray(arrays[tensor.role])
            tensors[tensor.name] = Tensor(array, _dtype(tensor), tensor.constant, call.shapes)
        graph = call.graph or graphs.Graph((_alone(call),), "Y")
        operations = [
            written(node, arrays) if node.call is None else self._operator(node, node.call) for node in graph.nodes
        ]
        operations += [Operation("End", (name,), None, "f32", {}) for name in graph.also]
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

    @classmethod
    def snippet(cls, call: Call) -> Snippet | None:
        """Return how a call is computed without tconv: by the module that computes it here; None for no such call."""
        if any(tensor.role == "output_shape" and not tensor.constant for tensor in call.inputs):
            return None
        graph = call.graph or graphs.Graph((_alone(call),), "Y")
        tensors = [
            f"{each.name!r}: Tensor(np.ascontiguousarray({each.name}), {_dtype(each)!r}, {each.constant}, "
            f"{call.shapes!r}),"
            for each in _operands(call)
        ]
        operations = [f"{line}," for line in map(cls._expression, graph.nodes)]
        operations += [f"Operation('End', ({name!r},), None, 'f32', {{}})," for name in graph.also]
        lines = ("fed = {", *tensors, "}", "operations = [", *operations, "]")
        lines = (*lines, f"y = Graph(DNNL).run(operations, fed, {graph.output!r}).array")
        setup = (*plain_source(onednn_graph), *_FIND)
        return Snippet(
            (), lines, ("LibraryError",), of_model=False, version="version(DNNL)", setup=setup, package=_PACKAGE
        )

    @classmethod
    def _expression(cls, node: Node) -> str:
        """Return the expression for an operation, in which scales and zero points are arrays by name."""
        if node.call is not None:
            return repr(cls._operator(node, node.call))
        if node.kind not in {"Quantize", "Dequantize"}:
            return repr(written(node, {}))
        quanta = f"quanta({', '.join(node.inputs[1:])}, {node.attributes.get('axis', 1)})"
        return repr(written(node, {})).replace("attributes={}", f"attributes={quanta}")

    @classmethod
    def _operator(cls, node: Node, call: Call) -> Operation:
        return Operation(cls.kind, node.inputs, node.outputs[0], str(call.dtype), cls.attributes(call))

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


def _operands(call: Call) -> Iterator[Input]:
    """Yield the inputs that are tensors; output_shape is an attribute."""
    return (tensor for tensor in call.inputs if tensor.role != "output_shape")


def _dtype(tensor: Input) -> str:
    return str(tensor.dtype or DType.F32)


def _alone(call: Call) -> Node:
    return Node(OPERATOR, tuple(tensor.name for tensor in _operands(call)), ("Y",), {}, call)


def _by_formula(written: Signature) -> Ints:
    """Return the sizes by the text's first formula; lists that are too short are filled with neutral values."""
    rank = len(written.spatial)
    lists = [(written.kernel, 1), *((written.per_axis(name), neutral) for name, neutral in NEUTRAL.items())]
    axes = zip(written.spatial, *((*values, *[neutral] * rank)[:rank] for values, neutral in lists), strict=True)
    return tuple(s * (x - 1) + (k - 1) * d + 1 - begin - end + op for x, k, s, d, begin, end, op in axes)

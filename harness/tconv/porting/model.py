"""An ONNX model: its given and inferred sizes, and its constants."""

from __future__ import annotations

import re
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import numpy_helper
from onnx.inliner import inline_local_functions

from tconv.dialects import DIALECTS
from tconv.errors import FileError, UsageError
from tconv.nearest_word import nearest
from tconv.porting.model_calls import OPERATOR, OWN_DOMAINS, KnownSizes, find_calls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.porting.model_calls import ModelCall
    from tconv.vocabulary import Array, Ints

_SMALL: Final = 1024
"""The most numbers of a constant that shapes may depend on; larger ones are weights."""


class Model:
    """An ONNX model with inlined functions and inferred shapes.

    Weights are read on demand: weights in files next to the model need not exist before.

    Args:
        path: the model's file.
        sizes: sizes for symbols of the model's inputs, and for their axes, such as `x[2]`.

    Attributes:
        proto: the model, without inferred shapes.
        open: the unknown sizes of its inputs: a symbol, or input and axis.
        batches: the part of `open` that is the first axis of an input.
        constants: the names of its initializers.
        symbolic: whether some sizes are known from the command line only.
        failing: onnx's message about a node that cannot have these sizes; empty if there is none.

    Raises:
        FileError: the file is no ONNX model.
        UsageError: a size is for a symbol or axis that the model does not have.
    """

    def __init__(self, path: Path, sizes: Mapping[str, int]) -> None:
        self.path, self.sizes = path, sizes
        self.proto = _loaded(path)
        if self.proto.functions:
            self.proto = _inlined(path, self.proto)
        _refuse_broken(path, self.proto.graph, set())
        self.version = next((entry.version for entry in self.proto.opset_import if entry.domain in OWN_DOMAINS), 1)
        self._light = _without_weights(self.proto)
        self.symbolic = bool(_open_sizes(self._light))
        self.constants = frozenset(tensor.name for tensor in self.proto.graph.initializer)
        _set_sizes(self._light, sizes)
        names = _open_sizes(self._light)
        self.open, self.batches = list(names), {name for name, axes in names.items() if axes == {0}}
        self._infer()

    def _infer(self) -> None:
        """Infer shapes, and keep the first error."""
        self.shaped, self.failing = self._light, ""
        self._found: dict[int | None, list[ModelCall]] = {}
        try:
            self.shaped = onnx.shape_inference.infer_shapes(self._light, strict_mode=True, data_prop=True)
        except (onnx.shape_inference.InferenceError, ValueError) as error:
            # The first node that fails; the nodes behind it fail because of it.
            self.failing = re.split(
                r"(?<=.) (?=\(op_type:)", " ".join(str(error).partition("Inference error(s): ")[2].split())
            )[0]
            # If inference fails, the shapes that the model itself declares remain.
            with suppress(onnx.shape_inference.InferenceError, ValueError):
                self.shaped = onnx.shape_inference.infer_shapes(self._light, data_prop=True)

    def resize(self, name: str, output: Ints) -> None:
        """Set the output size of a node in the main graph, as a reading or a runtime gives it.

        onnx infers the sizes of one reading. The nodes behind this one get data of the size given here.

        Args:
            name: the node's output.
            output: its spatial sizes.
        """
        graph = self._light.graph
        node = next((node for node in graph.node if name in node.output), None)
        known = {
            value.name: value.type.tensor_type for value in (*self.shaped.graph.value_info, *self.shaped.graph.output)
        }
        if node is None or name not in known:
            return
        inferred = [dim.dim_value or dim.dim_param for dim in known[name].shape.dim]
        if (tuple(inferred[2:]) == output and not self.failing) or len(inferred) != len(output) + 2:
            return
        node.output[0] = f"{name} as inferred"
        behind = {name}
        for each in graph.node:
            if not behind.isdisjoint(each.input):
                behind.update(each.output)
        # The shapes that the file declares for these follow from the inferred size.
        declared = [value for value in graph.value_info if value.name not in behind]
        del graph.value_info[:]
        graph.value_info.extend(declared)
        for value in graph.output:
            if value.name in behind:
                value.type.tensor_type.ClearField("shape")
        shape = [size or None for size in (*inferred[:2], *output)]
        graph.input.append(onnx.helper.make_tensor_value_info(name, known[name].elem_type, shape))
        self._infer()

    def calls(self, assumed: int | None = None) -> list[ModelCall]:
        """Return the calls of every ConvTranspose, including those in subgraphs, in the order of the graph.

        Args:
            assumed: the spatial size of data if the model gives none; None leaves it unknown.

        Raises:
            FileError: there is no ConvTranspose.
        """
        if assumed in self._found:
            return self._found[assumed]
        since = max(number for number in _VERSIONS if number <= max(self.version, 1))
        calls = self._found[assumed] = list(
            find_calls(self.shaped.graph, {}, (), _VERSIONS[since], KnownSizes(self.open, assumed))
        )
        if not calls:
            must = f"must have a node {OPERATOR} (got none); name a model that has one"
            raise FileError(self.path, must)
        return calls

    def constant(self, name: str, scope: Sequence[onnx.GraphProto]) -> Array | None:
        """Return the value of a tensor if it follows from constants alone, by any operations; None if not.

        Args:
            name: the tensor.
            scope: the graphs that may have it.

        Raises:
            FileError: it is stored in a file next to the model, and that file is missing.
        """
        # The graphs in `scope` have no weights except those in their nodes.
        graphs = (self.proto.graph, *scope[1:])
        makers = {output: node for graph in graphs for node in graph.node for output in node.output if output}
        tensors = {tensor.name: tensor for graph in graphs for tensor in graph.initializer}
        nodes: dict[int, onnx.NodeProto] = {}
        used: dict[str, onnx.TensorProto] = {}
        wanted = [name]
        while wanted:
            each = wanted.pop()
            if each in tensors:
                used[each] = self.read(tensors[each])
            elif (node := makers.get(each)) is None or any(a.HasField("g") or a.graphs for a in node.attribute):
                return None
            elif id(node) not in nodes:
                nodes[id(node)] = node
                wanted += filter(None, node.input)
        if name in used:
            return self._array(used[name])
        ordered = [node for graph in graphs for node in graph.node if id(node) in nodes]
        output = onnx.ValueInfoProto(name=name)
        graph = onnx.helper.make_graph(ordered, "constant", [], [output], list(used.values()))
        # The evaluator has DequantizeLinear only of newer sets; it computes the same.
        versions = (self.version, _DEQUANTIZING)
        return next((value for version in versions if (value := _evaluated(graph, version)) is not None), None)

    def _array(self, tensor: onnx.TensorProto) -> Array:
        try:
            return numpy_helper.to_array(tensor)
        except (TypeError, ValueError) as error:
            must = f"must have in the tensor {tensor.name!r} what its type and its sizes say (got: {error})"
            raise FileError(self.path, f"{must}; correct the model") from None

    def read(self, tensor: onnx.TensorProto) -> onnx.TensorProto:
        """Return a tensor with its values, which may be in a file next to the model.

        Raises:
            FileError: the file is missing.
        """
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return tensor
        read = onnx.TensorProto()
        read.CopyFrom(tensor)
        try:
            onnx.external_data_helper.load_external_data_for_tensor(read, str(self.path.parent))
        except (OSError, onnx.checker.ValidationError, ValueError) as error:
            where = next((entry.value for entry in tensor.external_data if entry.key == "location"), "?")
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            message = f"must have its weights next to it, in {where} (got: {reason}); put the file there"
            raise FileError(self.path, message) from None
        read.data_location = onnx.TensorProto.DEFAULT
        return read


_DEQUANTIZING: Final = 21
"""An operator set with a DequantizeLinear that onnx's evaluator has."""


def _evaluated(graph: onnx.GraphProto, version: int) -> Array | None:
    """Return the only output of a graph without inputs; None if onnx's evaluator cannot evaluate it."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - it loads 200 modules

    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    try:
        outputs: Any = ReferenceEvaluator(model).run(None, {})
        return np.asarray(outputs[0])
    except Exception:  # noqa: BLE001 - the evaluator raises any exception; the value is unknown then
        return None


_VERSIONS: Final = {
    int(name.rpartition("-")[2]): dialect for name, dialect in DIALECTS.items() if name.startswith(f"onnx/{OPERATOR}-")
}


def _loaded(path: Path) -> onnx.ModelProto:
    try:
        model = onnx.load(path, load_external_data=False)
    except (OSError, DecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no protobuf message"
        raise FileError(path, f"must be an ONNX model that can be read (got: {reason}); check the path") from None
    if not model.HasField("graph"):
        raise FileError(path, "must be an ONNX model (got a file without a graph); check the path")
    if not model.opset_import:
        raise FileError(path, "must say its operator set (got a model that imports none); correct the model")
    return model


def _refuse_broken(path: Path, graph: onnx.GraphProto, outer: set[str]) -> None:
    """Refuse a graph that is not in order: each tensor must be made once, and before a node needs it.

    Raises:
        FileError: the graph is not in order.
    """
    fed = (*graph.input, *graph.initializer, *(sparse.values for sparse in graph.sparse_initializer))
    own = {value.name for value in fed}
    known = outer | own
    for node in graph.node:
        name = node.name or node.op_type
        for wanted in node.input:
            if wanted and wanted not in known:
                got = f"{name} needs {wanted!r}, which no node before it makes"
                raise FileError(path, f"must have a graph in order (got: {got}); correct the model")
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                _refuse_broken(path, inner, known)
        made = {output for output in node.output if output}
        if again := made & own:
            got = f"{name} makes {min(again)!r}, which is there already"
            raise FileError(path, f"must make each tensor once (got: {got}); correct the model")
        own |= made
        known |= made


def _inlined(path: Path, model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return inline_local_functions(model)
    except Exception as error:  # noqa: BLE001 - the C++ code may raise anything
        raise FileError(path, f"must have functions that can be put in their places (got: {error})") from None


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model without the values of large initializers: no shape depends on them."""
    light = onnx.ModelProto(ir_version=model.ir_version)
    light.opset_import.extend(model.opset_import)
    graph = model.graph
    light.graph.name = graph.name
    for field in ("node", "input", "output", "value_info", "sparse_initializer"):
        getattr(light.graph, field).extend(getattr(graph, field))
    for tensor in graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL or prod(tensor.dims) > _SMALL:
            light.graph.initializer.add(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
        else:
            light.graph.initializer.append(tensor)
    return light


def _fed(model: onnx.ModelProto) -> Iterator[onnx.ValueInfoProto]:
    """Yield the inputs that the caller feeds; before IR 4, initializers are inputs too."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return (value for value in model.graph.input if value.name not in constants)


def _open_sizes(model: onnx.ModelProto) -> dict[str, set[int]]:
    """Return the unknown sizes of the model's inputs, named by a symbol or by input and axis, each with its axes."""
    names: dict[str, set[int]] = {}
    for value in _fed(model):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value") or dim.dim_value < 0:
                names.setdefault(dim.dim_param or f"{value.name}[{axis}]", set()).add(axis)
    return names


def _set_sizes(model: onnx.ModelProto, sizes: Mapping[str, int]) -> None:
    known = _open_sizes(model)
    axes = {
        f"{value.name}[{axis}]": dim
        for value in model.graph.input
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
    }
    symbols: dict[str, list[onnx.TensorShapeProto.Dimension]] = {}
    for dim in axes.values():
        symbols.setdefault(dim.dim_param, []).append(dim)
    for name, size in sizes.items():
        if not name or (name not in symbols and name not in axes):
            words = ", ".join(sorted(known)) or "there is none"
            must = f"--size must name a symbol of the model's inputs, or an input and an axis: {words}"
            raise UsageError(f"{must} (got {name!r}){nearest(name, known)}")
        for dim in symbols.get(name) or [axes[name]]:
            if dim.HasField("dim_value") and dim.dim_value not in {-1, size}:
                raise UsageError(f"--size {name} must be {dim.dim_value}, as the model says (got {size})")
            dim.dim_value = size

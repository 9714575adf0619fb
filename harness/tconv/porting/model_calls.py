"""An ONNX model, and its calls of ConvTranspose as cases."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import numpy_helper
from onnx.inliner import inline_local_functions

from tconv.backends.onnx_graph import ELEMENT_TYPES
from tconv.cases.case import Case, Facts, Operand
from tconv.corpus.facts import work_out_facts
from tconv.corpus.writing import settings
from tconv.dialects import DIALECTS
from tconv.errors import FileError, UsageError
from tconv.nearest_word import nearest
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.dialects import Dialect
    from tconv.vocabulary import Array, Ints

OPERATOR: Final = "ConvTranspose"
OWN_DOMAINS: Final = frozenset({"", "ai.onnx"})
_TYPES: Final[dict[int, DType]] = {ELEMENT_TYPES[dtype]: dtype for dtype in DType}
_ATTRIBUTE_TYPES: Final = {"auto_pad": onnx.AttributeProto.STRING, "group": onnx.AttributeProto.INT}
"""The types of the attributes that are no lists of integers."""
_CHANNELS, _FIRST_AXIS = 1, 2
_SMALL: Final = 1024
"""Numbers of a constant that shapes may depend on; larger ones are weights."""
_AXIS: Final = re.compile(r"(?P<input>.+)\[(?P<axis>[0-9]+)\]")
Dimensions = tuple[int | str, ...]
"""Sizes; of one that is not known its symbol, or an empty text."""


class _Unknown(ValueError):  # noqa: N818 - what is not known of a node is no error of the model
    """The model does not say what a call depends on."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A node of a model.

    Attributes:
        name: the node's name, or its output's where it has none.
        dialect: the operator's version in the model's operator set.
        case: the call; None where the model does not say enough.
        unknown: what it does not say.
        node: the node; None of a call that is of no model.
        scope: the graphs that the node sees, the model's own first.
    """

    name: str
    dialect: Dialect
    case: Case | None
    unknown: str = ""
    node: onnx.NodeProto | None = None
    scope: tuple[onnx.GraphProto, ...] = ()


class Model:
    """An ONNX model whose functions are put in their places, and whose shapes are inferred.

    Weights are read if they are asked for: in files beside the model they need not be there.

    Args:
        path: the model's file.
        sizes: the sizes to take for symbols of the model's inputs, and for axes of them, such as `x[2]`.

    Attributes:
        proto: the model, without inferred shapes.
        open: the sizes of its inputs that are not known: a symbol, or input and axis.
        batches: those of `open` that are an input's first axis.
        constants: the names of its initializers.
        symbolic: whether it has sizes that only the command line knows.
        failing: what cannot have these sizes, as onnx says it; empty if nothing is known.

    Raises:
        FileError: the file is no ONNX model.
        UsageError: a size is for none of the model's symbols and axes.
    """

    def __init__(self, path: Path, sizes: Mapping[str, int]) -> None:
        self.path, self.sizes = path, sizes
        self.proto = _loaded(path)
        if self.proto.functions:
            self.proto = _inlined(path, self.proto)
        self.version = next((entry.version for entry in self.proto.opset_import if entry.domain in OWN_DOMAINS), 1)
        light = _without_weights(self.proto)
        self.symbolic = bool(_open_sizes(light))
        self.constants = frozenset(tensor.name for tensor in self.proto.graph.initializer)
        _set_sizes(light, sizes)
        names = _open_sizes(light)
        self.open, self.batches = list(names), {name for name, axes in names.items() if axes == {0}}
        self.shaped, self.failing = light, ""
        try:
            self.shaped = onnx.shape_inference.infer_shapes(light, strict_mode=True, data_prop=True)
        except (onnx.shape_inference.InferenceError, ValueError) as error:
            # The first node that fails; those behind it fail with it.
            self.failing = re.split(
                r"(?<=.) (?=\(op_type:)", " ".join(str(error).partition("Inference error(s): ")[2].split())
            )[0]
            # Without inference there is what the model itself declares.
            with suppress(onnx.shape_inference.InferenceError, ValueError):
                self.shaped = onnx.shape_inference.infer_shapes(light, data_prop=True)

    def calls(self, assumed: int | None = None) -> list[ModelCall]:
        """Return the calls of every ConvTranspose, those in subgraphs too, in the order of the graph.

        Args:
            assumed: the spatial size of data of which the model says none; None for unknown.

        Raises:
            FileError: there is none.
        """
        since = max(number for number in _VERSIONS if number <= max(self.version, 1))
        calls = list(_calls(self.shaped.graph, {}, (), _VERSIONS[since], _Sizes(self.open, assumed)))
        if not calls:
            must = f"must have a node {OPERATOR} (got none); name a model that has one"
            raise FileError(self.path, must)
        return calls

    def constant(self, name: str, scope: Sequence[onnx.GraphProto]) -> Array | None:
        """Return the value of a tensor that follows from constants alone, by any operations; None of any other.

        Args:
            name: the tensor.
            scope: the graphs in which it may be.

        Raises:
            FileError: it lies in a file beside the model that is not there.
        """
        # The graphs of the scope have no weights but in their nodes.
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
            return numpy_helper.to_array(used[name])
        ordered = [node for graph in graphs for node in graph.node if id(node) in nodes]
        output = onnx.ValueInfoProto(name=name)
        graph = onnx.helper.make_graph(ordered, "constant", [], [output], list(used.values()))
        # The evaluator has no DequantizeLinear of older sets, which computes the same.
        versions = (self.version, _DEQUANTIZING)
        return next((value for version in versions if (value := _evaluated(graph, version)) is not None), None)

    def read(self, tensor: onnx.TensorProto) -> onnx.TensorProto:
        """Return a tensor with its values, those of a file beside the model too.

        Raises:
            FileError: the file is not there.
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


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What is known of sizes: those that are open, and what stands for data of which nothing is known."""

    open: Sequence[str]
    assumed: int | None


_DEQUANTIZING: Final = 21
"""An operator set of which onnx's evaluator has DequantizeLinear."""


def _evaluated(graph: onnx.GraphProto, version: int) -> Array | None:
    """Return the only output of a graph without inputs; None if onnx's evaluator cannot evaluate it."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - it loads 200 modules

    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    try:
        outputs: Any = ReferenceEvaluator(model).run(None, {})
        return np.asarray(outputs[0])
    except Exception:  # noqa: BLE001 - it has no exceptions of its own; what it cannot evaluate is not known
        return None


def calls_of(path: Path, sizes: Mapping[str, int]) -> list[ModelCall]:
    """Return the calls of every ConvTranspose of a model, as `Model` does."""
    return Model(path, sizes).calls()


_VERSIONS: Final = {
    int(name.rpartition("-")[2]): dialect for name, dialect in DIALECTS.items() if name.startswith(f"onnx/{OPERATOR}-")
}


def _loaded(path: Path) -> onnx.ModelProto:
    try:
        model = onnx.load(path, load_external_data=False)
    except (OSError, DecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise FileError(path, f"must be an ONNX model that can be read (got: {reason}); check the path") from None
    if not model.HasField("graph"):
        raise FileError(path, "must be an ONNX model (got a file without a graph); check the path")
    return model


def _inlined(path: Path, model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return inline_local_functions(model)
    except Exception as error:  # noqa: BLE001 - it is C++ that may raise anything
        raise FileError(path, f"must have functions that can be put in their places (got: {error})") from None


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model without the values of its large initializers: no shape depends on them."""
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
    """Yield the inputs that are fed; before IR 4 initializers are inputs too."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return (value for value in model.graph.input if value.name not in constants)


def _open_sizes(model: onnx.ModelProto) -> dict[str, set[int]]:
    """Return the sizes of the model's inputs that are not known, a symbol, or input and axis, each with its axes."""
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


def _calls(
    graph: onnx.GraphProto,
    outer: Mapping[str, _Tensor],
    scope: tuple[onnx.GraphProto, ...],
    dialect: Dialect,
    known: _Sizes,
) -> Iterator[ModelCall]:
    tensors, scope = {**outer, **_tensors(graph)}, (*scope, graph)
    for node in graph.node:
        if node.op_type == OPERATOR and node.domain in OWN_DOMAINS:
            name = node.name or node.output[0]
            try:
                case = _case(name, node, tensors, dialect, known)
                yield ModelCall(name, dialect, _with_facts(case), node=node, scope=scope)
            except _Unknown as error:
                yield ModelCall(name, dialect, None, str(error), node, scope)
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                yield from _calls(inner, tensors, scope, dialect, known)


def _with_facts(case: Case) -> Case:
    """Return a case with the facts by which waivers and pins cover it."""
    if len(case.x.shape) <= _FIRST_AXIS or len(case.w.shape) <= _FIRST_AXIS:
        return case
    facts = partial(work_out_facts, "model", (settings(case),), case.attributes, case.x, case.w)
    return replace(case, facts=Facts(facts))


_Tensor = tuple[int, Dimensions | None]
"""The element type of a value, and its sizes where it has any."""


def _tensors(graph: onnx.GraphProto) -> dict[str, _Tensor]:
    """Return what is known of the values of a graph, by name."""
    tensors: dict[str, _Tensor] = {}
    for value in (*graph.value_info, *graph.output, *graph.input):
        tensor = value.type.tensor_type
        # A negative size stands for one that is not known in some models.
        known = [(dim.HasField("dim_value") and dim.dim_value >= 0, dim) for dim in tensor.shape.dim]
        sizes = tuple(dim.dim_value if is_known else dim.dim_param for is_known, dim in known)
        tensors[value.name] = tensor.elem_type, sizes if tensor.HasField("shape") else None
    constants = [
        (node.output[0], attribute.t)
        for node in graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.name == "value"
    ]
    for name, constant in (*((tensor.name, tensor) for tensor in graph.initializer), *constants):
        tensors[name] = constant.data_type, tuple(constant.dims)
    return tensors


def _case(name: str, node: onnx.NodeProto, tensors: Mapping[str, _Tensor], dialect: Dialect, known: _Sizes) -> Case:
    if len(node.input) < 2:  # noqa: PLR2004 - X and W
        raise _Unknown("a ConvTranspose must have the inputs X and W (got fewer)")
    w_type, w = _tensor(node.input[1], tensors)
    x_type, x = tensors.get(node.input[0], (0, None))
    if x is None:
        x_type, x = (w_type, ("",) * len(w)) if known.assumed else _tensor(node.input[0], tensors)
    if len(x) <= _FIRST_AXIS:
        raise _Unknown(f"{node.input[0]!r} must have a spatial axis (got {len(x)} dimensions)")
    kernel = _known("W", w, range(len(w)), known.open)
    if known.assumed:
        x = (*x[:_FIRST_AXIS], *(_size(size, known.assumed) for size in x[_FIRST_AXIS:]))
    data = _known("X", x, range(_FIRST_AXIS, len(x)), known.open)
    attributes = attributes_of(node, dialect)
    # A size or a type that the model does not say is assumed to be valid; the dialect's constraints judge the others.
    batch, channels = _size(x[0], 1), _size(x[_CHANNELS], kernel[0] if kernel else 0)
    outputs = (kernel[_CHANNELS] if len(kernel) > _CHANNELS else 1) * (attributes.groups or 1)
    bias = _bias(node, tensors, outputs)
    return Case(
        name,
        attributes,
        Operand((batch, channels, *data), _dtype("X", x_type)),
        Operand(kernel, _dtype("W", w_type or x_type)),
        None if bias is None else Operand(bias[1], _dtype("B", bias[0] or x_type)),
    )


def _tensor(name: str, tensors: Mapping[str, _Tensor]) -> tuple[int, Dimensions]:
    dtype, sizes = tensors.get(name, (0, None))
    if sizes is None:
        raise _Unknown(f"the model does not say the shape of {name!r}; declare it")
    return dtype, sizes


def _bias(node: onnx.NodeProto, tensors: Mapping[str, _Tensor], outputs: int) -> tuple[int, Ints] | None:
    """Return the type and the shape of the bias; None if there is none."""
    if len(node.input) < 3 or not node.input[2]:  # noqa: PLR2004 - X, W and B
        return None
    dtype, sizes = tensors.get(node.input[2], (0, None))
    return dtype, (outputs,) if sizes is None else tuple(_size(size, outputs) for size in sizes)


def _size(size: int | str, valid: int) -> int:
    """Return a size, or a valid one for a symbol."""
    return valid if isinstance(size, str) else size


def _known(what: str, sizes: Dimensions, axes: range, symbols: Sequence[str]) -> Ints:
    wanted = [sizes[axis] for axis in axes]
    missing = [size for size in wanted if isinstance(size, str)]
    if missing:
        printed = ", ".join(str(size) or "?" for size in sizes)
        raise _Unknown(f"{what} must have sizes that are known (got [{printed}]); {_advice(missing, symbols)}")
    return tuple(size for size in wanted if isinstance(size, int))


def _advice(missing: Sequence[str], symbols: Sequence[str]) -> str:
    """Return what to do where sizes are not known.

    Args:
        missing: their symbols; shape inference makes up some, which --size cannot name.
        symbols: those of the model's inputs that have no size, and their axes that have not even a symbol.
    """
    own = set(missing) <= set(symbols)
    size_options = " ".join(f"--size {shlex.quote(symbol)}=N" for symbol in symbols if symbol in missing or not own)
    if not size_options:
        return "declare sizes in the model"
    return f"give {size_options}" if own else f"they may follow from the model's inputs: give {size_options}"


def _dtype(what: str, elem_type: int) -> DType:
    if elem_type not in _TYPES:
        word = onnx.TensorProto.DataType.Name(elem_type).lower()
        raise _Unknown(f"{what} must be of a floating point type (got {word})")
    return _TYPES[elem_type]


def attributes_of(node: onnx.NodeProto, dialect: Dialect) -> Attributes:
    """Return a node's attributes in the canonical vocabulary; auto_pad NOTSET is as good as not written."""
    names = {word: name for name, word in dialect.spelling.attributes.items()}
    modes = {word: mode for mode, word in dialect.spelling.auto_pad.items()}
    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name not in names:
            continue
        wanted, got = _ATTRIBUTE_TYPES.get(attribute.name, onnx.AttributeProto.INTS), attribute.type
        if got != wanted:
            must, is_of = map(onnx.AttributeProto.AttributeType.Name, (wanted, got))
            raise _Unknown(f"{attribute.name} must be of type {must} (got {is_of}); correct the model")
        value = onnx.helper.get_attribute_value(attribute)
        match attribute.name:
            case "pads":
                half = len(value) // 2
                attributes |= {"pads_begin": tuple(value[:half]), "pads_end": tuple(value[half:])}
            case "auto_pad":
                mode = modes.get(value.decode(errors="replace"), value.decode(errors="replace"))
                attributes |= {} if mode == "explicit" else {"auto_pad": mode}
            case word:
                attributes[names[word]] = tuple(value) if isinstance(value, list) else value
    return Attributes(**attributes)

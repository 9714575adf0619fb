"""The ConvTranspose calls of an ONNX graph, as cases."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import onnx

from tconv.backends.onnx_graph import ELEMENT_TYPES
from tconv.cases.case import Case, Facts, Operand
from tconv.corpus.facts import work_out_facts
from tconv.corpus.writing import settings
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.vocabulary import Ints

OPERATOR: Final = "ConvTranspose"
OWN_DOMAINS: Final = frozenset({"", "ai.onnx"})
_TYPES: Final[dict[int, DType]] = {ELEMENT_TYPES[dtype]: dtype for dtype in DType}
_ATTRIBUTE_TYPES: Final = {"auto_pad": onnx.AttributeProto.STRING, "group": onnx.AttributeProto.INT}
"""The types of the attributes that are not lists of integers."""
_CHANNELS, _FIRST_AXIS = 1, 2
Dimensions = tuple[int | str, ...]
"""Sizes; an unknown one is its symbol, or an empty text."""


class _Unknown(ValueError):  # noqa: N818 - an unknown size is no error of the model
    """The model does not give something that a call depends on."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A node of a model.

    Attributes:
        name: the node's name, or its output's name if it has none.
        dialect: the operator's version in the model's operator set.
        case: the call; None if the model does not give enough.
        unknown: what the model does not give.
        node: the node; None if the call is not from a model.
        scope: the graphs that the node can use, the main graph first.
    """

    name: str
    dialect: Dialect
    case: Case | None
    unknown: str = ""
    node: onnx.NodeProto | None = None
    scope: tuple[onnx.GraphProto, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownSizes:
    """Which sizes are open, and the size to assume for data of unknown size."""

    open: Sequence[str]
    assumed: int | None


def find_calls(
    graph: onnx.GraphProto,
    outer: Mapping[str, _Tensor],
    scope: tuple[onnx.GraphProto, ...],
    dialect: Dialect,
    known: KnownSizes,
) -> Iterator[ModelCall]:
    """Yield the calls of a graph and of its subgraphs, in their order.

    Args:
        graph: the graph, with inferred shapes.
        outer: types and sizes of the values outside of it, by name.
        scope: the graphs around it, the main graph first.
        dialect: the operator's version.
        known: the open and the assumed sizes.
    """
    tensors, scope = {**outer, **_tensors(graph)}, (*scope, graph)
    for node in graph.node:
        if node.op_type == OPERATOR and node.domain in OWN_DOMAINS:
            name = node.name or node.output[0]
            try:
                case = _case(name, node, tensors, dialect, known)
                yield ModelCall(name, dialect, with_facts(case), node=node, scope=scope)
            except _Unknown as error:
                yield ModelCall(name, dialect, None, str(error), node, scope)
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                yield from find_calls(inner, tensors, scope, dialect, known)


def with_facts(case: Case) -> Case:
    """Return a case with the facts that decide which waivers and pins cover it."""
    if len(case.x.shape) <= _FIRST_AXIS or len(case.w.shape) <= _FIRST_AXIS:
        return case
    facts = partial(work_out_facts, "model", (settings(case),), case.attributes, case.x, case.w)
    return replace(case, facts=Facts(facts))


_Tensor = tuple[int, Dimensions | None]
"""The element type of a value, and its sizes if they are declared."""


def _tensors(graph: onnx.GraphProto) -> dict[str, _Tensor]:
    """Return types and sizes of the values of a graph, by name."""
    tensors: dict[str, _Tensor] = {}
    for value in (*graph.value_info, *graph.output, *graph.input):
        tensor = value.type.tensor_type
        # Some models write a negative size if it is unknown.
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


def _case(name: str, node: onnx.NodeProto, tensors: Mapping[str, _Tensor], dialect: Dialect, known: KnownSizes) -> Case:
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
    # If the model gives no size or type, a valid one is assumed; the dialect's constraints judge the others.
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
    """Return a size; the valid one if the size is a symbol."""
    return valid if isinstance(size, str) else size


def _known(what: str, sizes: Dimensions, axes: range, symbols: Sequence[str]) -> Ints:
    wanted = [sizes[axis] for axis in axes]
    missing = [size for size in wanted if isinstance(size, str)]
    if missing:
        printed = ", ".join(str(size) or "?" for size in sizes)
        raise _Unknown(f"{what} must have sizes that are known (got [{printed}]); {_advice(missing, symbols)}")
    return tuple(size for size in wanted if isinstance(size, int))


def _advice(missing: Sequence[str], symbols: Sequence[str]) -> str:
    """Return what to do if sizes are not known.

    Args:
        missing: their symbols; shape inference invents some, which --size cannot name.
        symbols: the symbols of the model's inputs that have no size, and the axes without a symbol.
    """
    own = set(missing) <= set(symbols)
    size_options = " ".join(f"--size {shlex.quote(symbol)}=N" for symbol in symbols if symbol in missing or not own)
    if not size_options:
        return "declare sizes in the model"
    return f"give {size_options}" if own else f"they may follow from the model's inputs: give {size_options}"


def _dtype(what: str, elem_type: int) -> DType:
    if elem_type not in _TYPES:
        names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
        word = names.get(elem_type, elem_type)
        raise _Unknown(f"{what} must be of a floating point type (got {word})")
    return _TYPES[elem_type]


def attributes_of(node: onnx.NodeProto, dialect: Dialect) -> Attributes:
    """Return a node's attributes in the canonical vocabulary; auto_pad NOTSET counts as not written."""
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

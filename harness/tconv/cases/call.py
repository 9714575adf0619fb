"""A case expressed in a dialect: the dialect's words, only the attributes that are written, inputs in its layouts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tconv.cases.layouts import data_shape, filter_shape, from_iox, from_ncx
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.case import Case, Shapes, Speller
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array, Attributes, Ints, Signature

Value = str | int | tuple[int, ...]
_Format = TypeVar("_Format", DataFormat, FilterFormat)


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a call.

    Attributes:
        role: x, w, b or output_shape.
        name: the dialect's name for it.
        shape: its shape in the call's layout.
        dtype: its element type; None for output_shape, which is integers.
        constant: whether it is part of the model rather than fed.
        values: the integers of output_shape, fed or not.
    """

    role: str
    name: str
    shape: Ints
    dtype: DType | None
    constant: bool = False
    values: Ints = ()


@dataclass(frozen=True, slots=True)
class Call:
    """What a backend is asked to run.

    Attributes:
        dialect: the dialect.
        attributes: in the dialect's spelling.
        inputs: in the dialect's order; arrays come in `data_format` and `filter_format`.
        data_format: the layout of data and output, also where the operator has no such attribute.
        filter_format: the layout of the filter, likewise.
        groups: for backends that need the number apart from attributes.
        shapes: what is to be declared of the inputs' shapes: the sizes, a symbol for each, or nothing (unranked).
        written: the signature, in the canonical vocabulary, for backends that have no text of their own.
        unnamed_bias: whether the bias, which the call does not have, is written as an input with the name ''.
    """

    dialect: Dialect
    attributes: Mapping[str, Value]
    inputs: tuple[Input, ...]
    data_format: DataFormat
    filter_format: FilterFormat
    groups: int
    shapes: Shapes
    written: Signature
    unnamed_bias: bool = False

    @property
    def dtype(self) -> DType:
        """The element type of the data, and so of the output."""
        return self.inputs[0].dtype or DType.F32

    @property
    def rank(self) -> int:
        """The number of spatial axes of the data."""
        return len(self.inputs[0].shape) - 2

    def feeds(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays, given by role, of the inputs that are not constants: by name, in the inputs' order."""
        fed = {tensor.name for tensor in self.inputs if not tensor.constant}
        return {name: array for name, array in self.operands(arrays).items() if name in fed}

    def operands(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays of all inputs by name, given by role but for output_shape, which the call itself has."""
        return {
            tensor.name: arrays[tensor.role] if tensor.role in arrays else np.array(tensor.values, dtype=np.int64)
            for tensor in self.inputs
        }


def signature(case: Case, dialect: Dialect) -> Signature:
    """Return what the case writes in the dialect: what it mentions, and neutral values where the dialect wants one."""
    mentioned = case.signature
    if not dialect.spelling.written:
        return mentioned
    wanted: dict[str, Any] = {
        name: mentioned.per_axis(name) for name in dialect.spelling.written if name not in case.omit
    }
    return replace(mentioned, attributes=replace(case.attributes, **wanted))


def express(case: Case, dialect: Dialect, written: Signature | None = None) -> Call:
    """Return the case in the dialect's words. Whether it can be expressed is for `expectation` to judge.

    Args:
        case: the case.
        dialect: the dialect.
        written: its `signature` where it is at hand.
    """
    written = written or signature(case, dialect)
    attributes = written.attributes
    data_format, filter_format = layouts(attributes, dialect)
    return Call(
        dialect,
        _written(attributes, dialect, case.spelling),
        _inputs(case, dialect, data_format, filter_format),
        data_format,
        filter_format,
        1 if attributes.groups is None else attributes.groups,
        case.shapes,
        written,
        case.bias_source == "unnamed",
    )


@cache
def _layout(word: str | None, default: _Format) -> _Format:
    return type(default)(word) if word in set(type(default)) else default


def layouts(attributes: Attributes, dialect: Dialect) -> tuple[DataFormat, FilterFormat]:
    """Return the layouts of data and filter: those that are written, if they are of the vocabulary, or the defaults."""
    return _layout(attributes.data_format, dialect.data_format), _layout(
        attributes.filter_format, dialect.filter_format
    )


def _written(attributes: Attributes, dialect: Dialect, whose: Speller) -> dict[str, Value]:
    """Return the attributes in the dialect's spelling."""
    spelling = dialect.spelling
    meanings = {
        "auto_pad": spelling.auto_pad,
        "data_format": spelling.data_formats,
        "filter_format": spelling.filter_formats,
    }
    words: dict[str, Value] = {}
    for name, value in attributes.given().items():
        word = spelling.attributes.get(name)
        if word is None:
            continue
        if word == "pads":
            words[word] = _pads(attributes)
        else:
            words[word] = meanings[name].get(str(value), value) if name in meanings else value
    if whose == "page":
        return {name: spelling.printed.get(str(word), word) for name, word in words.items()}
    return words


def _pads(attributes: Attributes) -> Ints:
    """Return ONNX's single list; a side that is not written has a 0 for each entry of the other."""
    rank = len(attributes.pads_begin or attributes.pads_end or ())
    return attributes.per_axis("pads_begin", rank) + attributes.per_axis("pads_end", rank)


def _inputs(case: Case, dialect: Dialect, data_format: DataFormat, filter_format: FilterFormat) -> tuple[Input, ...]:
    names, groups = dialect.spelling.inputs, case.attributes.groups or 1
    constant = {role: source == "initializer" for role, source in case.sources.items()}
    inputs = [
        Input("x", names["x"], data_shape(case.x.shape, data_format), case.x.dtype, constant["x"]),
        Input("w", names["w"], filter_shape(case.w.shape, filter_format, groups), case.w.dtype, constant["w"]),
    ]
    if case.b is not None and "b" in names:
        inputs.append(Input("b", names["b"], case.b.shape, case.b.dtype, constant["b"]))
    size = case.attributes.output_shape
    if size is not None and "output_shape" in names:
        inputs.append(Input("output_shape", names["output_shape"], (len(size),), None, constant["output_shape"], size))
    return tuple(inputs)


def in_layouts(operands: Mapping[str, Array], call: Call) -> dict[str, Array]:
    """Return the operands, in NCX and IOX, in the call's layouts."""
    arrays = dict(operands)
    arrays["x"] = from_ncx(operands["x"], call.data_format)
    arrays["w"] = from_iox(operands["w"], call.filter_format, call.groups)
    return arrays

"""A call, a case in a dialect: the dialect's words, only the written attributes, and inputs in its layouts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tconv.cases.layouts import data_shape, filter_shape, from_iox, from_ncx
from tconv.dialects.dialect import SAID_ELSEWHERE, NoWord
from tconv.dialects.geometry import size_without_output_shape
from tconv.errors import Invalid
from tconv.vocabulary import NEUTRAL, AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Case, Shapes
    from tconv.cases.graph import Graph
    from tconv.dialects import Dialect, Spelling
    from tconv.vocabulary import Array, Attributes, Ints, Quantised, Signature

Value = str | int | tuple[int, ...]
_Format = TypeVar("_Format", DataFormat, FilterFormat)


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a call.

    Attributes:
        role: x, w, b or output_shape; in a context, the tensor's name.
        name: the dialect's name of it.
        shape: its shape in the call's layout.
        dtype: its element type; None for output_shape, which is integers.
        constant: whether it is part of the model; if not, it is fed.
        values: the integers of output_shape, constant or fed.
    """

    role: str
    name: str
    shape: Ints
    dtype: DType | Quantised | None
    constant: bool = False
    values: Ints = ()


@dataclass(frozen=True, slots=True)
class Call:
    """The call that a backend runs.

    Attributes:
        dialect: the dialect.
        attributes: the attributes in the dialect's spelling.
        inputs: the inputs in the dialect's order; arrays have `data_format` and `filter_format`.
        data_format: the layout of data and output, even if the operator has no such attribute.
        filter_format: the layout of the filter, even if the operator has no such attribute.
        groups: the number of groups, for backends that need it in addition to the attributes.
        shapes: the shapes that inputs declare: their sizes, a symbol for each size, or none (unranked).
        written: the signature in the canonical vocabulary, for backends without a text of their own.
        unnamed_bias: whether an input with the name '' replaces the bias; the call has no bias then.
        graph: the graph around the operator; its tensors are the inputs. None if the operator is alone.
        model: a serialised ONNX model that is run instead, and its first output compared; empty if there is none.
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
    graph: Graph | None = None
    model: bytes = b""

    @property
    def dtype(self) -> DType:
        """The element type of the data and of the output."""
        return self.written.x.dtype

    @property
    def rank(self) -> int:
        """The number of spatial axes of the data."""
        return self.written.rank

    def feeds(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays of the inputs that are not constants, by name, in the inputs' order; `arrays` has roles."""
        fed = {tensor.name for tensor in self.inputs if not tensor.constant}
        return {name: array for name, array in self.operands(arrays).items() if name in fed}

    def operands(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays of all inputs by name; `arrays` has them by role, but output_shape is in the call."""
        return {
            tensor.name: arrays[tensor.role] if tensor.role in arrays else np.array(tensor.values, dtype=np.int64)
            for tensor in self.inputs
        }


def write_signature(case: Case, dialect: Dialect) -> Signature:
    """Return the case's signature in the dialect, with neutral values for attributes that the dialect requires."""
    return complete_signature(case.signature, dialect, case.omit)


def complete_signature(mentioned: Signature, dialect: Dialect, omit: Sequence[str] = ()) -> Signature:
    """Return a signature with a neutral value for each attribute that the dialect requires and that has no value.

    Args:
        mentioned: the signature so far.
        dialect: the dialect.
        omit: attributes that are left out even if they are required.
    """
    given, wanted = mentioned.attributes, dialect.spelling.written
    missing = [name for name in wanted if name not in omit and getattr(given, name) is None]
    if not missing:
        return mentioned
    neutral: dict[str, Any] = {name: mentioned.per_axis(name) for name in missing if name in NEUTRAL}
    if "auto_pad" in missing:
        neutral["auto_pad"] = AutoPad.EXPLICIT.value
    if "output_shape" in missing:
        neutral["output_shape"] = size_without_output_shape(mentioned, dialect.rules)
    return replace(mentioned, attributes=replace(given, **neutral))


def express(case: Case, dialect: Dialect, written: Signature | None = None) -> Call:
    """Return the case in the dialect's words. It may be invalid: `expect` decides this.

    Args:
        case: the case.
        dialect: the dialect.
        written: its `write_signature`, if it is known.

    Raises:
        Invalid: the dialect has no word for something that the case writes.
    """
    written = written or write_signature(case, dialect)
    attributes = written.attributes
    data_format, filter_format = choose_layouts(attributes, dialect)
    return Call(
        dialect,
        _written(case, written, dialect),
        _inputs(case, written, dialect),
        data_format,
        filter_format,
        written.groups,
        case.shapes,
        written,
        case.bias_source == "unnamed",
    )


@cache
def _layout(word: str | None, default: _Format) -> _Format:
    return type(default)(word) if word in set(type(default)) else default


def choose_layouts(attributes: Attributes, dialect: Dialect) -> tuple[DataFormat, FilterFormat]:
    """Return the layouts of data and filter: the written ones if the vocabulary has them, and if not, the defaults."""
    return _layout(attributes.data_format, dialect.data_format), _layout(
        attributes.filter_format, dialect.filter_format
    )


def _written(case: Case, written: Signature, dialect: Dialect) -> dict[str, Value]:
    """Return the attributes in the dialect's spelling; a word is unknown to it only if the case breaks that rule."""
    spelling, attributes = dialect.spelling, written.attributes
    words: dict[str, Value] = {}
    for violation in dialect.without_word(written):
        if violation.constraint != case.breaks:
            raise Invalid(violation)
    for name, value in attributes.given().items():
        word, spelt = spelling.attributes[name], spelling.spelt(name, value)
        if isinstance(word, NoWord) or word == SAID_ELSEWHERE:
            continue
        if spelling.attributes["pads_begin"] == spelling.attributes["pads_end"] == word:
            spelt = _pads(attributes, spelling)
        if " " in word and not isinstance(value, int | str):
            words.update(zip(word.split(), value, strict=True))
        else:
            words[word] = value if isinstance(spelt, NoWord) else spelt
    if case.spelling == "page":
        return {name: spelling.printed.get(str(word), word) for name, word in words.items()}
    return words


def _pads(attributes: Attributes, spelling: Spelling) -> Ints:
    """Return the single attribute for both pads; a side that is not written has 0 for each entry of the other side."""
    rank = len(attributes.pads_begin or attributes.pads_end or ())
    begin, end = (attributes.per_axis(name, rank) for name in ("pads_begin", "pads_end"))
    if spelling.pads_by_axis:
        return tuple(pad for axis in zip_longest(begin, end) for pad in axis if pad is not None)
    return begin + end if spelling.one_pad is None else begin


def _inputs(case: Case, written: Signature, dialect: Dialect) -> tuple[Input, ...]:
    names, groups = dialect.spelling.inputs, written.attributes.groups or 1
    data_format, filter_format = choose_layouts(written.attributes, dialect)
    size = written.attributes.output_shape
    if size is not None and dialect.spelling.whole_shape:
        size = data_shape((*written.x.shape[:1], written.w.shape[1] * groups, *size), data_format)
    operands: dict[str, tuple[Ints, DType | None]] = {
        "x": (data_shape(case.x.shape, data_format), case.x.dtype),
        "w": (filter_shape(case.w.shape, filter_format, groups), case.w.dtype),
    }
    if case.b is not None and written.b is not None:
        operands["b"] = case.b.shape, case.b.dtype
    if size is not None:
        operands["output_shape"] = (len(size),), None
    return tuple(
        Input(role, name, shape, dtype, case.sources.get(role, case.output_shape_source) == "initializer", values)
        for role, (shape, dtype) in operands.items()
        if isinstance(name := names.get(role), str)
        for values in ((size or ()) if role == "output_shape" else (),)
    )


def arrange_operands(operands: Mapping[str, Array], call: Call) -> dict[str, Array]:
    """Return the operands in the call's layouts; `operands` has NCX and IOX."""
    arrays = dict(operands)
    arrays["x"] = from_ncx(operands["x"], call.data_format)
    arrays["w"] = from_iox(operands["w"], call.filter_format, call.groups)
    return arrays

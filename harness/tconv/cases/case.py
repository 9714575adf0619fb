"""A case: sizes, attributes and recipes of operands, the same for every dialect and in canonical layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import prod
from typing import Annotated, Literal

from pydantic import Field

from tconv.cases.context import NEUTRAL, Context, Quantisation
from tconv.vocabulary import Attributes, DType, Ints, Signature, TensorType, Tier

Filling = Literal[
    "integers",
    "sparse",
    "normal",
    "wide",
    "wide-full",
    "all-bits",
    "zeros",
    "ones",
    "impulse",
    "special",
    "nan",
    "infinity",
    "negative-zero",
    "subnormal",
]
"""The elements of an operand, as a word; `special` is nan, infinity and negative-zero among integers."""

Data = Literal[Filling, "values"]
"""The elements of an operand: a word, or the values in the case."""

KindOfGroup = Literal["dense", "grouped", "depthwise", "multiplier"]
"""The kind of a group: all channels (dense), several, or one; with one, one output (depthwise) or several."""

Shapes = Literal["static", "symbolic", "unranked"]
"""What a model declares for the shapes of its inputs: sizes, a symbol for each size, or not even the rank."""

Source = Literal["initializer", "input"]
"""The source of an operand: a constant of the model, or an input."""

BiasSource = Literal[Source, "unnamed"]
"""The source of the bias; `unnamed` is an input without a bias, whose name is ''."""

Speller = Literal["library", "page"]
"""The words that a call has, if a dialect's page prints other words than its library accepts."""

PRESENTATION = ("shapes", "data_source", "filter_source", "bias_source", "output_shape_source", "spelling")
"""The fields of a case for the presentation of a call. Its output depends on none of them."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A recipe for an array, in NCX for data and in IOX for a filter.

    Attributes:
        shape: its shape.
        dtype: its element type.
        data: the kind of its elements.
        seed: a number that selects other elements.
        values: the elements in row-major order, for data `values`.
    """

    shape: Ints
    dtype: DType
    data: Data = "integers"
    seed: int = 0
    values: tuple[float, ...] = ()

    @property
    def tensor_type(self) -> TensorType:
        """The shape and the element type."""
        return TensorType(self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class Cite:
    """A clause of a dialect's text."""

    dialect: str
    clause: str


@dataclass(frozen=True, slots=True)
class Expected:
    """An output in a case file: the dialects that expect it, its spatial sizes, and its elements in NCX order."""

    dialects: tuple[str, ...]
    spatial: Ints
    values: tuple[float, ...]


class Facts(Mapping[str, str]):
    """Facts that are computed only when the first one is read; for most cases none is."""

    def __init__(self, work_out: Callable[[], Mapping[str, str]]) -> None:
        self._work_out = work_out

    @cached_property
    def _facts(self) -> Mapping[str, str]:
        return self._work_out()

    def __getitem__(self, name: str) -> str:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)


@dataclass(frozen=True, slots=True)
class Case:
    """A transposed convolution that any dialect can be asked for.

    Attributes:
        id: a readable and stable name: `topic/file/name[axis=label,...]`.
        attributes: the attributes that the case writes.
        x, w, b: recipes of data, filter and bias.
        shapes: what the model declares for the shapes of its inputs.
        filter_source: the filter's source: a constant of the model, or an input.
        data_source, bias_source, output_shape_source: the source of each: a constant of the model, or an input. If
            bias_source is None, it is filter_source; `unnamed` is for a case without a bias.
        spelling: the words of the call: the library's, or those of the page.
        breaks: the one constraint that the case breaks on purpose.
        omit: attributes that are not written even if the dialect requires them.
        expected: literal outputs, which `tconv check` compares with the reference.
        tier: the smallest tier that has it, if it stands alone.
        context: the graph around the operator.
        quantisation: scales and zero points of the case for its context.
        facts: values of attributes, axes and sizes as text, for patterns; a worker needs none, so they are not sent.
    """

    id: str
    attributes: Attributes
    x: Operand
    w: Operand
    b: Operand | None = None
    shapes: Shapes = "static"
    filter_source: Source = "initializer"
    breaks: str | None = None
    omit: tuple[str, ...] = ()
    expected: tuple[Expected, ...] = ()
    tier: Tier = "gate"
    about: str = ""
    cites: tuple[Cite, ...] = ()
    facts: Annotated[Mapping[str, str], Field(exclude=True)] = field(default_factory=dict, hash=False, compare=False)
    data_source: Source = "input"
    bias_source: BiasSource | None = None
    output_shape_source: Source = "initializer"
    spelling: Speller = "library"
    context: Context = NEUTRAL
    quantisation: Quantisation | None = None

    def __hash__(self) -> int:
        # Equal cases have equal ids, and Python keeps the hash of a text.
        return hash(self.id)

    def __reduce__(self) -> tuple[type[Case], tuple[object, ...]]:
        # Without the facts, which would have to be computed; by position, because a case is sent for each run of it.
        return Case, tuple({} if name == "facts" else getattr(self, name) for name in _FIELDS)

    @property
    def signature(self) -> Signature:
        """The signature that the case writes; a dialect may require more attributes, see `call.write_signature`."""
        b = None if self.b is None or self.context.bias == "add" else self.b.tensor_type
        return Signature(self.attributes, self.x.tensor_type, self.w.tensor_type, b)

    @property
    def is_uneven(self) -> bool:
        """Whether a float rounds the numbers of its context's quanta: then a result is known only to one step."""
        return self.context.scales == "uneven" or self.quantisation is not None

    @property
    def kind_of_group(self) -> KindOfGroup:
        """The kind of its groups, by the number of groups that the case writes."""
        groups = self.attributes.groups or 1
        if groups == 1 or self.x.shape[1] != groups:
            return "dense" if groups == 1 else "grouped"
        return "depthwise" if self.w.shape[1] == 1 else "multiplier"

    @property
    def sources(self) -> dict[str, BiasSource]:
        """The sources of the operands, and of output_shape if it is given, by role."""
        sources: dict[str, BiasSource] = {"x": self.data_source, "w": self.filter_source}
        if self.b is not None or self.bias_source == "unnamed":
            sources["b"] = self.bias_source or self.filter_source
        if self.attributes.output_shape is not None:
            sources["output_shape"] = self.output_shape_source
        return sources

    @property
    def plain(self) -> bool:
        """Whether only the data is fed, sizes are declared, no input is unnamed, and the words are the library's.

        The operator must also be alone.
        """
        if self.context:
            return False
        fed = [role for role, source in self.sources.items() if source == "input"]
        return (self.shapes, fed, self.bias_source == "unnamed", self.spelling) == ("static", ["x"], False, "library")

    @property
    def simplicity(self) -> tuple[int, int, int]:
        """The sort key for examples, the simplest first: rank, elements, length of the id."""
        return len(self.x.shape), prod(self.x.shape) + prod(self.w.shape), len(self.id)

    @property
    def content(self) -> tuple[object, ...]:
        """A hashable key of the whole call: two cases with equal content ask for the same call."""
        # As text, because NaN is not equal to itself, and zeros of both signs are equal.
        operands = repr((self.x, self.w, self.b))
        presentation = self.shapes, *self.sources.items(), self.spelling
        return self.attributes, operands, presentation, self.breaks, self.omit, self.context, self.quantisation


_FIELDS = tuple(part.name for part in fields(Case))

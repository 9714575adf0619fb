"""A case: sizes, attributes and recipes of operands, the same for every dialect and in canonical layouts."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from math import prod
from typing import Annotated, Any, Literal

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
"""What an operand is filled with by a word; `special` is nan, infinity and negative-zero among integers."""

Data = Literal[Filling, "values"]
"""What an operand is filled with: by a word, or with values of its own."""

KindOfGroup = Literal["dense", "grouped", "depthwise", "multiplier"]
"""What a group has: all channels (dense); several of them; one, and one output (depthwise), or several outputs."""

Shapes = Literal["static", "symbolic", "unranked"]
"""What a model declares of its inputs: sizes, a symbol for each size, or not even how many there are."""

Source = Literal["initializer", "input"]
"""Whether an operand is a constant of the model, or fed at the run."""

BiasSource = Literal[Source, "unnamed"]
"""The same of the bias; `unnamed` is an input without a bias in it, whose name is ''."""

Speller = Literal["library", "page"]
"""Whose words are written where a dialect's page prints others than its library takes."""

PRESENTATION = ("shapes", "data_source", "filter_source", "bias_source", "output_shape_source", "spelling")
"""The fields of a case that say how a call is presented. What it computes depends on none of them."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A recipe for an array, data in NCX and filter in IOX.

    Attributes:
        shape: its shape.
        dtype: its element type.
        data: what it is filled with.
        seed: another seed gives other elements.
        values: the elements in row-major order, for data `values`.
    """

    shape: Ints
    dtype: DType
    data: Data = "integers"
    seed: int = 0
    values: tuple[float, ...] = ()

    def __reduce__(self) -> tuple[type[Operand], tuple[object, ...]]:
        # By position: a case that is sent has two or three, and values by position are read faster.
        return Operand, (self.shape, self.dtype, self.data, self.seed, self.values)

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
    """An output that is written in the case file: dialects that expect it, spatial sizes, elements in NCX order."""

    dialects: tuple[str, ...]
    spatial: Ints
    values: tuple[float, ...]


class Facts(Mapping[str, str]):
    """Facts that are worked out when the first one is asked for; for most cases that never happens."""

    __slots__ = ("_numbers", "_texts", "_work_out")

    def __init__(self, work_out: Callable[[], Mapping[str, str]]) -> None:
        self._work_out: Callable[[], Mapping[str, str]] | None = work_out

    def _worked_out(self) -> Mapping[str, int]:
        """Return the number of each fact's text by its name, which cases of the same names share."""
        if self._work_out is not None:
            facts, self._work_out = self._work_out(), None
            self._numbers, self._texts = _numbers(tuple(facts)), tuple(facts.values())
        return self._numbers

    def __bool__(self) -> bool:
        # Each case has facts: they need not be worked out to know that.
        return True

    def __getitem__(self, name: str) -> str:
        number = self._worked_out()[name]
        return self._texts[number]

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as of `Mapping`
        """Return a fact, or the default. The method of `Mapping` raises an error and catches it, which is slower."""
        number = self._worked_out().get(name)
        return default if number is None else self._texts[number]

    def items(self) -> ItemsView[str, str]:
        """Return names and texts; those of `Mapping` are looked up one by one."""
        return dict(zip(self._worked_out(), self._texts, strict=True)).items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._worked_out())

    def __len__(self) -> int:
        return len(self._worked_out())


@lru_cache(maxsize=1024)
def _numbers(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class Case:
    """A transposed convolution to ask of any dialect.

    Attributes:
        id: readable, stable: `topic/file/name[axis=label,...]`.
        attributes: what the case mentions.
        x, w, b: recipes of data, filter and bias.
        shapes: what the model declares of the shapes of its inputs.
        filter_source: whether the filter is a constant of the model or an input.
        data_source, bias_source, output_shape_source: whether each of these is a constant of the model or an input; a
            bias_source of None is the value of filter_source, and `unnamed` is for a case without a bias.
        spelling: whose words are written.
        breaks: the one constraint that the case breaks on purpose.
        omit: attributes that are not written even where the dialect wants them.
        expected: literal outputs, which `tconv check` compares with the reference.
        tier: the smallest tier that has it, if it stands alone.
        context: what surrounds the operator in a graph.
        quantisation: scales and zero points that it declares for its context.
        facts: attribute, axis and size values as text, for patterns; a worker needs none, so they are not sent.
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
        # Without the facts, which would have to be worked out; and by position, as a case is sent for each that is run.
        return Case, tuple({} if name == "facts" else getattr(self, name) for name in _FIELDS)

    @property
    def signature(self) -> Signature:
        """What the case itself writes; a dialect may want more attributes, see `call.write_signature`."""
        b = None if self.b is None or self.context.bias == "add" else self.b.tensor_type
        return Signature(self.attributes, self.x.tensor_type, self.w.tensor_type, b)

    @property
    def is_uneven(self) -> bool:
        """Whether quanta of its context stand for numbers that a float rounds: a result is known to one step."""
        return self.context.scales == "uneven" or self.quantisation is not None

    @property
    def kind_of_group(self) -> KindOfGroup:
        """What a group has, by the number of groups that the case writes."""
        groups = self.attributes.groups or 1
        if groups == 1 or self.x.shape[1] != groups:
            return "dense" if groups == 1 else "grouped"
        return "depthwise" if self.w.shape[1] == 1 else "multiplier"

    @property
    def sources(self) -> dict[str, BiasSource]:
        """Where the operands that there are come from, and output_shape where it is given, by role."""
        sources: dict[str, BiasSource] = {"x": self.data_source, "w": self.filter_source}
        if self.b is not None or self.bias_source == "unnamed":
            sources["b"] = self.bias_source or self.filter_source
        if self.attributes.output_shape is not None:
            sources["output_shape"] = self.output_shape_source
        return sources

    @property
    def plain(self) -> bool:
        """Whether the data alone is fed, sizes are declared, no input is unnamed, and the words are the library's.

        And nothing surrounds the operator.
        """
        if self.context:
            return False
        fed = [role for role, source in self.sources.items() if source == "input"]
        return (self.shapes, fed, self.bias_source == "unnamed", self.spelling) == ("static", ["x"], False, "library")

    @property
    def simplicity(self) -> tuple[int, int, int]:
        """The key by which examples are sorted, the simplest first: rank, elements, length of the id."""
        return len(self.x.shape), prod(self.x.shape) + prod(self.w.shape), len(self.id)

    @property
    def content(self) -> tuple[object, ...]:
        """All that is asked, hashable: two cases of equal content ask the same."""
        # Values may hold NaN, which is equal to nothing, and zeros of either sign, which are equal.
        operands = repr((self.x, self.w, self.b))
        presentation = self.shapes, *self.sources.items(), self.spelling
        return self.attributes, operands, presentation, self.breaks, self.omit, self.context, self.quantisation


_FIELDS = tuple(part.name for part in fields(Case))

"""A case: sizes, attributes and recipes of operands, the same for every dialect and in canonical layouts."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the file boundary reads these annotations
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from tconv.vocabulary import Attributes, DType, Ints, Signature, TensorType

Data = Literal[
    "integers",
    "normal",
    "wide",
    "wide-full",
    "ones",
    "impulse",
    "special",
    "nan",
    "infinity",
    "negative-zero",
    "subnormal",
    "values",
]
"""What an operand is filled with; `special` is nan, infinity and negative-zero among integers."""


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
    """An output that is written in the case file: dialects that owe it, spatial sizes, elements in NCX order."""

    dialects: tuple[str, ...]
    spatial: Ints
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A transposed convolution to ask of any dialect.

    Attributes:
        id: readable, stable: `topic/file/name[axis=label,...]`.
        attributes: what the case mentions.
        x, w, b: recipes of data, filter and bias.
        shapes: whether the model declares sizes or symbols.
        filter_source: whether the filter is a constant of the model or an input.
        breaks: the one constraint that the case breaks on purpose.
        omit: attributes that are not written even where the dialect wants them.
        expected: literal outputs, which `tconv check` compares with the reference.
        smoke: whether it is in the smoke tier whatever its coverage.
        facts: attribute, axis and size values as text, for patterns.
    """

    id: str
    attributes: Attributes
    x: Operand
    w: Operand
    b: Operand | None = None
    shapes: Literal["static", "symbolic"] = "static"
    filter_source: Literal["initializer", "input"] = "initializer"
    breaks: str | None = None
    omit: tuple[str, ...] = ()
    expected: tuple[Expected, ...] = ()
    smoke: bool = False
    about: str = ""
    cites: tuple[Cite, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)

    @property
    def topic(self) -> str:
        """The first segment of the id."""
        return self.id.split("/", 1)[0]

    @property
    def signature(self) -> Signature:
        """What the case itself writes; a dialect may want more attributes, see `call.signature`."""
        b = None if self.b is None else self.b.tensor_type
        return Signature(self.attributes, self.x.tensor_type, self.w.tensor_type, b)

    @property
    def simplicity(self) -> tuple[int, int, int]:
        """What examples are ordered by, the simplest first: rank, elements, length of the id."""
        return len(self.x.shape), prod(self.x.shape) + prod(self.w.shape), len(self.id)

    @property
    def content(self) -> tuple[object, ...]:
        """All that is asked, hashable: two cases of equal content ask the same."""
        # Values may hold NaN, which is equal to nothing, and zeros of either sign, which are equal.
        operands = repr((self.x, self.w, self.b))
        return self.attributes, operands, self.shapes, self.filter_source, self.breaks, self.omit

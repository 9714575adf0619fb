"""A misreading, and the kinds of changes that it may make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.dialects.readings import AnswerOtherwise
from tconv.vocabulary import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Terms
    from tconv.vocabulary import Attributes, DType, Ints, Signature

Operands = dict[str, Array]
"""x, w and perhaps b, in float64, NCX and IOX."""


@dataclass(frozen=True, slots=True)
class AttributesOtherwise:
    """Attributes are read as others."""

    change: Callable[[Attributes], Attributes]


@dataclass(frozen=True, slots=True)
class GeometryOtherwise:
    """The geometry differs from what the rules give."""

    change: Callable[[Geometry, Signature], Geometry]


@dataclass(frozen=True, slots=True)
class OperandsOtherwise:
    """Operands are replaced by others of the same shapes."""

    change: Callable[[Operands, Geometry, Signature], Operands]


@dataclass(frozen=True, slots=True)
class OutputOtherwise:
    """The output is replaced by another of the same shape: elements are moved, repeated or left out.

    Attributes:
        change: returns the other output.
        by_value: whether the value of an element decides what becomes of it, so that its bound stays as it is; else
            the bound of an element goes where the element goes.
    """

    change: Callable[[Array, Geometry, Signature], Array]
    by_value: bool = False


@dataclass(frozen=True, slots=True)
class SumsOtherwise:
    """The output is made otherwise of the sums of products and of the bias.

    Attributes:
        change: returns it of the sums, (N, O, Y...), of the bias, (O,), zeros where there is none, and of the geometry.
            It adds and subtracts nothing, so that it gives the bound of the output too, of the bounds of both.
        applies: whether that is another output, by the operands and the geometry.
    """

    change: Callable[[Array, Array, Geometry], Array]
    applies: Callable[[Operands, Geometry], bool]


@dataclass(frozen=True, slots=True)
class PrecisionOtherwise:
    """Numbers are stored with fewer bits than they must have, so that no order of the sum gives what is expected.

    Attributes:
        at_best: returns the exact values of a type with these bits, as if only the result were stored with them; None
            where what is lost depends on the terms of each sum, so that it cannot be played with the sums alone.
        accounts: whether an output may come from the terms of a sum that is stored so.
        joins: the same with less evidence, one element that shows the loss: enough where many other failures of the
            run are accounted for. None where there is no such test.
    """

    at_best: Callable[[Array, DType], Array] | None
    accounts: Callable[[Array, Terms, DType], bool]
    joins: Callable[[Array, Terms, DType], bool] | None = None


@dataclass(frozen=True, slots=True)
class OverlapOtherwise:
    """Products that reach the same point are not added.

    Attributes:
        apart: returns a geometry whose output has each product at a point of its own; None where there is none.
        finish: returns the output of a geometry, whose products it picks from the output of the other.
    """

    apart: Callable[[Geometry], Geometry | None]
    finish: Callable[[Array, Geometry], Array]


@dataclass(frozen=True, slots=True)
class ConvolutionOtherwise:
    """A convolution of the data is computed, and not its transpose.

    Attributes:
        geometry: returns a geometry of a transposed convolution, and the steps at which the convolution's output lies
            in the output of that; None where the convolution has no output.
        operands: returns the operands of that transposed convolution.
    """

    geometry: Callable[[Geometry, Signature], tuple[Geometry, Ints] | None]
    operands: Callable[[Operands], Operands]


Change = (
    AnswerOtherwise
    | AttributesOtherwise
    | ConvolutionOtherwise
    | GeometryOtherwise
    | OperandsOtherwise
    | OutputOtherwise
    | OverlapOtherwise
    | PrecisionOtherwise
    | SumsOtherwise
)


@dataclass(frozen=True, slots=True)
class Misreading:
    """A named change that the text does not allow.

    Attributes:
        name: stable, readable; it stands in records.
        says: the misreading in one sentence, as something that the runtime does.
        seen: where it was seen in the wild; empty where that is not known.
        change: what it changes.
    """

    name: str
    says: str
    change: Change
    seen: str = ""

    @property
    def playable(self) -> bool:
        """Whether there is a runtime to be made of it from the reference's values."""
        return not isinstance(self.change, PrecisionOtherwise) or self.change.at_best is not None


def in_filter(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    """Return the change of the filter, (C, O/G, K...), alone; `change` returns None for no change."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        w = change(operands["w"], geometry)
        return operands if w is None or w is operands["w"] else operands | {"w": w}

    return OperandsOtherwise(changed)


def in_data(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    """Return the change of the data, (N, C, X...), alone; `change` returns None for no change."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        x = change(operands["x"], geometry)
        return operands if x is None else operands | {"x": x}

    return OperandsOtherwise(changed)


def along_channels(bias: Array, rank: int) -> Array:
    """Return a bias, (O,), as it is added to an output with so many axes."""
    return bias.reshape(-1, *(1,) * (rank - 2))


def in_bias(change: Callable[[Array, Geometry], Array]) -> OperandsOtherwise:
    """Return the change of the bias, (O,), alone, where there is one."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        return operands if "b" not in operands else operands | {"b": change(operands["b"], geometry)}

    return OperandsOtherwise(changed)

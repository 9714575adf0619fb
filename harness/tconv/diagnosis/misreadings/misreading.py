"""A misreading, a named change of one of the things that decide an output, and the misread call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.dialects.geometry import resolve
from tconv.dialects.readings import AnswerOtherwise
from tconv.errors import Violation
from tconv.expectation.truth import Truth
from tconv.vocabulary import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.bound import Terms
    from tconv.expectation.surrounded import Surrounded
    from tconv.vocabulary import Attributes, DType, Ints, Signature

Operands = dict[str, Array]
"""x, w and perhaps b, in float64, NCX and IOX."""
ArrayChange = Callable[[Array, "Geometry"], Array]
"""Returns another array of the same shape, or the array itself if nothing changes."""


@dataclass(frozen=True, slots=True)
class AttributesOtherwise:
    """Attributes are read as other attributes."""

    change: Callable[[Attributes], Attributes]


@dataclass(frozen=True, slots=True)
class GeometryOtherwise:
    """The geometry differs from the result of the rules."""

    change: Callable[[Geometry, Signature], Geometry]


@dataclass(frozen=True, slots=True)
class OperandsOtherwise:
    """Operands are replaced by others of the same shapes."""

    change: Callable[[Operands, Geometry, Signature], Operands]


@dataclass(frozen=True, slots=True)
class ResultOtherwise:
    """The output is computed differently from the operands and the geometry; the change returns None if it is equal."""

    change: Callable[[MisreadCall, Signature], MisreadCall | None]


@dataclass(frozen=True, slots=True)
class PrecisionOtherwise:
    """Numbers are stored with fewer bits than necessary, so that no order of the sum gives the expected output.

    Attributes:
        at_best: rounds exact values to these bits, as if only the result were stored with them. None if the loss
            depends on the terms of each sum, so that the sums alone do not show it.
        accounts: returns whether an output may come from a sum that is stored with these bits, by its terms.
        joins: the same with less evidence: one element that shows the loss is enough if many other failures of the run
            show it. None if there is no such test.
    """

    at_best: Callable[[Array, DType], Array] | None
    accounts: Callable[[Array, Terms, DType], bool]
    joins: Callable[[Array, Terms, DType], bool] | None = None


@dataclass(frozen=True)
class MisreadGraph:
    """A misread call in its context.

    Attributes:
        surrounded: the call in its context, perhaps with other constants.
        geometry: the operator's geometry by the text.
        operate: replaces the operator; None for the operator of the text.
        quantize: replaces the last Quantize; None for that of the text.
    """

    surrounded: Surrounded
    geometry: Geometry
    operate: Callable[[Sequence[Array]], Array] | None = None
    quantize: Callable[[Sequence[Array], int], Array] | None = None

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The input tensors and the constants, by name."""
        return self.surrounded.arrays

    def compute(self, nudge: int = 0) -> Array:
        """Return the output of the graph."""
        return self.surrounded.compute(self.geometry, nudge, self.operate, self.quantize)


@dataclass(frozen=True, slots=True)
class QuantaOtherwise:
    """Quanta have other values, or are made differently; the change returns None if it changes nothing."""

    change: Callable[[MisreadGraph], MisreadGraph | None]


Change = (
    AnswerOtherwise
    | AttributesOtherwise
    | GeometryOtherwise
    | OperandsOtherwise
    | PrecisionOtherwise
    | QuantaOtherwise
    | ResultOtherwise
)


@dataclass(frozen=True, slots=True)
class MisreadCall:
    """A misread call.

    Attributes:
        geometry: the geometry that the runtime computes.
        operands: the operands that it uses.
        output: the spatial sizes of the output, after `finish`.
        finish: the change of the output; None for no change.
        finish_bound: the change of the bound of the elements; None if it is `finish`.
        precision: the loss of bits beyond the bound; None if there is none.
        whole: for a check of a part of the output, the whole geometry, and the function that misreads its part. None if
            `finish` needs the whole output.
    """

    geometry: Geometry
    operands: Operands
    output: Ints
    finish: Callable[[Array], Array] | None = None
    finish_bound: Callable[[Array], Array] | None = None
    precision: PrecisionOtherwise | None = None
    whole: tuple[Geometry, Callable[[MisreadCall], MisreadCall | None]] | None = None

    def values(self, dtype: DType) -> Array:
        """Return the output in float64; if bits are lost, as if only the results lost them."""
        y = Truth(self.operands, dtype).compute_values(self.geometry)
        with np.errstate(invalid="ignore", over="ignore"):
            y = self.finish(y) if self.finish else y
            return self.precision.at_best(y, dtype) if self.precision and self.precision.at_best else y


@dataclass(frozen=True, slots=True)
class Misreading:
    """A named change that the text does not allow.

    Attributes:
        name: a stable, readable name; records contain it.
        says: the misreading in one sentence, as something that the runtime does.
        change: the change.
    """

    name: str
    says: str
    change: Change

    @property
    def playable(self) -> bool:
        """Whether the reference's values can simulate a runtime with this misreading."""
        return not isinstance(self.change, PrecisionOtherwise) or self.change.at_best is not None


def in_operand(role: str, change: ArrayChange) -> OperandsOtherwise:
    """Return the change of one operand, if the call has it: x, (N, C, X...), w, (C, O/G, K...) or b, (O,)."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        return operands | {role: change(operands[role], geometry)} if role in operands else operands

    return OperandsOtherwise(changed)


def in_output(change: ArrayChange) -> ResultOtherwise:
    """Return the change of the output, (N, O, Y...): elements move, repeat or are left out, each with its bound."""
    return ResultOtherwise(lambda call, _: replace(call, finish=lambda y: change(y, call.geometry)))


def along_channels(bias: Array, rank: int) -> Array:
    """Return a bias, (O,), in the shape that is added to an output with `rank` axes."""
    return bias.reshape(-1, *(1,) * (rank - 2))


def apply(
    misreadings: Sequence[Misreading], signature: Signature, dialect: Dialect, operands: Operands
) -> MisreadCall | None:
    """Return a call changed by misreadings together; None if they change nothing, or if there is no output."""
    changes = [misreading.change for misreading in misreadings]
    expected = resolve(signature, dialect.rules)
    geometry = _misread(changes, signature, dialect, expected)
    if isinstance(expected, Violation) or isinstance(geometry, Violation) or min(geometry.output, default=0) < 0:
        return None
    used = operands
    for change in changes:
        if isinstance(change, OperandsOtherwise):
            used = change.change(used, geometry, signature)
    if used.keys() == operands.keys() and all(_equal(used[role], operands[role]) for role in used):
        used = operands
    precision = next((change for change in changes if isinstance(change, PrecisionOtherwise)), None)
    call = MisreadCall(geometry, used, geometry.output, precision=precision)
    # Only one change of the result is made.
    result = next((change for change in changes if isinstance(change, ResultOtherwise)), None)
    if result is not None:
        # A changed result does not show which bits the terms of a sum lose.
        return None if precision else result.change(call, signature)
    return None if geometry == expected and used is operands and precision is None else call


def _equal(array: Array, other: Array) -> bool:
    return array is other or np.array_equal(array, other)


def _misread(
    changes: Sequence[Change], signature: Signature, dialect: Dialect, geometry: Geometry | Violation
) -> Geometry | Violation:
    """Return the geometry of a misread call; `geometry` is that of the text."""
    rules, attributes = dialect.rules, signature.attributes
    for change in changes:
        if isinstance(change, AnswerOtherwise):
            answered: dict[str, Any] = {change.question: change.answer}
            rules = replace(rules, **answered)
        elif isinstance(change, AttributesOtherwise):
            attributes = change.change(attributes)
    if rules is not dialect.rules or attributes is not signature.attributes:
        geometry = resolve(replace(signature, attributes=attributes), rules)
    for change in changes:
        if isinstance(change, GeometryOtherwise) and not isinstance(geometry, Violation):
            geometry = change.change(geometry, signature)
    return geometry

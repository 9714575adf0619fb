"""A misreading: a named change of one of the things that an output is made of; and the call that it leads to."""

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
class ResultOtherwise:
    """The output is made otherwise of the operands and the geometry; the change returns None if it is the same."""

    change: Callable[[MisreadCall, Signature], MisreadCall | None]


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


@dataclass(frozen=True)
class MisreadGraph:
    """A call in its context as it is misread.

    Attributes:
        surrounded: the call in its context, perhaps with other constants.
        geometry: the operator's, as the text says.
        operate: what the operator makes of its inputs instead; None if it does as the text says.
        quantize: what the last Quantize makes of its inputs instead; None likewise.
    """

    surrounded: Surrounded
    geometry: Geometry
    operate: Callable[[Sequence[Array]], Array] | None = None
    quantize: Callable[[Sequence[Array], int], Array] | None = None

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The tensors that are fed, and the constants, by name."""
        return self.surrounded.arrays

    def compute(self, nudge: int = 0) -> Array:
        """Return the output of the graph."""
        return self.surrounded.compute(self.geometry, nudge, self.operate, self.quantize)


@dataclass(frozen=True, slots=True)
class QuantaOtherwise:
    """Quanta stand for other numbers, or are made otherwise; the change returns None if it changes nothing."""

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
    """A call as it is misread.

    Attributes:
        geometry: the geometry that is computed.
        operands: the operands that are used.
        output: the spatial sizes of the output, after `finish`.
        finish: the change of the output; None for no change.
        finish_bound: the same change of the bound of the elements; None for the change of the output.
        precision: how numbers lose bits, more than the bound allows; None where they do not.
        whole: the geometry of which a part is misread as all of it is, and how; None where a part alone does not say
            what becomes of it.
    """

    geometry: Geometry
    operands: Operands
    output: Ints
    finish: Callable[[Array], Array] | None = None
    finish_bound: Callable[[Array], Array] | None = None
    precision: PrecisionOtherwise | None = None
    whole: tuple[Geometry, Callable[[MisreadCall], MisreadCall | None]] | None = None

    def values(self, dtype: DType) -> Array:
        """Return the output in float64; of lost bits, what is stored if only the results lose them."""
        y = Truth(self.operands, dtype).compute_values(self.geometry)
        with np.errstate(invalid="ignore", over="ignore"):
            y = self.finish(y) if self.finish else y
            return self.precision.at_best(y, dtype) if self.precision and self.precision.at_best else y


@dataclass(frozen=True, slots=True)
class Misreading:
    """A named change that the text does not allow.

    Attributes:
        name: stable, readable; it stands in records.
        says: the misreading in one sentence, as something that the runtime does.
        change: what it changes.
    """

    name: str
    says: str
    change: Change

    @property
    def playable(self) -> bool:
        """Whether there is a runtime to be made of it from the reference's values."""
        return not isinstance(self.change, PrecisionOtherwise) or self.change.at_best is not None


def in_operand(role: str, change: ArrayChange) -> OperandsOtherwise:
    """Return the change of one operand alone, if there is one: of x, (N, C, X...), w, (C, O/G, K...) or b, (O,)."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        return operands | {role: change(operands[role], geometry)} if role in operands else operands

    return OperandsOtherwise(changed)


def in_output(change: ArrayChange) -> ResultOtherwise:
    """Return the change of the output, (N, O, Y...): elements are moved, repeated or left out, each with its bound."""
    return ResultOtherwise(lambda call, _: replace(call, finish=lambda y: change(y, call.geometry)))


def along_channels(bias: Array, rank: int) -> Array:
    """Return a bias, (O,), as it is added to an output with so many axes."""
    return bias.reshape(-1, *(1,) * (rank - 2))


def apply(
    misreadings: Sequence[Misreading], signature: Signature, dialect: Dialect, operands: Operands
) -> MisreadCall | None:
    """Return a call as misreadings together change it; None where they change nothing, or leave no output."""
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
    # Of several changes of the result one is made.
    result = next((change for change in changes if isinstance(change, ResultOtherwise)), None)
    if result is not None:
        # Which bits the terms of a sum lose is not seen in what was made of sums.
        return None if precision else result.change(call, signature)
    return None if geometry == expected and used is operands and precision is None else call


def _equal(array: Array, other: Array) -> bool:
    return array is other or np.array_equal(array, other)


def _misread(
    changes: Sequence[Change], signature: Signature, dialect: Dialect, geometry: Geometry | Violation
) -> Geometry | Violation:
    """Return the geometry of a call, which has another one by the text."""
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

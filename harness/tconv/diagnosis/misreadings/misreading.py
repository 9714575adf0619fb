"""A misreading, a named change of one of the things that decide an output, and the misread call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

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
class CallOtherwise:
    """The geometry differs from the result of the rules, operands are others, or the output is computed differently.

    Attributes:
        change: returns the changed call; the call itself, or None, if nothing changes.
        of_result: whether it changes what is computed from operands and geometry. It is then the last change.
    """

    change: Callable[[MisreadCall, Signature], MisreadCall | None]
    of_result: bool = False


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


@dataclass(frozen=True, slots=True)
class QuantaOtherwise:
    """Quanta have other values, or are made differently.

    Attributes:
        change: returns the arguments of `Surrounded.compute` that differ; None if nothing changes.
    """

    change: Callable[[Surrounded, Geometry], Mapping[str, Any] | None]


Change = AnswerOtherwise | AttributesOtherwise | CallOtherwise | PrecisionOtherwise | QuantaOtherwise


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
    """

    geometry: Geometry
    operands: Operands
    output: Ints
    finish: Callable[[Array], Array] | None = None
    finish_bound: Callable[[Array], Array] | None = None
    precision: PrecisionOtherwise | None = None

    def with_operands(self, changed: Operands) -> MisreadCall:
        """Return the call with some changed operands; the call itself if their numbers are the same."""
        same = all(np.array_equal(changed[role], self.operands[role]) for role in changed)
        return self if same else replace(self, operands=self.operands | changed)

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


def in_geometry(change: Callable[[Geometry, Signature], Geometry]) -> CallOtherwise:
    """Return the change of the geometry."""

    def changed(call: MisreadCall, signature: Signature) -> MisreadCall:
        geometry = change(call.geometry, signature)
        return replace(call, geometry=geometry, output=geometry.output)

    return CallOtherwise(changed)


def in_operand(role: str, change: ArrayChange) -> CallOtherwise:
    """Return the change of one operand, if the call has it: x, (N, C, X...), w, (C, O/G, K...) or b, (O,)."""

    def changed(call: MisreadCall, _: Signature) -> MisreadCall:
        return call.with_operands({role: change(call.operands[role], call.geometry)} if role in call.operands else {})

    return CallOtherwise(changed)


def in_output(change: ArrayChange) -> CallOtherwise:
    """Return the change of the output, (N, O, Y...): elements move, repeat or are left out, each with its bound."""
    return in_result(lambda call, _: replace(call, finish=lambda y: change(y, call.geometry)))


def in_result(change: Callable[[MisreadCall, Signature], MisreadCall | None]) -> CallOtherwise:
    """Return the change of what is computed from operands and geometry."""
    return CallOtherwise(change, of_result=True)


class Axis(NamedTuple):
    """A spatial axis.

    Attributes:
        x, k, s, d: the sizes of data and filter, stride and dilation.
        begin: the number of points before the output.
        size: the number of points of the output.
    """

    x: int
    k: int
    s: int
    d: int
    begin: int
    size: int

    @property
    def reach(self) -> int:
        """The distance between the first and last tap."""
        return (self.k - 1) * self.d


def axes_of(geometry: Geometry) -> list[Axis]:
    """Return the axes of a geometry."""
    of = geometry
    return list(map(Axis, of.spatial, of.kernel, of.strides, of.dilations, of.pads_begin, of.output))


def along_channels(bias: Array, rank: int) -> Array:
    """Return a bias, (O,), in the shape that is added to an output with `rank` axes."""
    return bias.reshape(-1, *(1,) * (rank - 2))


def apply(
    misreadings: Sequence[Misreading], signature: Signature, dialect: Dialect, operands: Operands
) -> MisreadCall | None:
    """Return a call changed by misreadings together; None if they change nothing, or if there is no output."""
    changes = [misreading.change for misreading in misreadings]
    precision = next((change for change in changes if isinstance(change, PrecisionOtherwise)), None)
    of_calls = sorted(
        (change for change in changes if isinstance(change, CallOtherwise)), key=lambda change: change.of_result
    )
    # A changed result does not show which bits the terms of a sum lose, and only one change of the result is made.
    if sum(change.of_result for change in of_calls) + (precision is not None) > 1:
        return None
    expected, geometry = resolve(signature, dialect.rules), _resolve(changes, signature, dialect)
    if isinstance(expected, Violation) or isinstance(geometry, Violation):
        return None
    call: MisreadCall | None = MisreadCall(geometry, operands, geometry.output, precision=precision)
    for change in of_calls:
        call = call and change.change(call, signature)
    if call is None or min(call.geometry.output, default=0) < 0:
        return None
    is_changed = call.geometry != expected or call.operands is not operands or call.finish or call.precision
    return call if is_changed else None


def _resolve(changes: Sequence[Change], signature: Signature, dialect: Dialect) -> Geometry | Violation:
    """Return the geometry by changed rules and attributes."""
    rules, attributes = dialect.rules, signature.attributes
    for change in changes:
        if isinstance(change, AnswerOtherwise):
            answered: dict[str, Any] = {change.question: change.answer}
            rules = replace(rules, **answered)
        elif isinstance(change, AttributesOtherwise):
            attributes = change.change(attributes)
    return resolve(replace(signature, attributes=attributes), rules)

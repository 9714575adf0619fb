"""Misreadings applied to a call: the geometry, operands and output that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.diagnosis.misreadings.misreading import (
    AttributesOtherwise,
    ConvolutionOtherwise,
    GeometryOtherwise,
    OperandsOtherwise,
    OutputOtherwise,
    OverlapOtherwise,
    PrecisionOtherwise,
    SumsOtherwise,
)
from tconv.dialects.geometry import resolve
from tconv.dialects.readings import AnswerOtherwise
from tconv.errors import Violation
from tconv.expectation.bound import UNIT_ROUNDOFF

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.diagnosis.misreadings.misreading import Change, Misreading, Operands
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Ints, Signature


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
        overlap: which products are not added, and the geometry in which they would be; None where all are added.
    """

    geometry: Geometry
    operands: Operands
    output: Ints
    finish: Callable[[Array], Array] | None = None
    finish_bound: Callable[[Array], Array] | None = None
    precision: PrecisionOtherwise | None = None
    overlap: tuple[OverlapOtherwise, Geometry] | None = None

    @property
    def has_parts(self) -> bool:
        """Whether the elements of a part of the output say of themselves alone whether they are so misread."""
        return self.precision is None and (self.finish is None or self.overlap is not None)

    def part(self, operands: Operands, geometry: Geometry) -> MisreadCall | None:
        """Return the call for a part of the output; None where it has too many products."""
        part = MisreadCall(geometry, operands, geometry.output)
        return part if self.overlap is None else _of_overlaps(self.overlap[0], part)


def apply(
    misreadings: Sequence[Misreading], signature: Signature, dialect: Dialect, operands: Operands
) -> MisreadCall | None:
    """Return a call as misreadings together change it; None where they change nothing, or leave no output."""
    changes = [misreading.change for misreading in misreadings]
    expected = resolve(signature, dialect.rules)
    geometry = _geometry(changes, signature, dialect)
    if isinstance(geometry, Violation) or isinstance(expected, Violation) or min(geometry.output, default=0) < 0:
        return None
    changed = operands
    for change in changes:
        if isinstance(change, OperandsOtherwise):
            changed = change.change(changed, geometry, signature)
    precision = next((change for change in changes if isinstance(change, PrecisionOtherwise)), None)
    match next((change for change in changes if isinstance(change, _FINISHING)), None):
        case OutputOtherwise(otherwise, by_value):
            finish_bound = (lambda allowed: allowed) if by_value else None
            return MisreadCall(
                geometry, changed, geometry.output, lambda y: otherwise(y, geometry, signature), finish_bound, precision
            )
        case SumsOtherwise() as change:
            return _of_sums(change, MisreadCall(geometry, changed, geometry.output, precision=precision), signature)
        case OverlapOtherwise() as change:
            return _of_overlaps(change, MisreadCall(geometry, changed, geometry.output, precision=precision))
        case ConvolutionOtherwise() as change:
            return _of_convolution(change, MisreadCall(geometry, changed, geometry.output), signature)
    if geometry == expected and changed is operands and precision is None:
        return None
    return MisreadCall(geometry, changed, geometry.output, precision=precision)


_FINISHING = ConvolutionOtherwise | OutputOtherwise | OverlapOtherwise | SumsOtherwise
"""Changes of the output, of which one is made."""


def _of_sums(change: SumsOtherwise, misread: MisreadCall, signature: Signature) -> MisreadCall | None:
    """Return a misread call whose output is made otherwise of the sums and the bias; None where it is the same."""
    operands, geometry = misread.operands, misread.geometry
    if not change.applies(operands, geometry):
        return None
    bias = operands.get("b", np.zeros(operands["w"].shape[1] * geometry.groups))
    rounding = 2 * UNIT_ROUNDOFF[signature.x.dtype] * np.abs(bias)
    return replace(
        misread,
        operands={role: array for role, array in operands.items() if role != "b"},
        finish=partial(_changed_sums, change, bias, geometry),
        finish_bound=lambda allowed: change.change(allowed, rounding, geometry),
    )


def _of_convolution(change: ConvolutionOtherwise, misread: MisreadCall, signature: Signature) -> MisreadCall | None:
    """Return a misread call of which a convolution is computed; None where that has no output."""
    forward = change.geometry(misread.geometry, signature)
    if forward is None:
        return None
    geometry, steps = forward
    every = (..., *(slice(None, None, step) for step in steps))
    output = tuple(-(-size // step) for size, step in zip(geometry.output, steps, strict=True))
    # With stride 1, or of a single point, nothing is picked.
    finish = None if output == geometry.output else (lambda y: y[every])
    return replace(misread, geometry=geometry, operands=change.operands(misread.operands), output=output, finish=finish)


def _of_overlaps(change: OverlapOtherwise, misread: MisreadCall) -> MisreadCall | None:
    """Return a misread call whose products are computed apart and not added; None where they are too many."""
    geometry = misread.geometry
    apart = change.apart(geometry)
    if apart is None:
        return None
    overlap = change, geometry
    return replace(misread, geometry=apart, finish=lambda y: change.finish(y, geometry), overlap=overlap)


def _geometry(changes: Sequence[Change], signature: Signature, dialect: Dialect) -> Geometry | Violation:
    rules, attributes = dialect.rules, signature.attributes
    for change in changes:
        if isinstance(change, AnswerOtherwise):
            answered: dict[str, Any] = {change.question: change.answer}
            rules = replace(rules, **answered)
        elif isinstance(change, AttributesOtherwise):
            attributes = change.change(attributes)
    geometry = resolve(replace(signature, attributes=attributes), rules)
    for change in changes:
        if isinstance(change, GeometryOtherwise) and not isinstance(geometry, Violation):
            geometry = change.change(geometry, signature)
    return geometry


def _changed_sums(change: SumsOtherwise, bias: Array, geometry: Geometry, sums: Array) -> Array:
    # Infinities of both signs may meet: that is NaN, and no mistake.
    with np.errstate(invalid="ignore"):
        return change.change(sums, bias, geometry)

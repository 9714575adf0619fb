"""Misreadings applied to a call: the geometry, operands and output that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tconv.diagnosis.misreadings.misreading import (
    AttributesOtherwise,
    GeometryOtherwise,
    OperandsOtherwise,
    OutputOtherwise,
    OverlapOtherwise,
    PrecisionOtherwise,
)
from tconv.dialects.geometry import resolve
from tconv.dialects.readings import AnswerOtherwise
from tconv.errors import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.diagnosis.misreadings.misreading import Change, Misreading, Operands
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Ints, Signature


@dataclass(frozen=True, slots=True)
class Misread:
    """A call as it is misread.

    Attributes:
        geometry: the geometry that is computed.
        operands: the operands that are used.
        output: the spatial sizes of the output, after `finish`.
        finish: the change of the output; None for no change.
        by_value: whether that change leaves the bound of the elements as it is; else it changes the bound alike.
        precision: how numbers lose bits, more than the bound allows; None where they do not.
    """

    geometry: Geometry
    operands: Operands
    output: Ints
    finish: Callable[[Array], Array] | None = None
    by_value: bool = False
    precision: PrecisionOtherwise | None = None


def apply(
    misreadings: Sequence[Misreading], signature: Signature, dialect: Dialect, operands: Operands
) -> Misread | None:
    """Return a call as misreadings together change it; None where they change nothing, or leave no output."""
    changes = [misreading.change for misreading in misreadings]
    owed = resolve(signature, dialect.rules)
    geometry = _geometry(changes, signature, dialect)
    if isinstance(geometry, Violation) or isinstance(owed, Violation) or min(geometry.output, default=0) < 0:
        return None
    changed = operands
    for change in changes:
        if isinstance(change, OperandsOtherwise):
            changed = change.change(changed, geometry, signature)
    precision = next((change for change in changes if isinstance(change, PrecisionOtherwise)), None)
    match next((change for change in changes if isinstance(change, OutputOtherwise | OverlapOtherwise)), None):
        case OutputOtherwise(otherwise, by_value):
            return Misread(
                geometry, changed, geometry.output, lambda y: otherwise(y, geometry, signature), by_value, precision
            )
        case OverlapOtherwise(without_overlaps, pick):
            apart = without_overlaps(geometry)
            if apart is None:
                return None
            return Misread(apart, changed, geometry.output, lambda y: pick(y, geometry), precision=precision)
    if geometry == owed and changed is operands and precision is None:
        return None
    return Misread(geometry, changed, geometry.output, precision=precision)


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

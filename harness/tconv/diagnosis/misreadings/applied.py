"""What misreadings make of a call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tconv.diagnosis.misreadings.misreading import (
    AttributesOtherwise,
    GeometryOtherwise,
    OperandsOtherwise,
    OutputOtherwise,
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
    from tconv.vocabulary import Array, Signature


@dataclass(frozen=True, slots=True)
class Imagined:
    """What a misreading makes of a call.

    Attributes:
        geometry: the geometry that would be computed.
        operands: the operands that would be used.
        finish: what would be made of the output, and of what is allowed there; None for nothing.
        precision: how its numbers would lose bits, where the bound allows no such thing.
    """

    geometry: Geometry
    operands: Operands
    finish: Callable[[Array], Array] | None = None
    precision: PrecisionOtherwise | None = None


def imagined(
    misreadings: Sequence[Misreading], signature: Signature, dialect: Dialect, operands: Operands
) -> Imagined | None:
    """Return what misreadings, together, make of a call; None where they change nothing, or leave no output."""
    changes = [misreading.change for misreading in misreadings]
    plain = resolve(signature, dialect.rules)
    geometry = _geometry(changes, signature, dialect)
    if isinstance(geometry, Violation) or isinstance(plain, Violation) or min(geometry.output, default=0) < 0:
        return None
    changed = operands
    for change in changes:
        if isinstance(change, OperandsOtherwise):
            changed = change.change(changed, geometry, signature)
    finish = next((change.change for change in changes if isinstance(change, OutputOtherwise)), None)
    precision = next((change for change in changes if isinstance(change, PrecisionOtherwise)), None)
    if geometry == plain and changed is operands and finish is None and precision is None:
        return None
    finished = None if finish is None else lambda y: finish(y, geometry, signature)
    return Imagined(geometry, changed, finished, precision)


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

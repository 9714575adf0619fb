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
from tconv.dialects.geometry import NoGeometry, resolve
from tconv.dialects.readings import AnswerOtherwise

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
        operands: the operands that would be taken.
        finish: what would be made of the output, and of what is allowed there; None for nothing.
        kept: how its numbers would be kept, where the bound allows no such thing.
    """

    geometry: Geometry
    operands: Operands
    finish: Callable[[Array], Array] | None = None
    kept: PrecisionOtherwise | None = None


def imagined(misread: Sequence[Misreading], signature: Signature, row: Dialect, operands: Operands) -> Imagined | None:
    """Return what misreadings, together, make of a call; None where they change nothing, or leave no output."""
    changes = [one.change for one in misread]
    plain = resolve(signature, row.rules)
    geometry = _geometry(changes, signature, row)
    if isinstance(geometry, NoGeometry) or isinstance(plain, NoGeometry) or min(geometry.output, default=0) < 0:
        return None
    taken = operands
    for change in changes:
        if isinstance(change, OperandsOtherwise):
            taken = change.change(taken, geometry, signature)
    finish = next((change.change for change in changes if isinstance(change, OutputOtherwise)), None)
    kept = next((change for change in changes if isinstance(change, PrecisionOtherwise)), None)
    if geometry == plain and taken is operands and finish is None and kept is None:
        return None
    return Imagined(geometry, taken, None if finish is None else lambda y: finish(y, geometry, signature), kept)


def _geometry(changes: Sequence[Change], signature: Signature, row: Dialect) -> Geometry | NoGeometry:
    rules, attributes = row.rules, signature.attributes
    for change in changes:
        if isinstance(change, AnswerOtherwise):
            answered: dict[str, Any] = {change.question: change.answer}
            rules = replace(rules, **answered)
        elif isinstance(change, AttributesOtherwise):
            attributes = change.change(attributes)
    geometry = resolve(replace(signature, attributes=attributes), rules)
    for change in changes:
        if isinstance(change, GeometryOtherwise) and not isinstance(geometry, NoGeometry):
            geometry = change.change(geometry, signature)
    return geometry

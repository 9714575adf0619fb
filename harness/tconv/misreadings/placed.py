"""Another geometry than the rules give."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.misreadings.row import Misreading, PlacedOtherwise
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.geometry import Geometry
    from tconv.vocabulary import Ints, Signature


def _op(signature: Signature) -> Ints:
    return signature.per_axis("output_padding", 0)


def _op_at_the_beginning(geometry: Geometry, signature: Signature) -> Geometry:
    return replace(geometry, pads_begin=_minus(geometry.pads_begin, _op(signature)))


def _minus(one: Ints, two: Ints) -> Ints:
    return tuple(a - b for a, b in zip(one, two, strict=True))


def _pads_added(geometry: Geometry, signature: Signature) -> Geometry:
    begin, end = signature.per_axis("pads_begin", 0), signature.per_axis("pads_end", 0)
    if signature.auto_pad != AutoPad.EXPLICIT or signature.attributes.output_shape is not None:
        return geometry
    output = tuple(o + 2 * (p + q) for o, p, q in zip(geometry.output, begin, end, strict=True))
    return replace(geometry, pads_begin=tuple(-p for p in begin), output=output)


def _shifted(by: int) -> Callable[[Geometry, Signature], Geometry]:
    return lambda geometry, _: replace(geometry, pads_begin=tuple(p + by for p in geometry.pads_begin))


ROWS: tuple[Misreading, ...] = (
    Misreading("pads-added", "pads enlarge the output, as those of a convolution do", PlacedOtherwise(_pads_added)),
    Misreading(
        "output-padding-at-the-beginning",
        "output_padding is added at the beginning",
        PlacedOtherwise(_op_at_the_beginning),
    ),
    Misreading("one-too-early", "the output begins one element too early", PlacedOtherwise(_shifted(-1))),
    Misreading("one-too-late", "the output begins one element too late", PlacedOtherwise(_shifted(1))),
)

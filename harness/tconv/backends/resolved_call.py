"""The geometry of a call, resolved by its dialect's primary rules, for runtimes without an own dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends.outcome import Refused, Unsupported
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import reach
from tconv.expectation.expected import Values, expect_of_signature

if TYPE_CHECKING:
    from tconv.cases.call import Call
    from tconv.dialects.geometry import Geometry

ALL_DIALECT_NAMES = ("geometry/1", *(name for name in DIALECTS if name != "geometry/1"))
"""The dialects of such a backend: a geometry can be resolved from a call in any dialect."""


def geometry_of(call: Call, *readings: str) -> Geometry | Refused:
    """Return the geometry of a call, or the refusal that the dialect expects.

    Args:
        call: the call.
        readings: the disputed readings to follow; without one that the call depends on, the primary readings.
    """
    expected = expect_of_signature(call.written, call.dialect)
    if isinstance(expected, Values):
        return expected.geometry(readings) or expected.primary.geometry
    return Refused(str(expected.violation))


def geometry_for_arrays(call: Call) -> Geometry | Refused | Unsupported:
    """Return the geometry of a call for a runtime that takes arrays, or a refusal.

    It is `Unsupported` if the call declares symbolic sizes or no shape, as arrays cannot.
    """
    if call.shapes != "static":
        return Unsupported("operands are arrays, and no symbol or shape is declared of them")
    return geometry_of(call)


def own_padding(geometry: Geometry) -> tuple[int, ...] | None:
    """Return the output_padding with which torch gives the geometry by equal pads on both sides; None if none does."""
    axes = zip(geometry.spatial, geometry.kernel, geometry.strides, geometry.dilations, strict=True)
    full = [reach(*axis) for axis in axes]
    pads = geometry.pads_begin
    added = tuple(size - (most - 2 * pad) for size, most, pad in zip(geometry.output, full, pads, strict=True))
    larger = map(max, geometry.strides, geometry.dilations)
    is_possible = min(pads) >= 0 and all(0 <= op < top for op, top in zip(added, larger, strict=True))
    return added if is_possible else None

"""Misreadings of operands: taps, input channels or positions of the data are left out."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, in_data, in_filter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array

_SEVERAL = 2


def _tap_dropped(at: int) -> Callable[[Array, Geometry], Array | None]:
    def change(w: Array, geometry: Geometry) -> Array | None:
        if not prod(geometry.kernel):
            return None
        dropped = w.copy()
        dropped.reshape(*w.shape[:2], prod(geometry.kernel))[:, :, at] = 0
        return dropped

    return change


def _last_column_dropped(w: Array, geometry: Geometry) -> Array | None:
    if not geometry.kernel or not prod(geometry.kernel):
        return None
    dropped = w.copy()
    dropped[..., -1] = 0
    return dropped


def _last_inputs_dropped(w: Array, geometry: Geometry) -> Array | None:
    inputs = w.shape[0] // geometry.groups
    if inputs < _SEVERAL:
        return None
    dropped = w.copy().reshape(geometry.groups, inputs, *w.shape[1:])
    dropped[:, -1] = 0
    return dropped.reshape(w.shape)


def _leftover(width: int, weight: float) -> Callable[[Array, Geometry], Array | None]:
    """Return the change that gives the input channels of a group after its last full block one and the same weight."""

    def change(w: Array, geometry: Geometry) -> Array | None:
        inputs = w.shape[0] // geometry.groups
        if inputs < width or inputs % width == 0:
            return None
        changed = w.copy().reshape(geometry.groups, inputs, *w.shape[1:])
        changed[:, inputs - inputs % width :] = weight
        return changed.reshape(w.shape)

    return change


def _last_position_dropped(axis: int) -> Callable[[Array, Geometry], Array | None]:
    """Return the change that leaves out the last position of the data along a spatial axis."""

    def change(x: Array, geometry: Geometry) -> Array | None:
        # Of a line the first axis is the last one.
        if len(geometry.spatial) < (_SEVERAL if axis == 0 else 1) or not x.size:
            return None
        dropped = x.copy()
        np.moveaxis(dropped, axis if axis < 0 else axis + 2, 0)[-1] = 0
        return dropped

    return change


def _bounded_by_the_kernel(x: Array, geometry: Geometry) -> Array | None:
    if all(size <= taps for size, taps in zip(geometry.spatial, geometry.kernel, strict=True)):
        return None
    inside = (slice(None), slice(None), *map(slice, geometry.kernel))
    bounded = np.zeros_like(x)
    bounded[inside] = x[inside]
    return bounded


MISREADINGS: tuple[Misreading, ...] = (
    Misreading("first-tap-dropped", "the first tap is left out", in_filter(_tap_dropped(0))),
    Misreading("last-tap-dropped", "the last tap is left out", in_filter(_tap_dropped(-1))),
    Misreading(
        "last-column-dropped", "the last taps along the last axis are left out", in_filter(_last_column_dropped)
    ),
    Misreading(
        "last-input-channel-dropped", "the last input channel of a group is left out", in_filter(_last_inputs_dropped)
    ),
    *(
        Misreading(
            f"input-channels-beyond-{words}-dropped",
            f"input channels of a group beyond its last full block of {width} are left out",
            in_filter(_leftover(width, 0.0)),
        )
        for words, width in (("four", 4), ("eight", 8), ("sixteen", 16))
    ),
    Misreading(
        "input-channels-beyond-four-unweighted",
        "input channels of a group beyond its last full block of 4 are added as they are, without the filter",
        in_filter(_leftover(4, 1.0)),
        "microsoft/onnxruntime#27749",
    ),
    Misreading(
        "last-position-dropped",
        "the last position of the data along its last axis is left out",
        in_data(_last_position_dropped(-1)),
    ),
    Misreading(
        "last-position-of-the-first-axis-dropped",
        "the last position of the data along its first spatial axis is left out",
        in_data(_last_position_dropped(0)),
    ),
    Misreading(
        "data-bounded-by-the-kernel",
        "positions of the data from the kernel's size on are left out, on any axis",
        in_data(_bounded_by_the_kernel),
        "nntrainer/nntrainer#4347",
    ),
)

"""Misreadings that leave something out: taps, input channels, positions of the data, or elements of the output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, ResultOtherwise, in_operand, in_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import ArrayChange, MisreadCall
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature

    Parts = Callable[[Array, Geometry], Array]
    """Returns a view of an array whose first axis has the parts to choose from."""
    Which = Callable[[int], slice]
    """Returns the parts to leave out, by the number of parts."""


def _channels(y: Array, _: Geometry) -> Array:
    return np.moveaxis(y, 1, 0)


def _taps(w: Array, _: Geometry) -> Array:
    return np.moveaxis(w.reshape(*w.shape[:2], int(np.prod(w.shape[2:]))), -1, 0)


def _inputs(w: Array, geometry: Geometry) -> Array:
    """Return the filter, (C/G, G, O/G, K...), with the input channels of each group along the first axis."""
    return np.moveaxis(w.reshape(geometry.groups, w.shape[0] // geometry.groups, *w.shape[1:]), 1, 0)


def _last_axis(array: Array, geometry: Geometry) -> Array:
    return np.moveaxis(array, -1, 0) if geometry.output else array[:0]


def _first_axis(array: Array, geometry: Geometry) -> Array:
    # With one axis the first axis is also the last.
    return np.moveaxis(array, 2, 0) if len(geometry.output) > 1 else array[:0]


def _last(count: int) -> slice:
    return slice(count - 1, count)


def _after_blocks(width: int) -> Which:
    """Return the function that selects everything after the last full block, if there is a full one."""
    return lambda count: slice(count - count % width, count) if count >= width else slice(0)


def _cut(parts: Parts, which: Which, weight: float = 0.0) -> ArrayChange:
    """Return the change that gives some parts the same weight, usually 0."""

    def change(array: Array, geometry: Geometry) -> Array:
        cut = array.copy()
        along = parts(cut, geometry)
        along[which(len(along))] = weight
        return cut

    return change


def _bounded_by_the_kernel(x: Array, geometry: Geometry) -> Array:
    inside = (slice(None), slice(None), *map(slice, geometry.kernel))
    bounded = np.zeros_like(x)
    bounded[inside] = x[inside]
    return bounded


def _added_points_are_zero(call: MisreadCall, signature: Signature) -> MisreadCall:
    def finish(y: Array) -> Array:
        cut = y.copy()
        for axis, points in enumerate(signature.attributes.output_padding or (), start=2):
            np.moveaxis(cut, axis, 0)[max(y.shape[axis] - points, 0) :] = 0
        return cut

    return replace(call, finish=finish)


def _unreached_points_are_zero(y: Array, geometry: Geometry) -> Array:
    """Return the output with 0, without the bias, at points that no tap reaches on some axis."""
    cut = y.copy()
    axes = zip(*(getattr(geometry, name) for name in _OF_AN_AXIS), strict=True)
    for axis, (x, k, s, d, begin, size) in enumerate(axes, start=2):
        reached = (np.arange(x)[:, None] * s + np.arange(k) * d - begin).ravel()
        np.moveaxis(cut, axis, 0)[np.setdiff1d(np.arange(size), reached)] = 0
    return cut


_OF_AN_AXIS = ("spatial", "kernel", "strides", "dilations", "pads_begin", "output")
_BLOCKS = (("four", 4), ("eight", 8), ("sixteen", 16))
"""The numbers of channels or positions in a vector instruction."""

OF_OPERANDS = tuple(
    Misreading(name, says, in_operand(role, change))
    for name, says, role, change in (
        ("first-tap-dropped", "the first tap is left out", "w", _cut(_taps, lambda _: slice(1))),
        ("last-tap-dropped", "the last tap is left out", "w", _cut(_taps, _last)),
        ("last-column-dropped", "the last taps along the last axis are left out", "w", _cut(_last_axis, _last)),
        ("last-input-channel-dropped", "the last input channel of a group is left out", "w",
         _cut(_inputs, _last)),
        *(
            (f"input-channels-beyond-{words}-dropped",
             f"input channels of a group beyond its last full block of {width} are left out", "w",
             _cut(_inputs, _after_blocks(width)))
            for words, width in _BLOCKS
        ),
        # microsoft/onnxruntime#27749
        ("input-channels-beyond-four-unweighted",
         "input channels of a group beyond its last full block of 4 are added as they are, without the filter", "w",
         _cut(_inputs, _after_blocks(4), 1.0)),
        ("last-position-dropped", "the last position of the data along its last axis is left out", "x",
         _cut(_last_axis, _last)),
        ("last-position-of-the-first-axis-dropped",
         "the last position of the data along its first spatial axis is left out", "x", _cut(_first_axis, _last)),
        # nntrainer/nntrainer#4347
        ("data-bounded-by-the-kernel", "on each axis, positions of the data beyond the kernel's size are left out", "x",
         _bounded_by_the_kernel),
    )
)  # fmt: skip
OF_THE_OUTPUT = (
    # llvm/torch-mlir#2026, apache/tvm#5758, Tencent/ncnn#1122
    Misreading(
        "output-padding-is-zero",
        "the elements that output_padding adds are 0 in place of their sums",
        ResultOtherwise(_added_points_are_zero),
    ),
    *(
        Misreading(name, says, in_output(change))
        for name, says, change in (
            *(
                (f"{what}-beyond-{words}-are-zero", f"{where} beyond the last full block of {width} stay zero",
                 _cut(parts, _after_blocks(width)))
                for what, where, parts in (
                    ("channels", "channels", _channels),
                    ("positions", "positions of the last axis", _last_axis),
                )
                for words, width in _BLOCKS
            ),
            # microsoft/onnxruntime#28976; there, elements beyond 2048 are wrong, and not zero
            ("long-axis-ends-at-2048", "elements beyond 2048 of the last axis stay zero",
             _cut(_last_axis, lambda _: slice(2048, None))),
            # OpenVINO 2026.4 in bfloat16 on AMX
            ("unreached-points-are-zero", "points of the output that no tap reaches are 0, and not the bias",
             _unreached_points_are_zero),
        )
    ),
)  # fmt: skip

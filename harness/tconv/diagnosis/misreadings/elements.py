"""Misreadings of elements: some are left out, moved or repeated, or the memory of one layout is read as another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.layouts import from_iox, from_ncx, to_iox, to_ncx
from tconv.diagnosis.misreadings.misreading import Misreading, axes_of, in_operand, in_output, in_result
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import ArrayChange, MisreadCall
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature

    Parts = Callable[[Array, Geometry], Array]
    """Returns a view of an array whose first axis has the parts to choose from."""
    Which = Callable[[int], slice]
    """Returns the parts to leave out, by the number of parts."""


def _axes_reversed(array: Array, _: Geometry) -> Array:
    changed = array.transpose(0, 1, *range(array.ndim - 1, 1, -1))
    return changed if changed.shape == array.shape else array


def _channels_exchanged(w: Array, geometry: Geometry) -> Array:
    groups, inputs = geometry.groups, w.shape[0] // geometry.groups
    if inputs != w.shape[1]:
        return w
    return w.reshape(groups, inputs, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def _dealt(array: Array, geometry: Geometry) -> Array:
    """Return the channels dealt from the groups: the first channel of each group, then the second ones, and so on."""
    return np.take(array, np.arange(array.shape[1]).reshape(geometry.groups, -1).T.ravel(), axis=1)


MOVED = tuple(
    Misreading(name, says, in_operand(role, change))
    for name, says, role, change in (
        # llvm/torch-mlir#4437
        ("filter-flipped", "the filter's taps are in reverse order, as in a correlation", "w",
         lambda w, _: np.flip(w, axis=tuple(range(2, w.ndim)))),
        ("filter-axes-exchanged", "the filter's spatial axes are in reverse order", "w", _axes_reversed),
        # Tencent/TNN#205, apache/tvm#9336
        ("filter-channels-exchanged", "the filter's input and output channels are exchanged", "w",
         _channels_exchanged),
        ("filter-read-as-xoi", "the memory of an IOX filter is read as XOI", "w",
         lambda w, _: to_iox(w.reshape(*w.shape[2:], *w.shape[1::-1]), FilterFormat.XOI)),
        ("filter-read-as-iox", "the memory of an XOI filter is read as IOX", "w",
         lambda w, _: from_iox(w, FilterFormat.XOI).reshape(w.shape)),
        ("filter-read-as-oix", "the memory of an IOX filter is read as OIX", "w",
         lambda w, _: w.reshape(*w.shape[1::-1], *w.shape[2:]).swapaxes(0, 1)),
        ("data-read-as-nxc", "the memory of NCX data is read as NXC", "x",
         lambda x, _: to_ncx(x.reshape(len(x), *x.shape[2:], x.shape[1]), DataFormat.NXC)),
        ("data-read-as-ncx", "the memory of NXC data is read as NCX", "x",
         lambda x, _: from_ncx(x, DataFormat.NXC).reshape(x.shape)),
        # Tencent/TNN#205
        ("groups-share-the-first-filter", "every group uses the filter of the first group", "w",
         lambda w, g: np.concatenate([w[: len(w) // g.groups]] * g.groups)),
    )
)  # fmt: skip


def _taps(w: Array, _: Geometry) -> Array:
    return np.moveaxis(w.reshape(*w.shape[:2], int(np.prod(w.shape[2:]))), -1, 0)


def _inputs(w: Array, geometry: Geometry) -> Array:
    """Return the filter, (C/G, G, O/G, K...), with the input channels of each group along the first axis."""
    return np.moveaxis(w.reshape(geometry.groups, w.shape[0] // geometry.groups, *w.shape[1:]), 1, 0)


def _last_axis(array: Array, geometry: Geometry) -> Array:
    return np.moveaxis(array, -1, 0) if geometry.output else array[:0]


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


LEFT_OUT = tuple(
    Misreading(name, says, in_operand(role, change))
    for name, says, role, change in (
        ("first-tap-dropped", "the first tap is left out", "w", _cut(_taps, lambda _: slice(1))),
        ("last-tap-dropped", "the last tap is left out", "w", _cut(_taps, _last)),
        ("last-column-dropped", "the last taps along the last axis are left out", "w", _cut(_last_axis, _last)),
        ("last-input-channel-dropped", "the last input channel of a group is left out", "w",
         _cut(_inputs, _last)),
        # The numbers of channels in a vector instruction.
        *(
            (f"input-channels-beyond-{words}-dropped",
             f"input channels of a group beyond its last full block of {width} are left out", "w",
             _cut(_inputs, _after_blocks(width)))
            for words, width in (("four", 4), ("eight", 8), ("sixteen", 16))
        ),
        # microsoft/onnxruntime#27749
        ("input-channels-beyond-four-unweighted",
         "input channels of a group beyond its last full block of 4 are added as they are, without the filter", "w",
         _cut(_inputs, _after_blocks(4), 1.0)),
        ("last-position-dropped", "the last position of the data along its last axis is left out", "x",
         _cut(_last_axis, _last)),
        # nntrainer/nntrainer#4347
        ("data-bounded-by-the-kernel", "on each axis, positions of the data beyond the kernel's size are left out", "x",
         _bounded_by_the_kernel),
    )
)  # fmt: skip


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
    for axis, (x, k, s, d, begin, size) in enumerate(axes_of(geometry), start=2):
        reached = (np.arange(x)[:, None] * s + np.arange(k) * d - begin).ravel()
        np.moveaxis(cut, axis, 0)[np.setdiff1d(np.arange(size), reached)] = 0
    return cut


OF_THE_OUTPUT = tuple(
    Misreading(name, says, change)
    for name, says, change in (
        # uxlfoundation/oneDNN#352
        ("output-channels-dealt",
         "the output has the first channel of each group, then the second channel of each group, and so on",
         in_output(_dealt)),
        ("batch-repeats-the-first", "every batch item of the output is a copy of the first item",
         in_output(lambda y, _: np.broadcast_to(y[:1], y.shape))),
        ("output-axes-exchanged", "the output's spatial axes are in reverse order", in_output(_axes_reversed)),
        # llvm/torch-mlir#2026, apache/tvm#5758, Tencent/ncnn#1122
        ("output-padding-is-zero", "the elements that output_padding adds are 0 in place of their sums",
         in_result(_added_points_are_zero)),
        # OpenVINO 2026.4 in bfloat16 on AMX
        ("unreached-points-are-zero", "points of the output that no tap reaches are 0, and not the bias",
         in_output(_unreached_points_are_zero)),
    )
)  # fmt: skip

"""Misreadings of the output: elements are moved, repeated or left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, OutputOtherwise, SumsOtherwise, along_channels
from tconv.diagnosis.misreadings.operands import axes_reversed, channels_collected, channels_dealt
from tconv.expectation.bound import is_subnormal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature


def _channels(change: Callable[[Array, Geometry, int], Array | None]) -> Callable[[Array, Geometry, Signature], Array]:
    """Return the change that brings the output's channels into another order."""

    def changed(y: Array, geometry: Geometry, _: Signature) -> Array:
        ordered = change(y, geometry, 1)
        return y if ordered is None else ordered

    return changed


def _first_item_repeated(y: Array, _geometry: Geometry, _signature: Signature) -> Array:
    return np.broadcast_to(y[:1], y.shape)


def _added_points_are_zero(y: Array, _: Geometry, signature: Signature) -> Array:
    cut = y.copy()
    for axis, points in enumerate(signature.attributes.output_padding or (), start=2):
        cut[(slice(None),) * axis + (slice(max(y.shape[axis] - points, 0), None),)] = 0
    return cut


def _unreached_points_are_zero(y: Array, geometry: Geometry, _: Signature) -> Array:
    """Return the output without the bias where no tap of some axis reaches a point."""
    cut = y.copy()
    axes = zip(*(getattr(geometry, name) for name in _OF_AN_AXIS), strict=True)
    for axis, (x, k, s, d, begin, size) in enumerate(axes, start=2):
        reached = (np.arange(x)[:, None] * s + np.arange(k) * d - begin).ravel()
        np.moveaxis(cut, axis, 0)[np.setdiff1d(np.arange(size), reached)] = 0
    return cut


_OF_AN_AXIS = ("spatial", "kernel", "strides", "dilations", "pads_begin", "output")


def _later_items_are_zero(y: Array, _geometry: Geometry, _signature: Signature) -> Array:
    cut = y.copy()
    cut[1:] = 0
    return cut


def _tail(axis: int, width: int) -> Callable[[Array, Geometry, Signature], Array]:
    """Return the change that leaves zero what lies after the last full block of an axis, where there is a full one."""

    def change(y: Array, geometry: Geometry, _signature: Signature) -> Array:
        size = y.shape[axis]
        if not geometry.output or size < width or size % width == 0:
            return y
        cut = y.copy()
        np.moveaxis(cut, axis, 0)[size - size % width :] = 0
        return cut

    return change


def _tail_of_a_long_axis(y: Array, _geometry: Geometry, _signature: Signature) -> Array:
    cut = y.copy()
    cut[..., _LONG:] = 0
    return cut


_LONG = 2048


def _with_the_groups_before(sums: Array, bias: Array, geometry: Geometry) -> Array:
    in_groups = sums.reshape(len(sums), geometry.groups, sums.shape[1] // geometry.groups, *sums.shape[2:])
    return np.cumsum(in_groups, axis=1).reshape(sums.shape) + along_channels(bias, sums.ndim)


def _axes_reversed(y: Array, _geometry: Geometry, _signature: Signature) -> Array:
    changed = axes_reversed(y)
    return y if changed is None else changed


def _subnormals_zeroed(y: Array, _: Geometry, signature: Signature) -> Array:
    zeroed: Array = np.where(is_subnormal(y, signature.x.dtype), 0.0, y)
    return zeroed


MISREADINGS: tuple[Misreading, ...] = (
    *(
        Misreading(name, says, OutputOtherwise(change), seen)
        for name, says, change, seen in (
            (
                "output-channels-dealt",
                "output channels come out as the first one of each group, then the second one of each group, and so on",
                _channels(channels_dealt),
                "uxlfoundation/oneDNN#352",
            ),
            (
                "output-channels-collected",
                "of G groups, group g has the right output's channels g, g + G, g + 2*G and so on",
                _channels(channels_collected),
                "",
            ),
            (
                "batch-repeats-the-first",
                "every item of the output's batch is that of the first",
                _first_item_repeated,
                "",
            ),
            *(
                (
                    f"{what}-beyond-{words}-are-zero",
                    f"{where} beyond the last full block of {width} stay zero",
                    _tail(axis, width),
                    "",
                )
                for what, where, axis in (("channels", "channels", 1), ("positions", "positions of the last axis", -1))
                for words, width in (("four", 4), ("eight", 8), ("sixteen", 16))
            ),
            (
                "long-axis-ends-at-2048",
                "elements beyond 2048 of the last axis stay zero",
                _tail_of_a_long_axis,
                "microsoft/onnxruntime#28976, where elements beyond 2048 are wrong, not zero",
            ),
            ("output-axes-exchanged", "the output's spatial axes are in reverse order", _axes_reversed, ""),
            (
                "output-padding-is-zero",
                "the points that output_padding adds are 0, and not computed",
                _added_points_are_zero,
                "llvm/torch-mlir#2026, apache/tvm#5758, Tencent/ncnn#1122",
            ),
            (
                "unreached-points-are-zero",
                "points of the output that no tap reaches are 0, and not the bias",
                _unreached_points_are_zero,
                "OpenVINO 2026.4 in bfloat16 on AMX",
            ),
            (
                "batch-after-the-first-is-zero",
                "items of the batch after the first stay zero",
                _later_items_are_zero,
                "ggml-org/ggml#1448",
            ),
        )
    ),
    Misreading(
        "sums-of-groups-accumulate",
        "the sums of a group begin with those of the group before, and not with 0",
        SumsOtherwise(_with_the_groups_before, lambda _, geometry: geometry.groups > 1),
    ),
    Misreading(
        "subnormal-results-are-zero",
        "a sum that is subnormal comes out as 0",
        OutputOtherwise(_subnormals_zeroed, by_value=True),
        "jax 0.10 on the CPU",
    ),
)

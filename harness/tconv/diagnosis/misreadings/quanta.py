"""Misreadings of quantised operators: scales, zero points, saturation, and sums of too few bits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.context import LIMITS
from tconv.diagnosis.misreadings.misreading import MisreadGraph, Misreading, QuantaOtherwise, along_channels
from tconv.expectation.reference import definition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.expectation.surrounded import Surrounded
    from tconv.vocabulary import Array

    Scales = Callable[[Array, int, int], Array]
    """Returns the scale of each element of (C, O/G), from the scales of a group's outputs, C and the number of groups.
    """

_INT16 = 2**15


def _vector(graph: MisreadGraph) -> Array | None:
    """Return the scales of a filter's quanta, (O/G,), if they are not all equal."""
    scales = graph.arrays.get("w_scale")
    return scales if scales is not None and scales.ndim and len(set(scales.tolist())) > 1 else None


def _with(graph: MisreadGraph, **arrays: Array) -> MisreadGraph:
    surrounded: Surrounded = graph.surrounded
    return replace(graph, surrounded=replace(surrounded, arrays={**surrounded.arrays, **arrays}))


def _scales(scales_of: Scales) -> QuantaOtherwise:
    """Return the change of a filter's scales, if it has one for each output channel."""

    def change(graph: MisreadGraph) -> MisreadGraph | None:
        scales = _vector(graph)
        if scales is None:
            return None
        w, zero_point = graph.arrays["W"].astype(np.float64), _zero_point(graph, "w")
        wrong = scales_of(scales, len(w), graph.geometry.groups)
        factors = (wrong / scales).reshape(*w.shape[:2], *[1] * (w.ndim - 2))
        return _with(graph, W=(w - zero_point) * factors + zero_point)

    return QuantaOtherwise(change)


def _along_inputs(scales: Array, inputs: int, _: int) -> Array:
    return np.repeat(np.resize(scales, inputs)[:, None], len(scales), axis=1)


def _along_inputs_of_a_group(scales: Array, inputs: int, groups: int) -> Array:
    return np.tile(_along_inputs(scales, inputs // groups, 1), (groups, 1))


def _dealt(scales: Array, inputs: int, groups: int) -> Array:
    """Return scales that are repeated for consecutive channels: with two groups, two channels have the first scale."""
    of_groups = np.repeat(scales, groups).reshape(groups, len(scales))
    return np.repeat(of_groups, inputs // groups, axis=0)


def _operands(change: Callable[[MisreadGraph, list[Array]], list[Array] | None]) -> QuantaOtherwise:
    """Return the change of the operator's inputs: data, filter and perhaps bias; None if nothing changes."""

    def changed(graph: MisreadGraph) -> MisreadGraph | None:
        roles = [role for role in ("x", "w", "b") if role in graph.surrounded.operands]
        operands = change(graph, [graph.surrounded.operands[role] for role in roles])
        return None if operands is None else replace(graph, operate=lambda _: _sums(graph, operands))

    return QuantaOtherwise(changed)


def _sums(graph: MisreadGraph, operands: Sequence[Array]) -> Array:
    x, w, *b = operands
    return definition(x, w, b[0] if b else None, graph.geometry)


def _shifted_data(shift: Callable[[MisreadGraph], float]) -> QuantaOtherwise:
    """Return the change that adds quanta to the data."""

    def change(graph: MisreadGraph, operands: list[Array]) -> list[Array] | None:
        quanta = shift(graph) if "x_zero_point" in graph.arrays else 0.0
        x, *others = operands
        return [x + quanta * graph.arrays["x_scale"], *others] if quanta else None

    return _operands(change)


def _zero_point(graph: MisreadGraph, role: str) -> float:
    return float(graph.arrays.get(f"{role}_zero_point", np.zeros(1)).reshape(-1)[0])


def _filter_scale(graph: MisreadGraph) -> Array:
    """Return the scale of a filter's quanta, or the scales of its output channels along axis 1."""
    scale = graph.arrays["w_scale"]
    return along_channels(scale, graph.arrays["W"].ndim) if scale.ndim else scale


def _unshifted_filter(graph: MisreadGraph, operands: list[Array]) -> list[Array] | None:
    x, w, *b = operands
    zero_point = _zero_point(graph, "w")
    return [x, w + zero_point * _filter_scale(graph), *b] if zero_point else None


def _filter_wrapped(graph: MisreadGraph, operands: list[Array]) -> list[Array] | None:
    x, w, *b = operands
    if graph.arrays.get("w_zero_point", np.zeros(0)).dtype != np.uint8:
        return None
    return [x, w + (w < 0) * 256.0 * _filter_scale(graph), *b]


def _padded_with_quantum_0(graph: MisreadGraph) -> MisreadGraph | None:
    zero_point = _zero_point(graph, "x")
    if not zero_point or "x_scale" not in graph.arrays:
        return None
    operands = graph.surrounded.operands
    x, w = operands["x"], operands["w"]
    parts = w.reshape(graph.geometry.groups, -1, *w.shape[1:])
    taps = parts.sum(axis=(1, *range(3, parts.ndim))).reshape(-1)
    missing = along_channels(taps, x.ndim) - definition(np.ones_like(x), w, None, graph.geometry)
    lost = zero_point * graph.arrays["x_scale"] * missing
    return replace(graph, operate=lambda inputs: _sums(graph, inputs) - lost)


def _bias(scale_of: Callable[[MisreadGraph], Array]) -> QuantaOtherwise:
    """Return the change of the scale of an int32 bias."""

    def change(graph: MisreadGraph) -> MisreadGraph | None:
        if "b_scale" not in graph.arrays:
            return None
        right = graph.arrays["b_scale"]
        wrong = np.resize(scale_of(graph), right.shape)
        return None if np.array_equal(wrong, right) else _with(graph, b_scale=wrong)

    return QuantaOtherwise(change)


def _end(round_so: Callable[[Array, float, tuple[int, int]], Array]) -> QuantaOtherwise:
    """Return the change of the output's rounding, from numbers in units of its scale, its zero point and its limits."""

    def change(graph: MisreadGraph) -> MisreadGraph | None:
        last = graph.surrounded.graph.nodes[-1]
        if last.kind != "Quantize":
            return None
        limits = LIMITS[last.attributes["dtype"]]
        return replace(
            graph, quantize=lambda inputs, _: round_so(inputs[0] / inputs[1], float(inputs[2].reshape(-1)[0]), limits)
        )

    return QuantaOtherwise(change)


def _in_16_bits(limit: Callable[[Array], Array]) -> QuantaOtherwise:
    """Return the change of sums of products of quanta, before the bias is added."""

    def change(graph: MisreadGraph) -> MisreadGraph | None:
        if not {"x_scale", "w_scale"} <= graph.arrays.keys():
            return None
        operands = graph.surrounded.operands
        alone = _sums(graph, [operands["x"], operands["w"]])
        units = graph.arrays["x_scale"] * np.resize(graph.arrays["w_scale"], alone.shape[1])
        unit = along_channels(units, alone.ndim)
        total = np.rint(alone / unit)
        lost = (limit(total) - total) * unit
        return replace(graph, operate=lambda inputs: _sums(graph, inputs) + lost) if lost.any() else None

    return QuantaOtherwise(change)


def _wrapped(q: Array, limits: tuple[int, int]) -> Array:
    low, high = limits
    wrapped: Array = np.mod(q - low, high - low + 1) + low
    return wrapped


def _read_unsigned(role: str) -> QuantaOtherwise:
    """Return the change that reads the bytes of int8 as uint8."""

    def change(graph: MisreadGraph, operands: list[Array]) -> list[Array] | None:
        at = ("x", "w").index(role)
        zero = graph.arrays.get(f"{role}_zero_point")
        if zero is None or zero.dtype != np.int8:
            return None
        scale = _filter_scale(graph) if role == "w" else graph.arrays["x_scale"]
        is_negative = np.rint(operands[at] / scale) + zero.reshape(-1)[0] < 0
        changed = operands[at] + is_negative * 256.0 * scale
        return [changed if place == at else operand for place, operand in enumerate(operands)]

    return _operands(change)


MISREADINGS = tuple(
    Misreading(name, says, change)
    for name, says, change in (
        # microsoft/onnxruntime#19694, qualcomm/aimet#3149
        ("scales-along-axis-0",
         "the filter's scales are used along axis 0, its input channels, and not along its output channels",
         _scales(_along_inputs)),
        ("scales-along-axis-0-of-a-group",
         "the filter's scales are used along the input channels of each group, and not along its output channels",
         _scales(_along_inputs_of_a_group)),
        ("scales-dealt-to-groups",
         "each scale of a filter with G groups is used for G consecutive output channels",
         _scales(_dealt)),
        ("scale-of-the-first-channel", "all output channels have the scale of the first channel",
         _scales(lambda scales, inputs, _: np.full((inputs, len(scales)), scales[0]))),
        ("scale-of-the-channel-before", "each output channel has the scale of the channel before",
         _scales(lambda scales, inputs, _: np.tile(np.roll(scales, 1), (inputs, 1)))),
        ("data-zero-point-ignored", "the zero point of the data is treated as 0",
         _shifted_data(lambda graph: _zero_point(graph, "x"))),
        ("data-zero-point-of-the-output", "the zero point of the output is used for the data",
         _shifted_data(lambda graph: _zero_point(graph, "x") - _zero_point(graph, "y"))),
        ("data-zero-point-added", "the zero point of the data is added, and not subtracted",
         _shifted_data(lambda graph: 2 * _zero_point(graph, "x"))),
        ("filter-zero-point-ignored", "the zero point of the filter is treated as 0", _operands(_unshifted_filter)),
        # OpenVINO 2026.4, which pads channels in this way
        ("padded-with-quantum-0",
         "padding has the quantum 0, and not the data's zero point",
         QuantaOtherwise(_padded_with_quantum_0)),
        ("bias-at-the-data-scale", "the bias has the scale of the data, and not data scale * filter scale",
         _bias(lambda graph: graph.arrays["x_scale"])),
        ("bias-at-the-filter-scale", "the bias has the scale of the filter, and not data scale * filter scale",
         _bias(lambda graph: graph.arrays["w_scale"])),
        ("bias-at-the-output-scale", "the bias has the scale of the output",
         _bias(lambda graph: graph.arrays.get("y_scale", graph.arrays["b_scale"]))),
        ("bias-at-the-scale-of-the-first-channel", "the bias of each output channel has the scale of the first channel",
         _bias(lambda graph: graph.arrays["b_scale"][:1])),
        ("output-zero-point-ignored", "the zero point of the output is treated as 0",
         _end(lambda y, _, limits: np.clip(np.rint(y), *limits))),
        ("output-zero-point-subtracted", "the zero point of the output is subtracted, and not added",
         _end(lambda y, zero, limits: np.clip(np.rint(y) - zero, *limits))),
        ("output-zero-point-of-the-data", "the zero point of the data is used for the output", QuantaOtherwise(
            lambda graph: _with(graph, y_zero_point=graph.arrays["x_zero_point"])
            if {"x_zero_point", "y_zero_point"} <= graph.arrays.keys() else None)),
        ("output-truncated", "quanta of the output are rounded towards zero",
         _end(lambda y, zero, limits: np.clip(np.trunc(y) + zero, *limits))),
        ("output-rounded-down", "quanta of the output are rounded down",
         _end(lambda y, zero, limits: np.clip(np.floor(y) + zero, *limits))),
        ("output-wraps", "quanta of the output that are too large or too small wrap around",
         _end(lambda y, zero, limits: _wrapped(np.rint(y) + zero, limits))),
        ("saturated-before-the-zero-point", "the output saturates before its zero point is added",
         _end(lambda y, zero, limits: np.clip(np.clip(np.rint(y), *limits) + zero, *limits))),
        ("saturated-at-the-other-type",
         "an int8 output saturates at the limits of uint8, or a uint8 output at the limits of int8",
         _end(lambda y, zero, limits: _wrapped(
             np.clip(np.rint(y) + zero, *next(other for other in LIMITS.values() if other != limits)), limits))),
        ("saturated-at-0", "quanta of the output below its zero point become the zero point",
         _end(lambda y, zero, limits: np.clip(np.maximum(np.rint(y), 0) + zero, *limits))),
        ("sums-wrap-in-16-bits", "sums of products of quanta wrap around in 16 bits",
         _in_16_bits(lambda total: _wrapped(total, (-_INT16, _INT16 - 1)))),
        ("sums-saturate-in-16-bits", "sums of products of quanta saturate in 16 bits",
         _in_16_bits(lambda total: np.clip(total, -_INT16, _INT16 - 1))),
        # OpenVINO 2026.4
        ("filter-wraps-at-its-zero-point", "the zero point of a uint8 filter is subtracted in uint8",
         _operands(_filter_wrapped)),
        ("data-read-as-uint8", "int8 data are read as uint8", _read_unsigned("x")),
        ("filter-read-as-uint8", "an int8 filter is read as uint8", _read_unsigned("w")),
    )
)  # fmt: skip

"""Misreadings of quantised operators: scales, zero points, and the rounding of the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.context import LIMITS
from tconv.diagnosis.misreadings.misreading import Misreading, QuantaOtherwise, along_channels
from tconv.expectation.reference import definition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.surrounded import Surrounded
    from tconv.vocabulary import Array


def _sums(operands: Sequence[Array], geometry: Geometry) -> Array:
    x, w, *b = operands
    return definition(x, w, b[0] if b else None, geometry)


def _operand(role: str, change: Callable[[Surrounded, Array], Array]) -> QuantaOtherwise:
    """Return the change of x or w, if it has quanta."""

    def changed(surrounded: Surrounded, geometry: Geometry) -> Mapping[str, Any] | None:
        operands = surrounded.operands
        if f"{role}_scale" not in surrounded.arrays:
            return None
        used = {**operands, role: change(surrounded, operands[role])}
        same = np.array_equal(used[role], operands[role])
        return None if same else {"operate": lambda _: _sums([*used.values()], geometry)}

    return QuantaOtherwise(changed)


def _scales(scales_of: Callable[[Array, int], Array]) -> QuantaOtherwise:
    """Return the change of a filter's scales.

    Args:
        scales_of: returns the scale of each element of (C, O/G), from the scales of a group's outputs, and C.
    """

    def change(surrounded: Surrounded, w: Array) -> Array:
        scales = np.resize(surrounded.arrays["w_scale"], w.shape[1])
        return w * (scales_of(scales, len(w)) / scales).reshape(*w.shape[:2], *[1] * (w.ndim - 2))

    return _operand("w", change)


def _zero_point(surrounded: Surrounded, role: str) -> float:
    return float(surrounded.arrays.get(f"{role}_zero_point", np.zeros(1)).reshape(-1)[0])


def _with_quanta(role: str, surrounded: Surrounded, operand: Array, quanta: Array | float) -> Array:
    """Return x or w with added quanta; a filter may have scales of its output channels, along axis 1."""
    scale = surrounded.arrays[f"{role}_scale"]
    return operand + quanta * (along_channels(scale, operand.ndim) if scale.ndim else scale)


def _zero_point_ignored(role: str) -> QuantaOtherwise:
    return _operand(
        role, lambda surrounded, operand: _with_quanta(role, surrounded, operand, _zero_point(surrounded, role))
    )


def _wrapped_filter(surrounded: Surrounded, w: Array) -> Array:
    is_unsigned = surrounded.arrays.get("w_zero_point", np.zeros(0)).dtype == np.uint8
    return _with_quanta("w", surrounded, w, 256.0 * (w < 0)) if is_unsigned else w


def _padded_with_quantum_0(surrounded: Surrounded, geometry: Geometry) -> Mapping[str, Any] | None:
    zero_point = _zero_point(surrounded, "x")
    if not zero_point or "x_scale" not in surrounded.arrays:
        return None
    x, w = surrounded.operands["x"], surrounded.operands["w"]
    parts = w.reshape(geometry.groups, -1, *w.shape[1:])
    taps = parts.sum(axis=(1, *range(3, parts.ndim))).reshape(-1)
    missing = along_channels(taps, x.ndim) - definition(np.ones_like(x), w, None, geometry)
    lost = zero_point * surrounded.arrays["x_scale"] * missing
    return {"operate": lambda inputs: _sums(inputs, geometry) - lost}


def _end(round_so: Callable[[Array, float, tuple[int, int]], Array]) -> QuantaOtherwise:
    """Return the change of the output's rounding, from numbers in units of its scale, its zero point and its limits."""

    def change(surrounded: Surrounded, _: Geometry) -> Mapping[str, Any] | None:
        last = surrounded.graph.nodes[-1]
        if last.kind != "Quantize":
            return None
        limits = LIMITS[last.attributes["dtype"]]
        return {"quantize": lambda inputs, _: round_so(inputs[0] / inputs[1], float(inputs[2].reshape(-1)[0]), limits)}

    return QuantaOtherwise(change)


def _wrapped(q: Array, limits: tuple[int, int]) -> Array:
    low, high = limits
    wrapped: Array = np.mod(q - low, high - low + 1) + low
    return wrapped


MISREADINGS = tuple(
    Misreading(name, says, change)
    for name, says, change in (
        # microsoft/onnxruntime#19694, qualcomm/aimet#3149
        ("scales-along-axis-0",
         "the filter's scales are used along axis 0, its input channels, and not along its output channels",
         _scales(lambda scales, inputs: np.repeat(np.resize(scales, inputs)[:, None], len(scales), axis=1))),
        ("scale-of-the-first-channel", "all output channels have the scale of the first channel",
         _scales(lambda scales, inputs: np.full((inputs, len(scales)), scales[0]))),
        ("data-zero-point-ignored", "the zero point of the data is treated as 0",
         _zero_point_ignored("x")),
        ("filter-zero-point-ignored", "the zero point of the filter is treated as 0",
         _zero_point_ignored("w")),
        # OpenVINO 2026.4
        ("filter-wraps-at-its-zero-point", "the zero point of a uint8 filter is subtracted in uint8",
         _operand("w", _wrapped_filter)),
        # OpenVINO 2026.4, which pads channels in this way
        ("padded-with-quantum-0", "padding has the quantum 0, and not the data's zero point",
         QuantaOtherwise(_padded_with_quantum_0)),
        ("output-zero-point-ignored", "the zero point of the output is treated as 0",
         _end(lambda y, _, limits: np.clip(np.rint(y), *limits))),
        ("output-truncated", "quanta of the output are rounded towards zero",
         _end(lambda y, zero, limits: np.clip(np.trunc(y) + zero, *limits))),
        ("output-rounded-down", "quanta of the output are rounded down",
         _end(lambda y, zero, limits: np.clip(np.floor(y) + zero, *limits))),
        ("output-wraps", "quanta of the output that are too large or too small wrap around",
         _end(lambda y, zero, limits: _wrapped(np.rint(y) + zero, limits))),
    )
)  # fmt: skip

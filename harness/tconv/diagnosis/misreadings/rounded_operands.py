"""Misreadings of operands: their numbers lose bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, OperandsOtherwise, in_filter
from tconv.expectation.bound import is_subnormal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature


def _significand(bits: int, towards: Callable[[Array], Array]) -> OperandsOtherwise:
    """Return the change that rounds data and filter to so many bits of significand, by `towards`."""

    def change(operands: Operands, _geometry: Geometry, _signature: Signature) -> Operands:
        return operands | {role: with_bits(operands[role], bits, towards) for role in ("x", "w")}

    return OperandsOtherwise(change)


def with_bits(array: Array, bits: int, towards: Callable[[Array], Array]) -> Array:
    """Return numbers rounded to so many bits of significand, by `towards`; exponents are not limited."""
    mantissa, exponent = np.frexp(array)
    rounded: Array = np.ldexp(towards(np.ldexp(mantissa, bits)), exponent - bits)
    return rounded


def _in_8_bits(w: Array, largest: Array) -> Array:
    """Return a filter rounded to 255 steps between the largest magnitude and its opposite; as it is where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded: Array = np.rint(w / largest * 127) * largest / 127
    return np.where(np.isfinite(rounded), rounded, w)


def _filter_in_8_bits(w: Array, _: Geometry) -> Array | None:
    return _in_8_bits(w, np.abs(w).max()) if w.size else None


def _output_channels_in_8_bits(w: Array, geometry: Geometry) -> Array | None:
    if not w.size:
        return None
    parts = w.reshape(geometry.groups, w.shape[0] // geometry.groups, *w.shape[1:])
    largest = np.abs(parts).max(axis=(1, *range(3, parts.ndim)), keepdims=True)
    return _in_8_bits(parts, largest).reshape(w.shape)


def _input_channels_in_8_bits(w: Array, _: Geometry) -> Array | None:
    return _in_8_bits(w, np.abs(w).max(axis=tuple(range(1, w.ndim)), keepdims=True)) if w.size else None


def _in_half(operands: Operands, _geometry: Geometry, _signature: Signature) -> Operands:
    """Return data and filter rounded to half precision, infinite where they are too large for it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return operands | {role: operands[role].astype(np.float16).astype(np.float64) for role in ("x", "w")}


def _subnormals_zeroed(operands: Operands, _: Geometry, signature: Signature) -> Operands:
    """Return operands without their subnormal numbers; the same ones where there are none."""
    small = {role: is_subnormal(array, signature.x.dtype) for role, array in operands.items()}
    if not any(where.any() for where in small.values()):
        return operands
    return {role: np.where(small[role], 0.0, array) for role, array in operands.items()}


MISREADINGS: tuple[Misreading, ...] = (
    Misreading(
        "operands-rounded-to-tf32",
        "data and filter are rounded to the 11 significant bits of TF32",
        _significand(11, np.rint),
        "microsoft/onnxruntime#21752, pytorch/functorch#1050",
    ),
    Misreading("operands-rounded-to-f16", "data and filter are rounded to half precision", OperandsOtherwise(_in_half)),
    Misreading(
        "operands-rounded-to-bf16",
        "data and filter are rounded to the 8 significant bits of bfloat16",
        _significand(8, np.rint),
    ),
    Misreading(
        "operands-truncated-to-bf16",
        "data and filter lose their bits beyond the 8 significant ones of bfloat16, and are not rounded",
        _significand(8, np.trunc),
    ),
    Misreading(
        "filter-rounded-to-8-bits",
        "the filter is rounded to 255 steps between its largest magnitude and the opposite, as in 8-bit integers",
        in_filter(_filter_in_8_bits),
    ),
    Misreading(
        "output-channels-rounded-to-8-bits",
        "the filter of each output channel is rounded to 255 steps between its largest magnitude and the opposite",
        in_filter(_output_channels_in_8_bits),
    ),
    Misreading(
        "input-channels-rounded-to-8-bits",
        "the filter of each input channel is rounded to 255 steps between its largest magnitude and the opposite",
        in_filter(_input_channels_in_8_bits),
        "NVIDIA/TensorRT#1694",
    ),
    Misreading(
        "subnormal-operands-are-zero",
        "subnormal operands are taken for 0",
        OperandsOtherwise(_subnormals_zeroed),
        "jax 0.10 on the CPU",
    ),
)

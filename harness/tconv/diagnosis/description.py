"""Where and how an output is wrong, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array


def described(actual: Array, expected: Array, geometry: Geometry, wrong: Array | None = None) -> str:
    """Return where and how an output is wrong, in words.

    Args:
        actual: the output, in NCX.
        expected: what is owed, in NCX.
        geometry: what is owed, as plain integers.
        wrong: which elements are; None for all that are not equal.
    """
    if actual.shape != expected.shape:
        return f"the shape is {list(actual.shape)}, which no misreading gives; {list(expected.shape)} is owed"
    with np.errstate(invalid="ignore"):
        got = actual.astype(np.float64)
        if wrong is None:
            wrong = (got != expected) & ~(np.isnan(got) & np.isnan(expected))
    parts = [_amount(got, expected, wrong)]
    for axis, name in ((0, "items of the batch"), (1, "channels")):
        parts += _some(
            np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis))), wrong.shape[axis], name
        )
    for axis, stride in enumerate(geometry.strides, start=2):
        at = np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis)))
        parts += _some(at, wrong.shape[axis], f"positions of axis {axis - 2}", stride, geometry.pads_begin[axis - 2])
    return "; ".join(parts)


def _amount(got: Array, expected: Array, wrong: Array) -> str:
    values, owed = got[wrong], expected[wrong]
    count = f"{len(values)} of {wrong.size} elements differ"
    if not values.any():
        return f"{count}: they are 0"
    if np.isnan(values).all():
        return f"{count}: they are NaN"
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = values / owed
    if np.isfinite(ratios).all() and np.ptp(ratios) == 0:
        return f"{count}: they are {ratios[0]:g} times what is owed"
    largest, distance = np.abs(expected).max(), np.abs(values - owed).max()
    if np.isfinite(distance) and 0 < distance < _SLIGHT * largest < np.inf:
        return f"{count}, by at most {distance / largest:.1e} of the largest"
    return count


_SLIGHT = 1e-2
"""What share of the largest element a difference may be to be told as one of accuracy."""


def _some(at: Array, size: int, name: str, stride: int = 1, begin: int = 0) -> list[str]:
    """Return which of the places along an axis are wrong, nothing where all are."""
    if len(at) in {0, size}:
        return []
    if np.array_equal(at, np.arange(at[0], size)):
        return [f"{name} from {at[0]} on"]
    if np.array_equal(at, np.arange(len(at))):
        return [f"{name} up to {at[-1]}"]
    phases = sorted(set(((at + begin) % stride).tolist()))
    if len(phases) < stride:
        return [f"{name} of phase {', '.join(map(str, phases))} modulo the stride {stride}"]
    border = {0, size - 1}
    if set(at.tolist()) <= border:
        return [f"{name} at the border"]
    return [f"{len(at)} of {size} {name}"]

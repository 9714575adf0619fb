"""Where and how an output is wrong, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.diagnosis.relations import related

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Mask

_SLIGHT = 1e-2
"""The largest difference that is described as one of accuracy, as a share of the largest element."""


class Description(NamedTuple):
    """How an output is wrong.

    Attributes:
        words: where and how.
        relation: what the wrong elements are beside what is expected, see `relations`; empty where it is not seen.
    """

    words: str
    relation: str = ""


def described(
    actual: Array, expected: Array, geometry: Geometry, wrong: Mask | None, bias: Array | None = None
) -> Description:
    """Return where and how an output is wrong, in words.

    Args:
        actual: the output, in NCX.
        expected: what is expected, in NCX.
        geometry: the geometry that is expected.
        wrong: which elements are wrong; None if the shape is another.
        bias: (O,), or None.
    """
    if wrong is None:
        return Description(
            f"the shape is {list(actual.shape)}, which no misreading gives; {list(expected.shape)} is expected"
        )
    relation = related(actual, expected, wrong, bias)
    count = f"{int(wrong.sum())} of {wrong.size} elements differ"
    amount = f"{count}: they {relation}" if relation else count + _distance(actual.astype(np.float64), expected, wrong)
    parts = [amount, *_along(wrong, 0, "items of the batch"), *_along(wrong, 1, "channels")]
    for axis, (stride, begin) in enumerate(zip(geometry.strides, geometry.pads_begin, strict=True)):
        parts += _along(wrong, axis + 2, f"positions of axis {axis}", stride, begin)
    return Description("; ".join(parts), relation)


def _distance(values: Array, expected: Array, wrong: Mask) -> str:
    """Return how far off an output is where that is little."""
    with np.errstate(invalid="ignore"):
        largest, distance = np.abs(expected).max(), np.abs(values - expected)[wrong].max()
    slight = np.isfinite(distance) and 0 < distance < _SLIGHT * largest < np.inf
    return f", by at most {distance / largest:.1e} of the largest" if slight else ""


def _along(wrong: Mask, axis: int, name: str, stride: int = 1, begin: int = 0) -> list[str]:
    """Return at which indices of an axis an output is wrong, in words; nothing where at all or at none."""
    size = wrong.shape[axis]
    indices = np.flatnonzero(wrong.any(axis=tuple(other for other in range(wrong.ndim) if other != axis)))
    if len(indices) in {0, size}:
        return []
    if np.array_equal(indices, np.arange(indices[0], size)):
        return [f"{name} from {indices[0]} on"]
    if np.array_equal(indices, np.arange(len(indices))):
        return [f"{name} up to {indices[-1]}"]
    phases = sorted(set(((indices + begin) % stride).tolist()))
    if len(phases) < stride:
        return [f"{name} of phase {', '.join(map(str, phases))} modulo the stride {stride}"]
    if set(indices.tolist()) <= {0, size - 1}:
        return [f"{name} at the border"]
    return [f"{len(indices)} of {size} {name}"]

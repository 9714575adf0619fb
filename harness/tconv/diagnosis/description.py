"""The description of a wrong output in words: which elements are wrong, and how.

The relation between wrong and expected elements has the same words for every case with the same bug.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from ml_dtypes import finfo

from tconv.cases.operands import NUMPY_TYPES
from tconv.diagnosis.misreadings.misreading import along_channels

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Float64s, Mask

_SLIGHT = 1e-2
"""The largest difference that counts as a loss of accuracy, as a share of the largest element."""
_FEWEST = 2
"""A relation needs at least so many wrong elements: a single one may have it by chance."""
_NEAR = 1e-2
"""The largest relative difference between two numbers that count as equal: both are sums of rounded numbers."""
_FAR = 0.05
"""The smallest distance of a factor from 1 that rounding does not explain."""


def described(actual: Array, expected: Float64s, geometry: Geometry, wrong: Mask | None, relation: str = "") -> str:
    """Return a description of a wrong output in words: which elements are wrong, and how.

    Args:
        actual: the output, in NCX.
        expected: the expected output, in NCX.
        geometry: the expected geometry.
        wrong: True for wrong elements; None if the shape is another.
        relation: the relation of wrong elements to the expected ones, see `related`; empty if none was found.
    """
    if wrong is None:
        shape, right = list(actual.shape), list(expected.shape)
        return f"the shape is {shape}, but {right} is expected; no known mistake gives this shape"
    count = f"{int(wrong.sum())} of {wrong.size} elements differ"
    amount = f"{count}: they {relation}" if relation else count + _distance(actual.astype(np.float64), expected, wrong)
    parts = [amount, *_along(wrong, 0, "items of the batch"), *_along(wrong, 1, "channels")]
    for axis, stride in enumerate(geometry.strides):
        parts += _along(wrong, axis + 2, f"indices of {_axis(axis, len(geometry.strides))}", stride)
    return "; ".join(parts)


def _distance(values: Array, expected: Array, wrong: Mask) -> str:
    """Return the distance between an output and the expected one in words, if it is small."""
    with np.errstate(invalid="ignore"):
        largest, distance = np.abs(expected).max(), np.abs(values - expected)[wrong].max()
    slight = np.isfinite(distance) and 0 < distance < _SLIGHT * largest < np.inf
    return f", by at most {distance / largest:.1e} of the largest" if slight else ""


def _along(wrong: Mask, axis: int, name: str, stride: int = 1) -> list[str]:
    """Return the indices of an axis with wrong elements in words; empty if none or all have them."""
    size = wrong.shape[axis]
    indices = np.flatnonzero(wrong.any(axis=tuple(other for other in range(wrong.ndim) if other != axis)))
    if len(indices) in {0, size}:
        return []
    if np.array_equal(indices, np.arange(indices[0], size)):
        return [f"only the last of {size} {name}" if len(indices) == 1 else f"{name} from {indices[0]} on"]
    if np.array_equal(indices, np.arange(len(indices))):
        return [f"only the first of {size} {name}" if len(indices) == 1 else f"{name} up to {indices[-1]}"]
    firsts = sorted(set((indices % stride).tolist()))
    if len(firsts) < stride and np.array_equal(indices, np.flatnonzero(np.isin(np.arange(size) % stride, firsts))):
        begin = ", ".join(map(str, [*firsts, *(first + stride for first in firsts)]))
        return [name.replace("indices", f"indices {begin}, ...")]
    if set(indices.tolist()) <= {0, size - 1}:
        return [f"only the first and the last of {size} {name}"]
    return [f"{len(indices)} of {size} {name}"]


def _axis(axis: int, rank: int) -> str:
    """Return a spatial axis as conditions name it."""
    return {1: "the last axis", 2: "the second-last axis", 3: "the third-last axis"}.get(rank - axis, f"axis {axis}")


def related(output: Array, expected: Float64s, wrong: Mask, bias: Array | None) -> str:
    """Return the relation of wrong elements to the expected ones, such as `are 0`; empty if none is found.

    Args:
        output: the output, (N, O, Y...), in its own type.
        expected: the expected output, of the same shape.
        wrong: True for wrong elements, of the same shape; at least one element is wrong.
        bias: (O,), or None.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        actual = output.astype(np.float64)
        values, right, limits = actual[wrong], expected[wrong], finfo(output.dtype)  # type: ignore[no-untyped-call]
        if kind := _bits(output[wrong], right):
            return f"are the bits of {kind}"
        largest = float(limits.max)
        if np.array_equal(values, np.copysign(largest, right)) and (np.abs(right) > largest).all():
            return f"are limited to ±{largest:.5g}".replace("+", "")
        # Infinity, NaN and subnormal numbers may have any relation by chance.
        tell = np.isfinite(right) & (np.abs(right) >= float(limits.smallest_normal)) | (right == 0)
        if not tell.any():
            return ""
        if not values.any() or np.isnan(values).all():
            return "are NaN" if values.any() else "are 0"
        if len(values) < _FEWEST:
            return ""
        if np.ptp(actual) == 0:
            return f"are all {values[0]:g}"
        parts = [] if bias is None or not np.isfinite(bias).all() else [_bias(actual, expected, wrong, bias)]
        parts += [_multiple(values, right), _cut_off(actual, expected, wrong)]
        parts += [] if bias is None or not bias.any() else [_another_bias(actual - expected, wrong)]
        return next(filter(None, parts), "")


def _bits(output: Array, right: Float64s) -> str:
    """Return the type whose bits the elements are, or that they are integers read as bits; empty if neither is true."""
    own = output.dtype
    integer = np.dtype(f"int{8 * own.itemsize}")
    others = (other for other in (integer, *NUMPY_TYPES.values()) if other.itemsize == own.itemsize and other != own)
    read = {f"{other} numbers": output.view(other) for other in others}
    read[f"{own} numbers, as integers"] = output.astype(integer).view(own)
    if len(right) < _FEWEST or not right.all() or not np.isfinite(right).all():
        return ""
    same = (of for of, bits in read.items() if (np.abs(bits.astype(float) - right) <= _NEAR * np.abs(right)).all())
    return next(same, "")


def _multiple(values: Float64s, right: Float64s) -> str:
    ratios = values / right
    if not (np.isfinite(right).all() and np.isfinite(ratios).all()):
        return ""
    usual = float(np.median(ratios))
    same = np.ptp(ratios) <= _NEAR * abs(usual) and abs(usual - 1) > _FAR
    return f"are {usual:.3g} times what is expected" if same else ""


def _bias(actual: Float64s, expected: Float64s, wrong: Mask, bias: Array) -> str:
    own = np.broadcast_to(along_channels(bias, wrong.ndim), wrong.shape)[wrong].astype(np.float64)
    for times, words in ((-1, "lack the bias"), (1, "have the bias twice")):
        if own.all() and (np.abs((actual - expected)[wrong] - times * own) <= _NEAR * np.abs(own)).all():
            return words
    return ""


def _another_bias(off: Float64s, wrong: Mask) -> str:
    """Return the words for another bias if all elements of each channel are off by the same number; empty if not."""
    by_channel, wrong_ones = (np.moveaxis(array, 1, 0).reshape(array.shape[1], -1) for array in (off, wrong))
    off_by = by_channel[wrong_ones.any(axis=1)]
    if off_by.shape[1] < _FEWEST or not np.isfinite(off_by).all():
        return ""
    same = np.ptp(off_by, axis=1) <= _NEAR * np.abs(off_by).min(axis=1)
    return "are off by one number in each channel, as with another bias" if same.all() else ""


def _cut_off(actual: Float64s, expected: Float64s, wrong: Mask) -> str:
    """Return the limits that cut off larger and smaller numbers; empty if there are numbers beyond them."""
    high, low = wrong & (expected > actual), wrong & (expected < actual)
    limits = [np.unique(actual[low]), np.unique(actual[high])]
    if any(len(limit) > 1 for limit in limits) or not all(np.isfinite(limit).all() for limit in limits):
        return ""
    if not np.isfinite(expected[wrong]).all() or (high | low).sum() != wrong.sum():
        return ""
    # The upper limit must be the largest of all numbers, and the lower limit the smallest.
    if any(limit.size and limit[0] != end for limit, end in zip(limits, (actual.min(), actual.max()), strict=True)):
        return ""
    ends = [limit[0] for limit in limits if limit.size]
    # Right elements must lie between the limits: if none does, the limit may be a constant.
    between = (actual[~wrong] < max(ends)) if limits[1].size else (actual[~wrong] > min(ends))
    return f"are cut off at {' and '.join(f'{end:g}' for end in ends)}" if between.any() else ""

"""Whether wrong values have the errors of a transform algorithm: small in norm, and spread over the output.

A lost product, a wrong tap or a single wrong element has errors of other sizes or in other places, see `is_transform`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.expectation.bound import bound_errors, bound_last_roundings
from tconv.expectation.reference import definition, tap_alone
from tconv.expectation.transforms import transform_deviation

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, Float64s, Mask

_LARGEST = 8.0
"""The largest error in units of the root mean square. Of a million normal numbers the largest is 4.9, and the outputs
of one tile have different deviations."""
_REMARKABLE = 2.5
"""Rounding errors of a sum are almost never larger than so many times their largest root mean square."""
_FEWEST = 3
"""At least so many elements must have an error."""
_SHARE = 64
"""At least one element of so many must have an error above the root mean square of roundings."""
_SHARE_REMARKABLE = 512
"""At least one element of so many must have a remarkable error."""


def is_transform(actual: Array, truth: Truth, geometry: Geometry) -> bool:
    """Return whether a wrong output has the errors of a transform algorithm in f32 or f64.

    All of these must hold:

    - Every element is finite.
    - The root mean square of the errors is within the deviation of F(4, 3) or of an FFT, and no error is above eight
      times that.
    - The errors are spread: of 64 elements, one has a larger error than roundings of a sum usually are.
    - No single wrong weight or bias in each output channel explains the errors.
    - On integers the errors are fractions: a wrong product or tap gives a whole number.

    Args:
        actual: the output, (N, O, Y...).
        truth: the reference of the same operands.
        geometry: a geometry with the shape of the output.
    """
    expected = truth.compute_values(geometry)
    if not actual.size or not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return False
    error = actual.astype(np.float64) - expected
    distance = np.maximum(np.abs(error) - bound_last_roundings(truth.compute_terms(geometry), truth.dtype), 0.0)
    if not _is_small(distance, truth, geometry):
        return False
    if truth.exact(geometry):
        return _is_spread(error % 1 != 0)
    line = bound_errors(truth.compute_terms(geometry), truth.dtype).deviation
    return _is_spread(np.abs(error) > line) and _is_more_than_products(error, _REMARKABLE * line, truth, geometry)


def _is_small(distance: Float64s, truth: Truth, geometry: Geometry) -> bool:
    deviation = transform_deviation(truth.operands, truth.dtype, geometry)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distance == 0, 0.0, distance / deviation)
    return bool(ratio.max() <= _LARGEST and np.sqrt(np.mean(ratio**2)) <= 1)


def _is_spread(off: Mask) -> bool:
    return bool(off.sum() >= max(_FEWEST, off.size / _SHARE))


def _is_more_than_products(error: Float64s, line: Float64s, truth: Truth, geometry: Geometry) -> bool:
    """Return whether no single wrong weight or bias of each output channel explains the errors.

    In each output channel one weight, or the bias, is corrected: the one that leaves the fewest remarkable errors.
    Errors of a transform mostly stay: at least half of them, and not fewer than the limits above.

    Args:
        error: the errors, (N, O, Y...).
        line: an error above it is remarkable, (N, O, Y...).
        truth: the reference of the same operands.
        geometry: a geometry with the shape of the output.
    """
    off = (np.abs(error) > line).sum(axis=(0, *range(2, error.ndim)))
    ones = np.ones((error.shape[0], 1, *error.shape[2:]))
    # A wrong bias is the same error everywhere in its channel.
    remaining = [_count_left(error[:, channel], line[:, channel], ones) for channel in range(error.shape[1])]
    remaining = np.minimum(off, remaining)
    x, (inputs, outputs) = truth.operands["x"], truth.operands["w"].shape[:2]
    share = inputs // geometry.groups
    identity = np.tile(np.eye(share), (geometry.groups, 1)).reshape(inputs, share, *(1,) * len(geometry.kernel))
    for k in np.ndindex(*geometry.kernel):
        # The data that one tap multiplies, at every element of the output.
        data = definition(x, identity, None, tap_alone(k, geometry))
        for channel in np.flatnonzero(remaining):
            first = channel // outputs * share
            fewest = _count_left(error[:, channel], line[:, channel], data[:, first : first + share])
            remaining[channel] = min(remaining[channel], fewest)
    return bool(remaining.sum() >= max(_FEWEST, off.sum() / 2, error.size / _SHARE_REMARKABLE))


def _count_left(error: Float64s, line: Float64s, data: Float64s) -> int:
    """Return how many errors stay remarkable after the correction of one weight, the one that leaves the fewest.

    The correction is computed from the element with the largest error in units of the line: there roundings matter
    least.

    Args:
        error: the errors, (N, Y...).
        line: an error above it is remarkable, (N, Y...).
        data: the data that the weights of one tap multiply, (N, C, Y...).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        furthest = int(np.argmax(np.where(error == 0, 0.0, np.abs(error) / line)))
        weights = error.flat[furthest] / np.moveaxis(data, 1, -1).reshape(error.size, -1)[furthest]
        weights = np.where(np.isfinite(weights), weights, 0.0).reshape(-1, *(1,) * (error.ndim - 1))
        rest = np.abs(error[:, None] - weights * data) > line[:, None]
    fewest: int = rest.sum(axis=(0, *range(2, rest.ndim))).min()
    return fewest

"""Products that are subnormal numbers: a runtime that sets the processor so takes them for zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.expectation.reference import definition

if TYPE_CHECKING:
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Float64s


def subnormal_products(x: Array, w: Array, geometry: Geometry, smallest_normal: float) -> Float64s | None:
    """Return how many products below the smallest normal number, and not zero, reach each element, (N, O, Y...).

    Args:
        x: data, (N, C, X...).
        w: filter, (C, O/G, K...).
        geometry: plain integers.
        smallest_normal: of the type that the products are added in.

    Returns:
        The counts, or None where no product is so small.
    """
    x, w = np.abs(x), np.abs(w)
    if _smallest(x) * _smallest(w) >= smallest_normal:
        return None
    count = np.zeros((x.shape[0], w.shape[1] * geometry.groups, *geometry.output))
    # Sorted by size, those data are too small for a tap that are below a threshold, so one pass for each weight counts.
    for weight in np.unique(w[w > 0]):
        small = ((x > 0) & (x < smallest_normal / weight)).astype(np.float64)
        if small.any():
            count += definition(small, (w == weight).astype(np.float64), None, geometry)
    return count


def _smallest(array: Array) -> float:
    positive = array[array > 0]
    return float(positive.min()) if positive.size else np.inf

"""Permutations between the canonical layouts, NCX and IOX, and the others; a layout may be given as its text."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, assert_never

import numpy as np

from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from tconv.vocabulary import Array, Ints


def data_shape(shape: Ints, data_format: DataFormat) -> Ints:
    """Return an NCX shape in `data_format`."""
    return shape if DataFormat(data_format) is DataFormat.NCX else (*shape[:1], *shape[2:], *shape[1:2])


def from_ncx(array: Array, data_format: DataFormat) -> Array:
    """Return an (N, C, X...) array in `data_format`, contiguous."""
    if DataFormat(data_format) is DataFormat.NCX:
        return array
    return np.ascontiguousarray(array.transpose(0, *range(2, array.ndim), 1))


def to_ncx(array: Array, data_format: DataFormat) -> Array:
    """Return an array in `data_format` as (N, C, X...)."""
    if DataFormat(data_format) is DataFormat.NCX:
        return array
    return array.transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


def from_iox(array: Array, filter_format: FilterFormat, groups: int = 1) -> Array:
    """Return a (C, O/G, K...) filter in `filter_format`, contiguous."""
    match FilterFormat(filter_format):
        case FilterFormat.IOX:
            return array
        case FilterFormat.XOI:
            return np.ascontiguousarray(array.transpose(*range(2, array.ndim), 1, 0))
        case FilterFormat.GIOX:
            return array.reshape(groups, array.shape[0] // groups, *array.shape[1:])
        case _:
            assert_never(filter_format)


def to_iox(array: Array, filter_format: FilterFormat) -> Array:
    """Return a filter in `filter_format` as (C, O/G, K...)."""
    match FilterFormat(filter_format):
        case FilterFormat.IOX:
            return array
        case FilterFormat.XOI:
            return np.moveaxis(array, (-1, -2), (0, 1))
        case FilterFormat.GIOX:
            return array.reshape(prod(array.shape[:2]), *array.shape[2:])
        case _:
            assert_never(filter_format)


def permutation(rank: int, data_format: DataFormat) -> list[int]:
    """Return the axes that transpose an array of `data_format` with `rank` spatial axes to NCX."""
    return list(range(rank + 2)) if DataFormat(data_format) is DataFormat.NCX else [0, rank + 1, *range(1, rank + 1)]


def inverse(axes: list[int]) -> list[int]:
    """Return the permutation that undoes `axes`."""
    return sorted(range(len(axes)), key=axes.__getitem__)

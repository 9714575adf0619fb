"""Layouts. A layout is a text of letters, with X for all spatial axes; this module makes permutations from it.

The canonical layouts are NCX for data and output, and IOX for a filter. A filter layout with G has a separate axis for
the groups. Its memory is a permutation of GIOX, which is IOX with its first axis split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.vocabulary import Array, Ints

T = TypeVar("T")


def permutation(layout: str, rank: int) -> list[int]:
    """Return the axes that transpose an array of `layout` with `rank` spatial axes to NCX, to IOX or to GIOX."""
    axes, at = {}, 0
    for letter in layout:
        width = rank if letter == "X" else 1
        axes[letter], at = range(at, at + width), at + width
    return [axis for letter in _canonical(layout) for axis in axes[letter]]


def inverse(axes: Sequence[int]) -> list[int]:
    """Return the inverse of the permutation `axes`."""
    return sorted(range(len(axes)), key=axes.__getitem__)


def fewest_axes(layout: str) -> int:
    """Return the smallest number of axes of an array in a layout; in NCX or IOX an array may have any shape."""
    return 0 if layout in {DataFormat.NCX, FilterFormat.IOX} else len(layout) - 1


def data_shape(shape: Ints, data_format: str) -> Ints:
    """Return an NCX shape in `data_format`."""
    return tuple(_arranged(shape, DataFormat(data_format)))


def filter_shape(shape: Ints, filter_format: str, groups: int) -> Ints:
    """Return an IOX shape in `filter_format`."""
    return tuple(_arranged(_with_groups(shape, filter_format, groups), FilterFormat(filter_format)))


def from_ncx(array: Array, data_format: str) -> Array:
    """Return an (N, C, X...) array in `data_format`, contiguous."""
    return _in_layout(array, DataFormat(data_format))


def to_ncx(array: Array, data_format: str) -> Array:
    """Return an array in `data_format` as (N, C, X...)."""
    return _in_canonical(array, DataFormat(data_format))


def from_iox(array: Array, filter_format: str, groups: int = 1) -> Array:
    """Return a (C, O/G, K...) filter in `filter_format`, contiguous."""
    shape = _with_groups(array.shape, filter_format, groups)
    return _in_layout(array.reshape(shape), FilterFormat(filter_format))


def to_iox(array: Array, filter_format: str) -> Array:
    """Return a filter in `filter_format` as (C, O/G, K...)."""
    array = _in_canonical(array, FilterFormat(filter_format))
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:]) if "G" in filter_format else array


def _canonical(layout: str) -> str:
    return next(letters for letters in ("NCX", "IOX", "GIOX") if set(letters) == set(layout))


def _with_groups(shape: Ints, filter_format: str, groups: int) -> Ints:
    return (groups, shape[0] // groups, *shape[1:]) if "G" in filter_format else shape


def _arranged(axes: Sequence[T], layout: str) -> Sequence[T]:
    """Return the entries for the axes of a canonical layout in the order of another layout."""
    if layout == _canonical(layout):
        return axes
    return [axes[axis] for axis in inverse(permutation(layout, len(axes) - len(layout) + 1))]


def _in_layout(array: Array, layout: str) -> Array:
    order = _arranged(range(array.ndim), layout)
    return array if layout == _canonical(layout) else np.ascontiguousarray(array.transpose(order))


def _in_canonical(array: Array, layout: str) -> Array:
    return array if layout == _canonical(layout) else array.transpose(permutation(layout, array.ndim - len(layout) + 1))

"""Layouts are permutations of the canonical ones, and undo each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import case, examples
from tconv.cases.call import express, write_signature
from tconv.cases.layouts import data_shape, fewest_axes, from_iox, from_ncx, permutation, to_iox, to_ncx
from tconv.cases.operands import make_operands
from tconv.dialects import DIALECTS
from tconv.errors import Invalid
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.vocabulary import Ints

Array = np.ndarray[Any, np.dtype[Any]]

_SIZES = st.lists(st.integers(0, 4), min_size=2, max_size=6).map(tuple)


def counted(shape: Ints) -> Array:
    return np.arange(float(np.prod(shape, dtype=int))).reshape(shape)


def test_a_layout_may_be_its_text() -> None:
    """A runner's call has texts: they are no other layout, and what is none is refused."""
    array, filled = counted((2, 3, 4)), counted((3, 2, 4))
    for data_format in DataFormat:
        assert to_ncx(array, data_format.value).shape == to_ncx(array, data_format).shape  # type: ignore[arg-type]
    for filter_format in (FilterFormat.IOX, FilterFormat.XOI):
        assert to_iox(filled, filter_format.value).shape == to_iox(filled, filter_format).shape  # type: ignore[arg-type]
    for convert in (to_ncx, from_ncx, to_iox, from_iox):
        with pytest.raises(ValueError, match="XNC"):
            convert(array, "XNC")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("layout", "place"),
    [
        (DataFormat.NXC, lambda n, c, h, w: (n, h, w, c)),
        (FilterFormat.XOI, lambda i, o, h, w: (h, w, o, i)),
        (FilterFormat.OXI, lambda i, o, h, w: (o, h, w, i)),
        (FilterFormat.GIOX, lambda i, o, h, w: (i // 3, i % 3, o, h, w)),
    ],
)
def test_layouts_by_hand(layout: DataFormat | FilterFormat, place: Callable[..., Ints]) -> None:
    canonical = counted((6, 3, 4, 5))
    there = from_ncx(canonical, layout) if isinstance(layout, DataFormat) else from_iox(canonical, layout, 2)
    assert there.size == canonical.size
    assert all(there[place(*at)] == canonical[at] for at in np.ndindex(*canonical.shape))


@given(_SIZES, st.sampled_from(DataFormat))
@examples(100)
def test_data_there_and_back(shape: Ints, data_format: DataFormat) -> None:
    array = counted(shape)
    there = from_ncx(array, data_format)
    assert there.shape == data_shape(shape, data_format)
    assert there.flags.c_contiguous
    assert np.array_equal(to_ncx(there, data_format), array)


@given(_SIZES, st.sampled_from(FilterFormat), st.integers(1, 3))
@examples(150)
def test_filter_there_and_back(shape: Ints, filter_format: FilterFormat, groups: int) -> None:
    array = counted((shape[0] * groups, *shape[1:]))
    there = from_iox(array, filter_format, groups)
    assert there.flags.c_contiguous
    back = to_iox(there, filter_format)
    assert back.shape == array.shape
    assert np.array_equal(back, array)


@given(st.integers(0, 4), st.sampled_from(FilterFormat))
@examples(20)
def test_a_filter_is_transposed_by_the_permutation_of_its_letters(rank: int, filter_format: FilterFormat) -> None:
    """The axes that a Transpose node is given bring a filter's layout to IOX; of GIOX the first two become one."""
    array = counted((4, *range(3, rank + 4)))
    there = from_iox(array, filter_format, 2)
    assert np.array_equal(there.transpose(permutation(filter_format, rank)).reshape(array.shape), array)


@pytest.mark.parametrize("layout", [*DataFormat, *FilterFormat])
def test_the_fewest_axes_are_enough(layout: str) -> None:
    canonical = counted((4, 6))
    array = from_ncx(canonical, layout) if layout in set(DataFormat) else from_iox(canonical, layout, 2)
    assert array.ndim >= fewest_axes(layout)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("data_format", [None, *DataFormat])
@pytest.mark.parametrize("filter_format", [None, *FilterFormat])
def test_a_calls_shapes_are_its_arrays(
    dialect: str, groups: int, data_format: DataFormat | None, filter_format: FilterFormat | None
) -> None:
    asked = case(
        (5, 7),
        (3, 2),
        batch=2,
        channels=4,
        filters=6,
        groups=groups,
        data_format=data_format,
        filter_format=filter_format,
    )
    row = DIALECTS[dialect]
    if any(row.without_word(write_signature(asked, row))):
        with pytest.raises(Invalid):
            express(asked, row)
        return
    call = express(asked, row)
    operands = make_operands(asked.x, asked.w, None)
    assert call.inputs[0].shape == from_ncx(operands["x"], call.data_format).shape
    assert call.inputs[1].shape == from_iox(operands["w"], call.filter_format, call.groups).shape

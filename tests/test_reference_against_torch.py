"""The reference against torch in float64: the same bits on integer data, for thousands of geometries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import axes, case, examples
from tconv.cases.operands import make_operands
from tconv.dialects import DIALECTS
from tconv.expectation.expected import NotApplicable, Values, expect
from tconv.expectation.problem import truth_of
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case

Array = np.ndarray[Any, np.dtype[np.float64]]

CONV_TRANSPOSE = {
    1: torch.nn.functional.conv_transpose1d,
    2: torch.nn.functional.conv_transpose2d,
    3: torch.nn.functional.conv_transpose3d,
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Have torch use one thread: these are thousands of small sums, and other processes are at work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@st.composite
def calls(draw: st.DrawFn) -> Case:
    """Return cases in torch's own words, valid and not: its own function decides, and not the row."""
    rank = draw(st.integers(1, 3))
    pads, groups = draw(axes(rank, 0, 3)), draw(st.integers(1, 3))
    filters = draw(st.integers(1, 2))
    return case(
        draw(axes(rank, 1, 5)),
        draw(axes(rank, 1, 4)),
        batch=draw(st.integers(1, 2)),
        channels=groups * draw(st.integers(1, 2)) + draw(st.sampled_from((0, 0, 0, 1))),
        filters=filters,
        bias=draw(st.sampled_from((None, (filters * groups,), (filters * groups,), (filters * groups + 1,)))),
        strides=draw(axes(rank, 1, 4)),
        dilations=draw(axes(rank, 1, 3)),
        pads_begin=pads,
        pads_end=pads,
        output_padding=draw(axes(rank, 0, 3)),
        groups=groups,
        dtype=DType.F64,
    )


@given(calls())
@examples(1000)
def test_torch_computes_what_its_row_says(asked: Case) -> None:
    """Where the row has a value torch computes it, bit for bit, or the row allows a refusal; it refuses the rest."""
    row = DIALECTS["torch/conv_transpose"]
    written = expect(asked, row)
    arrays = make_operands(asked.x, asked.w, asked.b)
    x, w, *b = (torch.from_numpy(array.copy()) for array in arrays.values())
    function, attributes = CONV_TRANSPOSE[len(asked.x.shape) - 2], asked.attributes
    try:
        y = function(
            x,
            w,
            *b,
            stride=attributes.strides,
            padding=attributes.pads_begin,
            output_padding=attributes.output_padding,
            groups=attributes.groups,
            dilation=attributes.dilations,
        )
    except RuntimeError:
        assert isinstance(written, NotApplicable) or (isinstance(written, Values) and written.refusals)
        return
    assert isinstance(written, Values)
    assert np.array_equal(y.numpy(), truth_of(asked).compute_values(written.primary.geometry))

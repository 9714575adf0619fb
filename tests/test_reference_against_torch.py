"""The reference against torch in float64: the same bits on integer data, for thousands of geometries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import axes, case, examples
from tconv.cases.operands import make_operands
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.expectation.expected import NotApplicable, Values, expect
from tconv.expectation.problem import truth_of
from tconv.expectation.reference import definition
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
LONGEST = {1: 9, 2: 5, 3: 3}


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Have torch use one thread: these are thousands of small sums, and other processes are at work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass(frozen=True)
class Question:
    """A geometry and operands for it."""

    geometry: Geometry
    x: Array
    w: Array
    b: Array | None


@st.composite
def questions(draw: st.DrawFn, rank: int, kernels: tuple[int, int], strides: tuple[int, int]) -> Question:
    """Return questions of a rank whose output is cropped, grown or exact on either side."""
    longest = LONGEST[rank]
    spatial, kernel = draw(axes(rank, 1, longest)), draw(axes(rank, *kernels))
    geometry = Geometry(
        spatial=spatial,
        kernel=kernel,
        strides=draw(axes(rank, *strides)),
        dilations=draw(axes(rank, 1, 3)),
        pads_begin=draw(axes(rank, -2, 4)),
        output=(1,) * rank,
        groups=draw(st.integers(1, 3)),
    )
    ends = draw(axes(rank, -3, 4))
    sizes = (
        max(full - begin - end, 0) for full, begin, end in zip(geometry.full, geometry.pads_begin, ends, strict=True)
    )
    inputs, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def integers(*shape: int) -> Array:
        return rng.integers(-15, 16, shape).astype(np.float64)

    return Question(
        replace(geometry, output=tuple(sizes)),
        integers(draw(st.integers(1, 3)), geometry.groups * inputs, *spatial),
        integers(geometry.groups * inputs, outputs, *kernel),
        integers(geometry.groups * outputs) if draw(st.booleans()) else None,
    )


def cut(reached: Array, geometry: Geometry) -> Array:
    """Return the part of what is reached that the output has, with zeros beyond: crop by index, one point at a time."""
    for axis, (begin, size) in enumerate(zip(geometry.pads_begin, geometry.output, strict=True), start=2):
        places = np.arange(begin, begin + size)
        inside = (places >= 0) & (places < reached.shape[axis])
        taken = np.take(reached, np.where(inside, places, 0), axis=axis)
        shape = [-1 if a == axis else 1 for a in range(reached.ndim)]
        reached = np.where(inside.reshape(shape), taken, 0.0)
    return reached


def by_torch(question: Question, **attributes: Any) -> Array:  # noqa: ANN401 - torch's own
    """Return torch's answer, with what is not given at torch's defaults."""
    geometry = question.geometry
    bias = attributes.pop("bias", None)
    answer: Array = CONV_TRANSPOSE[len(geometry.spatial)](
        torch.from_numpy(question.x),
        torch.from_numpy(question.w),
        None if bias is None else torch.from_numpy(bias),
        stride=geometry.strides,
        dilation=geometry.dilations,
        groups=geometry.groups,
        **attributes,
    ).numpy()
    return answer


@pytest.mark.parametrize(
    ("ranks", "kernels", "strides"),
    [
        ((1, 1), (1, 9), (1, 5)),
        ((2, 2), (1, 4), (1, 4)),
        ((3, 3), (1, 3), (1, 3)),
        ((1, 1), (10, 13), (1, 3)),
        ((2, 2), (6, 9), (1, 3)),
        ((1, 3), (1, 2), (3, 6)),
    ],
    ids=["lines", "planes", "volumes", "long-kernels-on-lines", "large-kernels-on-planes", "gaps-between-taps"],
)
@given(st.data())
@examples(1000)
def test_without_padding_cropped(
    ranks: tuple[int, int], kernels: tuple[int, int], strides: tuple[int, int], data: st.DataObject
) -> None:
    """Torch is asked without padding; its answer is cropped, and the bias added aside."""
    question = data.draw(st.integers(*ranks).flatmap(lambda rank: questions(rank, kernels, strides)))
    expected = cut(by_torch(question), question.geometry)
    if question.b is not None:
        expected = expected + question.b.reshape(-1, *[1] * len(question.geometry.spatial))
    found = definition(question.x, question.w, question.b, question.geometry)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert np.array_equal(found, expected)


@st.composite
def plain_questions(draw: st.DrawFn) -> tuple[Question, tuple[int, ...], tuple[int, ...]]:
    """Return questions that torch can be asked as they are: equal pads on both sides, and an output_padding."""
    rank = draw(st.integers(1, 3))
    question = draw(questions(rank, (1, LONGEST[rank]), (1, 4)))
    geometry = question.geometry
    # Pads that leave something: torch refuses an output without elements.
    pads = tuple(draw(st.integers(0, (full - 1) // 2)) for full in geometry.full)
    larger = map(max, geometry.strides, geometry.dilations)
    output_padding = tuple(draw(st.integers(0, limit - 1)) for limit in larger)
    sizes = tuple(full - 2 * pad + op for full, pad, op in zip(geometry.full, pads, output_padding, strict=True))
    asked = replace(question, geometry=replace(geometry, pads_begin=pads, output=sizes))
    return asked, pads, output_padding


@given(plain_questions())
@examples(900)
def test_torch_asked_with_its_own_padding(asked: tuple[Question, tuple[int, ...], tuple[int, ...]]) -> None:
    """Torch's own padding, output_padding and bias come to the same: its output_padding is bounded as ONNX's is."""
    question, pads, output_padding = asked
    expected = by_torch(question, bias=question.b, padding=pads, output_padding=output_padding)
    found = definition(question.x, question.w, question.b, question.geometry)
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


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

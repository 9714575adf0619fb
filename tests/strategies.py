"""What several test modules build with and draw from."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st

from tconv.cases.case import Case, Operand
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.expectation.expected import NotApplicable, expect_of_signature
from tconv.vocabulary import ATTRIBUTES, Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from tconv.cases.case import Data
    from tconv.vocabulary import Ints

_Entry = TypeVar("_Entry")
TODAY = datetime.now(UTC).toordinal()
"""The number of the day, which chooses the part of a large set of tests."""
ONNX = ("onnx/ConvTranspose-1", "onnx/ConvTranspose-11", "onnx/ConvTranspose-22")
BACKPROP = (
    "onednn/ConvolutionBackpropData-1",
    "openvino/ConvolutionBackpropData-1",
    "openvino/GroupConvolutionBackpropData-1",
)
ONEDNN = "onednn/ConvTranspose-1"


def examples(count: int) -> settings:
    """Return settings for `count` examples, a fifth of them in hypothesis' profile `quick`."""
    return settings(max_examples=max(1, count // _divisor()))


def every(step: int) -> int:
    """Return the step of a sample of many cases: five times as long in hypothesis' profile `quick`."""
    return step * _divisor()


def part(whole: Sequence[_Entry], most: int) -> Sequence[_Entry]:
    """Return all of the whole; in hypothesis' profile `quick` one of `most` parts, each day the next."""
    parts = min(every(1), most)
    return whole[TODAY % parts :: parts]


def _divisor() -> int:
    return 100 // settings.default.max_examples  # type: ignore[union-attr] # it is there when tests are collected


def written(spatial: Ints, kernel: Ints, attributes: Attributes | None = None) -> Signature:
    """Return a signature with one channel a group."""
    chosen = attributes or Attributes()
    groups = chosen.groups or 1
    return Signature(
        chosen, TensorType((1, groups, *spatial), DType.F32), TensorType((groups, 1, *kernel), DType.F32), None
    )


NARROW = [
    name
    for name, dialect in DIALECTS.items()
    if isinstance(
        expect_of_signature(written((5,), (3,), Attributes((1,), (1,), pads_begin=(1,), pads_end=(0,))), dialect),
        NotApplicable,
    )
]
"""Dialects that cannot say a pad on one side of one axis: of another number of axes, without pads, or of equal ones."""
WIDE = [name for name in DIALECTS if name not in NARROW]


def case(
    spatial: Ints,
    kernel: Ints,
    *,
    batch: int = 1,
    channels: int = 1,
    filters: int = 1,
    bias: Ints | None = None,
    dtype: DType = DType.F32,
    data: Data = "integers",
    **rest: Any,  # noqa: ANN401 - attributes and fields of the case by their names
) -> Case:
    """Return a case; `filters` is the filter's second size, O/G, and what is no attribute is a field of the case."""
    attributes = Attributes(**{name: rest.pop(name) for name in tuple(rest) if name in ATTRIBUTES})
    return Case(
        "topic/file/name",
        attributes,
        x=Operand((batch, channels, *spatial), dtype, data),
        w=Operand((channels, filters, *kernel), dtype, data),
        b=None if bias is None else Operand(bias, dtype, data),
        **rest,
    )


def axes(rank: int, low: int, high: int) -> st.SearchStrategy[Ints]:
    """Return tuples of an integer of low..high for each of `rank` axes."""
    return st.tuples(*[st.integers(low, high)] * rank)


@cache
def onnx_examples() -> dict[str, tuple[onnx.NodeProto, list[Any], list[Any]]]:
    """Return the examples that onnx's backend tests are made of: node, inputs, outputs, by name."""
    module = import_module("onnx.backend.test.case.node.convtranspose")
    found = {}

    def expect(node: onnx.NodeProto, inputs: list[Any], outputs: list[Any], name: str) -> None:
        found[name] = node, inputs, outputs

    with patch.object(module, "expect", expect):
        for name in vars(module.ConvTranspose):
            if name.startswith("export"):
                getattr(module.ConvTranspose, name)()
    return found


@st.composite
def attributes(draw: st.DrawFn, rank: int) -> Attributes:
    """Return attributes that every needed constraint holds for: lists of the right length, in range."""
    return Attributes(
        strides=draw(st.none() | axes(rank, 1, 5)),
        dilations=draw(st.none() | axes(rank, 1, 4)),
        pads_begin=draw(st.none() | axes(rank, 0, 4)),
        pads_end=draw(st.none() | axes(rank, 0, 4)),
        auto_pad=draw(st.none() | st.sampled_from(AutoPad)),
        output_padding=draw(st.none() | axes(rank, 0, 4)),
        output_shape=draw(st.none() | axes(rank, 0, 25)),
    )


@st.composite
def signatures(draw: st.DrawFn, smallest: int = 1) -> Signature:
    """Return signatures that can be resolved, of one to three spatial axes with sizes from `smallest` on."""
    rank = draw(st.integers(1, 3))
    return written(draw(axes(rank, smallest, 6)), draw(axes(rank, smallest, 5)), draw(attributes(rank)))


@st.composite
def geometries(
    draw: st.DrawFn, ranks: tuple[int, int] = (1, 4), groups: tuple[int, int] = (1, 3), smallest: int = 1
) -> Geometry:
    """Return geometries whose output begins and ends anywhere: cropped, exact, or beyond what is reached."""
    rank = draw(st.integers(*ranks))
    longest, largest = {1: (6, 20), 2: (5, 12), 3: (3, 7), 4: (2, 5)}[rank]
    return Geometry(
        spatial=draw(axes(rank, smallest, longest)),
        kernel=draw(axes(rank, smallest, longest)),
        strides=draw(axes(rank, 1, longest)),
        dilations=draw(axes(rank, 1, 3)),
        pads_begin=draw(axes(rank, -2, 4)),
        output=draw(axes(rank, smallest, largest)),
        groups=draw(st.integers(*groups)),
    )

"""Misreadings of attributes and of the geometry: another size on an axis, or another beginning of the output."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from tconv.diagnosis.misreadings.misreading import AttributesOtherwise, GeometryOtherwise, Misreading
from tconv.dialects.geometry import reach
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Attributes, Ints, Signature


def _each(change: Callable[[Ints], Ints], *names: str) -> Callable[[Attributes], Attributes]:
    """Return the change of each given list with numbers for the axes."""

    def changed(attributes: Attributes) -> Attributes:
        values: dict[str, Any] = {name: change(of) for name in names if (of := getattr(attributes, name)) is not None}
        return replace(attributes, **values)

    return changed


def _of_the_first(values: Ints) -> Ints:
    return values[:1] * len(values)


def _third_as_the_first(values: Ints) -> Ints:
    return (*values[:2], *(values[:1] * len(values[2:])))


def _reversed(values: Ints) -> Ints:
    return values[::-1]


def _without(*names: str) -> Callable[[Attributes], Attributes]:
    return lambda attributes: replace(attributes, **dict.fromkeys(names))


def _exchanged(first: str, second: str) -> Callable[[Attributes], Attributes]:
    return lambda a: replace(a, **{first: getattr(a, second), second: getattr(a, first)})


def _upper_for_lower(attributes: Attributes) -> Attributes:
    mode = attributes.auto_pad
    return attributes if mode is None else replace(attributes, auto_pad=_OTHER_MODE.get(mode, mode))


_OTHER_MODE: dict[str, str] = {
    AutoPad.SAME_UPPER: AutoPad.SAME_LOWER,
    AutoPad.SAME_LOWER: AutoPad.SAME_UPPER,
}


def _both_pads(change: Callable[[Ints, Ints], tuple[Ints, Ints]]) -> Callable[[Attributes], Attributes]:
    """Return the change of pads_begin and pads_end, if one of these is given."""

    def changed(attributes: Attributes) -> Attributes:
        given = attributes.pads_begin or attributes.pads_end
        if given is None:
            return attributes
        begin, end = change(*(attributes.per_axis(name, len(given)) for name in _PADS))
        return replace(attributes, pads_begin=begin, pads_end=end)

    return changed


def _interleaved(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    return (*begin, *end)[::2], (*begin, *end)[1::2]


_PADS = ("pads_begin", "pads_end")

_OF_ATTRIBUTES = tuple(
    Misreading(name, says, AttributesOtherwise(change))
    for name, says, change in (
        ("pads-ignored", "pads are ignored", _without(*_PADS)),
        ("pads-exchanged", "pads of begin and end are exchanged", _exchanged(*_PADS)),
        # PaddlePaddle/X2Paddle#792, robertknight/rten#1399
        ("pads-interleaved",
         "the list of pads is read as begin and end of the first axis, then of the second axis, and so on",
         _both_pads(_interleaved)),
        ("pads-symmetric", "the pads of the beginning are used on both sides",
         _both_pads(lambda begin, _: (begin, begin))),
        # tensorflow/tensorflow#24151
        ("pads-axes-reversed", "the axes have each other's pads, in reverse order", _each(_reversed, *_PADS)),
        ("pads-of-the-first-axis", "the first pads are used on every axis", _each(_of_the_first, *_PADS)),
        ("third-axis-has-the-pads-of-the-first", "the third of three axes has the pads of the first axis",
         _each(_third_as_the_first, *_PADS)),
        # apache/tvm#18635, openvinotoolkit/openvino#202, opencv/opencv#28264, pytorch/pytorch#169176
        ("output-padding-ignored", "output_padding is ignored", _without("output_padding")),
        # ARM-software/ComputeLibrary#482
        ("output-padding-axes-reversed", "the axes have each other's output_padding, in reverse order",
         _each(_reversed, "output_padding")),
        ("strides-ignored", "every stride is 1", _without("strides")),
        # PaddlePaddle/Paddle#20997, deepjavalibrary/djl#384
        ("strides-of-the-first-axis", "the first stride is used on every axis", _each(_of_the_first, "strides")),
        ("strides-axes-reversed", "the axes have each other's strides, in reverse order", _each(_reversed, "strides")),
        # keras-team/keras#8159, tensorflow/tensorflow#21598
        ("dilations-ignored", "every dilation is 1", _without("dilations")),
        ("dilations-of-the-first-axis", "the first dilation is used on every axis", _each(_of_the_first, "dilations")),
        ("dilations-axes-reversed", "the axes have each other's dilations, in reverse order",
         _each(_reversed, "dilations")),
        # huggingface/candle#2337
        ("strides-for-dilations", "strides and dilations are exchanged", _exchanged("strides", "dilations")),
        # microsoft/onnxruntime#4086, apache/tvm#19450, openvinotoolkit/openvino#32608
        ("auto-pad-ignored", "auto_pad is ignored", _without("auto_pad")),
        # microsoft/onnxruntime#9370
        ("upper-for-lower", "SAME_UPPER and SAME_LOWER are exchanged", _upper_for_lower),
        # pytorch/pytorch#75889
        ("output-shape-ignored", "output_shape is ignored", _without("output_shape")),
    )
)  # fmt: skip


class _Axis(NamedTuple):
    """A spatial axis with its expected numbers.

    Attributes:
        number: its number, from 0.
        x, k, s, d, op: the sizes of data and filter, stride, dilation and output_padding.
        begin: the number of points before the output.
        size: the number of points of the output.
        upper: whether the odd point is cropped at the end.
    """

    number: int
    x: int
    k: int
    s: int
    d: int
    op: int
    begin: int
    size: int
    upper: bool

    @property
    def reach(self) -> int:
        """The distance between the first and last tap."""
        return (self.k - 1) * self.d


def _is_sized(signature: Signature) -> bool:
    return signature.attributes.output_shape is not None


def _is_same(signature: Signature) -> bool:
    return signature.auto_pad in {AutoPad.SAME_UPPER, AutoPad.SAME_LOWER} and not _is_sized(signature)


def _is_summed(signature: Signature) -> bool:
    """Return whether the size is the full size with output_padding, less the pads."""
    return signature.auto_pad in {AutoPad.EXPLICIT, AutoPad.VALID} and not _is_sized(signature)


def _always(_: Signature) -> bool:
    return True


def _as_of_a_convolution(axis: _Axis, _: _Axis) -> tuple[int, int]:
    total = max((-(-axis.x // axis.s) - 1) * axis.s + axis.reach + 1 - axis.x, 0)
    begin = total // 2 if axis.upper else total - total // 2
    return begin, reach(axis.x, axis.k, axis.s, axis.d) + axis.op - total


def _of_axes(
    change: Callable[[_Axis, _Axis], tuple[int, int]], applies: Callable[[Signature], bool]
) -> GeometryOtherwise:
    """Return the change of each axis.

    Args:
        change: returns pads_begin and the size of an axis, from the expected numbers of this axis and of the first.
        applies: whether a call is changed.
    """

    def changed(geometry: Geometry, signature: Signature) -> Geometry:
        if not geometry.output or not applies(signature):
            return geometry
        numbers = (
            geometry.spatial, geometry.kernel, geometry.strides, geometry.dilations,
            signature.per_axis("output_padding"), geometry.pads_begin, geometry.output,
        )  # fmt: skip
        axes = list(map(_Axis, count(), *numbers, repeat(signature.auto_pad == AutoPad.SAME_UPPER)))
        begin, output = zip(*(change(axis, axes[0]) for axis in axes), strict=True)
        return replace(geometry, pads_begin=begin, output=output)

    return GeometryOtherwise(changed)


_OF_AXES = tuple(
    Misreading(name, says, _of_axes(change, applies))
    for name, says, applies, change in (
        ("output-padding-at-the-beginning", "output_padding is added at the beginning", _always,
         lambda axis, _: (axis.begin - axis.op, axis.size)),
        ("one-too-early",
         "on every axis the output begins one point too early, so that values lie one point too far to the end",
         _always, lambda axis, _: (axis.begin - 1, axis.size)),
        # keras-team/keras#22876
        ("one-too-late",
         "on every axis the output begins one point too late, so that values lie one point too far to the beginning",
         _always, lambda axis, _: (axis.begin + 1, axis.size)),
        ("begin-of-the-first-axis",
         "every axis of the output begins at the point that is right for the first axis; its size is right",
         _always, lambda axis, first: (first.begin, axis.size)),
        ("third-axis-begins-as-the-first",
         "the third of three axes begins at the point that is right for the first axis; its size is right",
         _always, lambda axis, first: ((axis if axis.number <= 1 else first).begin, axis.size)),
        # microsoft/onnxruntime#2518, microsoft/onnxruntime#2688
        ("kernel-plus-dilation",
         "without output_shape and SAME, a dilated kernel counts as kernel + dilation - 1 in the size", _is_summed,
         lambda axis, _: (axis.begin, axis.size - axis.reach + axis.k + axis.d - 2)),
        # nntrainer/nntrainer#4347
        ("kernel-of-the-first-axis",
         "without output_shape and SAME, the kernel of the first axis gives the size of every axis", _is_summed,
         lambda axis, first: (axis.begin, axis.size - axis.reach + first.reach)),
        ("same-as-of-a-convolution",
         "SAME crops the padding that a convolution of the same data would have; this gives the output size",
         _is_same, _as_of_a_convolution),
        # microsoft/onnxruntime#26665, openvino 2026.4 reading ONNX models with groups
        ("output-shape-pads-nothing", "with output_shape the output begins at the first point that the taps reach",
         _is_sized, lambda axis, _: (0, axis.size)),
    )
)  # fmt: skip
MISREADINGS = (*_OF_ATTRIBUTES, *_OF_AXES)

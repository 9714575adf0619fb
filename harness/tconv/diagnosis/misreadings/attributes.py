"""Misreadings of attributes: they are overlooked, exchanged, or read in another order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tconv.diagnosis.misreadings.misreading import AttributesOtherwise, Misreading
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.vocabulary import Attributes, Ints


def _first(*names: str) -> Callable[[Attributes], Attributes]:
    """Return the change that uses the first axis's value on every axis."""

    def change(attributes: Attributes) -> Attributes:
        first: dict[str, Any] = {
            name: (value[0],) * len(value) for name in names if (value := getattr(attributes, name))
        }
        return replace(attributes, **first)

    return change


def _first_on_the_third(*names: str) -> Callable[[Attributes], Attributes]:
    """Return the change that uses the first axis's value on the third axis."""

    def change(attributes: Attributes) -> Attributes:
        first: dict[str, Any] = {
            name: (*value[:2], value[0])
            for name in names
            if (value := getattr(attributes, name)) is not None and len(value) == _IN_SPACE
        }
        return replace(attributes, **first)

    return change


_IN_SPACE = 3
"""The axes of a volume."""


def _reversed(*names: str) -> Callable[[Attributes], Attributes]:
    """Return the change that reads the axes in reverse order."""

    def change(attributes: Attributes) -> Attributes:
        values: dict[str, Any] = {
            name: value[::-1] for name in names if (value := getattr(attributes, name)) is not None
        }
        return replace(attributes, **values)

    return change


def _without(*names: str) -> Callable[[Attributes], Attributes]:
    """Return the change that overlooks attributes."""
    return lambda attributes: replace(attributes, **dict.fromkeys(names))


def _exchanged(first: str, second: str) -> Callable[[Attributes], Attributes]:
    """Return the change that exchanges two attributes."""
    return lambda a: replace(a, **{first: getattr(a, second), second: getattr(a, first)})


def _upper_for_lower(attributes: Attributes) -> Attributes:
    mode = attributes.auto_pad
    return attributes if mode is None else replace(attributes, auto_pad=_OTHER_MODE.get(mode, mode))


_OTHER_MODE: dict[str, str] = {
    AutoPad.SAME_UPPER: AutoPad.SAME_LOWER,
    AutoPad.SAME_LOWER: AutoPad.SAME_UPPER,
}


def _pads(attributes: Attributes) -> tuple[Ints, Ints] | None:
    if attributes.pads_begin is None and attributes.pads_end is None:
        return None
    rank = len(attributes.pads_begin or attributes.pads_end or ())
    return attributes.per_axis("pads_begin", rank), attributes.per_axis("pads_end", rank)


def _interleaved(attributes: Attributes) -> Attributes:
    if (pads := _pads(attributes)) is None:
        return attributes
    flat = (*pads[0], *pads[1])
    return replace(attributes, pads_begin=flat[::2], pads_end=flat[1::2])


def _symmetric(attributes: Attributes) -> Attributes:
    if (pads := _pads(attributes)) is None:
        return attributes
    return replace(attributes, pads_begin=pads[0], pads_end=pads[0])


MISREADINGS = tuple(
    Misreading(name, says, AttributesOtherwise(change), seen)
    for name, says, change, seen in (
        ("pads-ignored", "pads are overlooked", _without("pads_begin", "pads_end"), ""),
        ("pads-exchanged", "pads of begin and end are exchanged", _exchanged("pads_begin", "pads_end"), ""),
        (
            "pads-interleaved",
            "pads_begin followed by pads_end is read as begin and end of each axis in turn",
            _interleaved,
            "PaddlePaddle/X2Paddle#792, robertknight/rten#1399",
        ),
        ("pads-symmetric", "the pads of the beginning are used on both sides", _symmetric, ""),
        (
            "pads-axes-reversed",
            "pads are taken for the axes in reverse order",
            _reversed("pads_begin", "pads_end"),
            "tensorflow/tensorflow#24151",
        ),
        ("pads-of-the-first-axis", "the first pads are used on every axis", _first("pads_begin", "pads_end"), ""),
        (
            "third-axis-has-the-pads-of-the-first",
            "of three axes the third has the pads of the first",
            _first_on_the_third("pads_begin", "pads_end"),
            "",
        ),
        (
            "output-padding-ignored",
            "output_padding is overlooked",
            _without("output_padding"),
            "apache/tvm#18635, openvinotoolkit/openvino#202, opencv/opencv#28264, pytorch/pytorch#169176",
        ),
        (
            "output-padding-axes-reversed",
            "output_padding is taken for the axes in reverse order",
            _reversed("output_padding"),
            "ARM-software/ComputeLibrary#482",
        ),
        ("strides-ignored", "every stride is 1", _without("strides"), ""),
        (
            "strides-of-the-first-axis",
            "the first stride is used on every axis",
            _first("strides"),
            "PaddlePaddle/Paddle#20997, deepjavalibrary/djl#384",
        ),
        ("strides-axes-reversed", "strides are taken for the axes in reverse order", _reversed("strides"), ""),
        (
            "dilations-ignored",
            "every dilation is 1",
            _without("dilations"),
            "keras-team/keras#8159, tensorflow/tensorflow#21598",
        ),
        ("dilations-of-the-first-axis", "the first dilation is used on every axis", _first("dilations"), ""),
        ("dilations-axes-reversed", "dilations are taken for the axes in reverse order", _reversed("dilations"), ""),
        (
            "strides-for-dilations",
            "strides and dilations are exchanged",
            _exchanged("strides", "dilations"),
            "huggingface/candle#2337",
        ),
        (
            "auto-pad-ignored",
            "auto_pad is overlooked, as if it were not given",
            _without("auto_pad"),
            "microsoft/onnxruntime#4086, apache/tvm#19450, openvinotoolkit/openvino#32608",
        ),
        ("upper-for-lower", "SAME_UPPER and SAME_LOWER are exchanged", _upper_for_lower, "microsoft/onnxruntime#9370"),
        ("output-shape-ignored", "output_shape is overlooked", _without("output_shape"), "pytorch/pytorch#75889"),
    )
)

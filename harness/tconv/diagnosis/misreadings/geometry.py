"""Misreadings of attributes and of the geometry: another size on an axis, or another beginning of the output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tconv.diagnosis.misreadings.misreading import AttributesOtherwise, Misreading, axes_of, in_geometry
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import Axis, CallOtherwise
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Attributes, Ints, Signature


def _each(change: Callable[[Ints], Ints], *names: str) -> Callable[[Attributes], Attributes]:
    """Return the change of each given list with numbers for the axes."""

    def changed(attributes: Attributes) -> Attributes:
        values: dict[str, Any] = {name: change(of) for name in names if (of := getattr(attributes, name)) is not None}
        return replace(attributes, **values)

    return changed


def _without(*names: str) -> Callable[[Attributes], Attributes]:
    return lambda attributes: replace(attributes, **dict.fromkeys(names))


def _exchanged(first: str, second: str) -> Callable[[Attributes], Attributes]:
    return lambda a: replace(a, **{first: getattr(a, second), second: getattr(a, first)})


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


_OTHER_MODE: dict[str | None, str] = {AutoPad.SAME_UPPER: AutoPad.SAME_LOWER, AutoPad.SAME_LOWER: AutoPad.SAME_UPPER}
_PADS = ("pads_begin", "pads_end")
_LISTS = (
    ("pads", "are", _PADS),
    ("output_padding", "is", ("output_padding",)),
    ("strides", "are", ("strides",)),
    ("dilations", "are", ("dilations",)),
)
"""The attributes with a number for each axis: the word for them, its verb, and their names."""

_OF_ATTRIBUTES = tuple(
    Misreading(name.replace("_", "-"), says, AttributesOtherwise(change))
    for name, says, change in (
        # apache/tvm#18635, openvinotoolkit/openvino#202, opencv/opencv#28264, pytorch/pytorch#169176 (output_padding),
        # keras-team/keras#8159, tensorflow/tensorflow#21598 (dilations)
        *((f"{of}-ignored", f"{of} {verb} ignored", _without(*names)) for of, verb, names in _LISTS),
        # PaddlePaddle/Paddle#20997, deepjavalibrary/djl#384 (strides)
        *((f"{of}-of-the-first-axis", f"every axis has the {of} of the first axis",
           _each(lambda values: values[:1] * len(values), *names)) for of, _, names in _LISTS),
        # tensorflow/tensorflow#24151 (pads), ARM-software/ComputeLibrary#482 (output_padding)
        *((f"{of}-axes-reversed", f"the axes have each other's {of}, in reverse order",
           _each(lambda values: values[::-1], *names)) for of, _, names in _LISTS),
        ("pads-exchanged", "pads of begin and end are exchanged", _exchanged(*_PADS)),
        # PaddlePaddle/X2Paddle#792, robertknight/rten#1399
        ("pads-interleaved",
         "the list of pads is read as begin and end of the first axis, then of the second axis, and so on",
         _both_pads(_interleaved)),
        ("pads-symmetric", "the pads of the beginning are used on both sides",
         _both_pads(lambda begin, _: (begin, begin))),
        # huggingface/candle#2337
        ("strides-for-dilations", "strides and dilations are exchanged", _exchanged("strides", "dilations")),
        # microsoft/onnxruntime#4086, apache/tvm#19450, openvinotoolkit/openvino#32608
        ("auto-pad-ignored", "auto_pad is ignored", _without("auto_pad")),
        # microsoft/onnxruntime#9370
        ("upper-for-lower", "SAME_UPPER and SAME_LOWER are exchanged",
         lambda a: replace(a, auto_pad=_OTHER_MODE.get(a.auto_pad, a.auto_pad))),
        # pytorch/pytorch#75889
        ("output-shape-ignored", "output_shape is ignored", _without("output_shape")),
    )
)  # fmt: skip


def _is_sized(signature: Signature) -> bool:
    return signature.attributes.output_shape is not None


def _is_summed(signature: Signature) -> bool:
    """Return whether the size is the full size with output_padding, less the pads."""
    return signature.auto_pad in {AutoPad.EXPLICIT, AutoPad.VALID} and not _is_sized(signature)


def _always(_: Signature) -> bool:
    return True


def _of_axes(
    change: Callable[[Axis, int, Axis], tuple[int, int]], applies: Callable[[Signature], bool]
) -> CallOtherwise:
    """Return the change of each axis.

    Args:
        change: returns pads_begin and the size of an axis, from the expected numbers of this axis, its
            output_padding, and the numbers of the first axis.
        applies: whether a call is changed.
    """

    def changed(geometry: Geometry, signature: Signature) -> Geometry:
        if not geometry.output or not applies(signature):
            return geometry
        axes, added = axes_of(geometry), signature.per_axis("output_padding")
        changes = [change(axis, op, axes[0]) for axis, op in zip(axes, added, strict=True)]
        begin, output = zip(*changes, strict=True)
        return replace(geometry, pads_begin=begin, output=output)

    return in_geometry(changed)


_OF_AXES = tuple(
    Misreading(name, says, _of_axes(change, applies))
    for name, says, applies, change in (
        ("output-padding-at-the-beginning", "output_padding is added at the beginning", _always,
         lambda axis, op, _: (axis.begin - op, axis.size)),
        ("one-too-early",
         "on every axis the output begins one point too early, so that values lie one point too far to the end",
         _always, lambda axis, *_: (axis.begin - 1, axis.size)),
        # keras-team/keras#22876
        ("one-too-late",
         "on every axis the output begins one point too late, so that values lie one point too far to the beginning",
         _always, lambda axis, *_: (axis.begin + 1, axis.size)),
        # microsoft/onnxruntime#2518, microsoft/onnxruntime#2688
        ("kernel-plus-dilation",
         "without output_shape and SAME, a dilated kernel counts as kernel + dilation - 1 in the size", _is_summed,
         lambda axis, *_: (axis.begin, axis.size - axis.reach + axis.k + axis.d - 2)),
        # nntrainer/nntrainer#4347
        ("kernel-of-the-first-axis",
         "without output_shape and SAME, the kernel of the first axis gives the size of every axis", _is_summed,
         lambda axis, _, first: (axis.begin, axis.size - axis.reach + first.reach)),
        # microsoft/onnxruntime#26665, openvino 2026.4 reading ONNX models with groups
        ("output-shape-pads-nothing", "with output_shape the output begins at the first point that the taps reach",
         _is_sized, lambda axis, *_: (0, axis.size)),
    )
)  # fmt: skip
MISREADINGS = (*_OF_ATTRIBUTES, *_OF_AXES)

"""Misreadings of the geometry: the output gets another size, or begins at another point."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.diagnosis.misreadings.misreading import GeometryOtherwise, Misreading
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Ints, Signature


def _plus(sizes: Ints, extras: Iterable[int]) -> Ints:
    return tuple(size + extra for size, extra in zip(sizes, extras, strict=True))


def _output_padding_at_the_beginning(geometry: Geometry, signature: Signature) -> Geometry:
    return replace(
        geometry, pads_begin=_plus(geometry.pads_begin, (-op for op in signature.per_axis("output_padding")))
    )


def _is_cropped_by_pads(signature: Signature) -> bool:
    return signature.auto_pad == AutoPad.EXPLICIT and signature.attributes.output_shape is None


_SAME = {AutoPad.SAME_UPPER, AutoPad.SAME_LOWER}


def _is_summed(signature: Signature) -> bool:
    """Return whether the size is the sum of what taps reach, pads and output_padding."""
    return signature.attributes.output_shape is None and signature.auto_pad in {AutoPad.EXPLICIT, AutoPad.VALID}


def _pads_added(geometry: Geometry, signature: Signature) -> Geometry:
    begin, end = signature.per_axis("pads_begin"), signature.per_axis("pads_end")
    if not _is_cropped_by_pads(signature):
        return geometry
    output = _plus(geometry.output, (2 * (p + q) for p, q in zip(begin, end, strict=True)))
    return replace(geometry, pads_begin=tuple(-p for p in begin), output=output)


def _pads_on_the_data(geometry: Geometry, signature: Signature) -> Geometry:
    begin, end = signature.per_axis("pads_begin"), signature.per_axis("pads_end")
    if not _is_cropped_by_pads(signature):
        return geometry
    # A point of the data is a stride of the output.
    extras = ((p + q) * (1 + s) for p, q, s in zip(begin, end, geometry.strides, strict=True))
    first = tuple(-p * s for p, s in zip(begin, geometry.strides, strict=True))
    return replace(geometry, pads_begin=first, output=_plus(geometry.output, extras))


def _crop_in_halves(geometry: Geometry, signature: Signature) -> Geometry:
    if not _is_cropped_by_pads(signature):
        return geometry
    lists = (signature.per_axis(name) for name in ("pads_begin", "pads_end", "output_padding"))
    return replace(geometry, pads_begin=tuple((p + q - op) // 2 for p, q, op in zip(*lists, strict=True)))


def _shifted(by: int) -> Callable[[Geometry, Signature], Geometry]:
    return lambda geometry, _: replace(geometry, pads_begin=tuple(p + by for p in geometry.pads_begin))


def _begin_of_the_first_axis(geometry: Geometry, _: Signature) -> Geometry:
    return replace(geometry, pads_begin=geometry.pads_begin[:1] * len(geometry.pads_begin))


def _third_begins_as_the_first(geometry: Geometry, _: Signature) -> Geometry:
    begin = geometry.pads_begin
    return replace(geometry, pads_begin=(*begin[:2], begin[0])) if len(begin) == _IN_SPACE else geometry


_IN_SPACE = 3
"""The axes of a volume."""


def _begin_within_the_kernel(geometry: Geometry, _: Signature) -> Geometry:
    most = ((k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True))
    return replace(geometry, pads_begin=tuple(map(min, geometry.pads_begin, most)))


def _not_spread(geometry: Geometry, _: Signature) -> Geometry:
    dense = replace(geometry, strides=(1,) * len(geometry.strides))
    # Where pads crop all that is computed, the output is zeros, which many mistakes give.
    return dense if all(begin < size for begin, size in zip(dense.pads_begin, dense.full, strict=True)) else geometry


def _output_padding_times_stride(geometry: Geometry, signature: Signature) -> Geometry:
    if not _is_summed(signature):
        return geometry
    extras = (op * (s - 1) for op, s in zip(signature.per_axis("output_padding"), geometry.strides, strict=True))
    return replace(geometry, output=_plus(geometry.output, extras))


def _kernel_plus_dilation(geometry: Geometry, signature: Signature) -> Geometry:
    if not _is_summed(signature):
        return geometry
    extras = ((2 - k) * (d - 1) for k, d in zip(geometry.kernel, geometry.dilations, strict=True))
    return replace(geometry, output=_plus(geometry.output, extras))


def _kernel_of_the_first_axis(geometry: Geometry, signature: Signature) -> Geometry:
    if not _is_summed(signature) or not geometry.kernel:
        return geometry
    reaches = [(k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True)]
    return replace(geometry, output=_plus(geometry.output, (reaches[0] - own for own in reaches)))


def _same_as_of_a_convolution(geometry: Geometry, signature: Signature) -> Geometry:
    if signature.auto_pad not in _SAME or signature.attributes.output_shape is not None:
        return geometry
    begin, output = [], []
    for size, stride, full, op in zip(
        geometry.spatial, geometry.strides, geometry.full, signature.per_axis("output_padding"), strict=True
    ):
        # full - (X - 1)*s is what the dilated kernel spans.
        total = max((-(-size // stride) - 1) * stride + full - (size - 1) * stride - size, 0)
        begin.append(total // 2 if signature.auto_pad == AutoPad.SAME_UPPER else total - total // 2)
        output.append(full + op - total)
    return replace(geometry, pads_begin=tuple(begin), output=tuple(output))


def _output_shape_without_pads(geometry: Geometry, signature: Signature) -> Geometry:
    if signature.attributes.output_shape is None:
        return geometry
    return replace(geometry, pads_begin=(0,) * len(geometry.pads_begin))


MISREADINGS = tuple(
    Misreading(name, says, GeometryOtherwise(change), seen)
    for name, says, change, seen in (
        (
            "pads-added",
            "pads_begin and pads_end add empty points to the output, in place of cropping it",
            _pads_added,
            "apache/mxnet#20639",
        ),
        (
            "pads-on-the-data",
            "the data is padded by pads_begin and pads_end, and the output is not cropped",
            _pads_on_the_data,
            "Samsung/TICO#420",
        ),
        (
            "crop-split-in-halves",
            "what is cropped, pads_begin + pads_end - output_padding, is split in halves between begin and end",
            _crop_in_halves,
            "llvm/torch-mlir#4650",
        ),
        (
            "output-padding-at-the-beginning",
            "output_padding is added at the beginning",
            _output_padding_at_the_beginning,
            "",
        ),
        (
            "one-too-early",
            "on every axis the output begins one point too early, so that values lie one point too far to the end",
            _shifted(-1),
            "",
        ),
        (
            "one-too-late",
            "on every axis the output begins one point too late, so that values lie one point too far to the beginning",
            _shifted(1),
            "keras-team/keras#22876",
        ),
        (
            "begin-of-the-first-axis",
            "on every axis the output begins as many points in as on the first one, and has the size that is expected",
            _begin_of_the_first_axis,
            "",
        ),
        (
            "third-axis-begins-as-the-first",
            "on the third of three axes the output begins as many points in as on the first, and has the expected size",
            _third_begins_as_the_first,
            "",
        ),
        (
            "pads-begin-within-the-kernel",
            "the output begins (kernel - 1) * dilation points in where pads_begin is more than that",
            _begin_within_the_kernel,
            "",
        ),
        (
            "strides-in-the-size-alone",
            "the output has the size that is expected, and values are placed in it as if every stride was 1",
            _not_spread,
            "pytorch/pytorch#82711",
        ),
        (
            "output-padding-times-stride",
            "the output is longer at its end by output_padding * stride, and not by output_padding",
            _output_padding_times_stride,
            "apple/coreai-torch#57",
        ),
        (
            "kernel-plus-dilation",
            "where the size is neither given nor SAME, it counts a dilated kernel as kernel + dilation - 1",
            _kernel_plus_dilation,
            "microsoft/onnxruntime#2518, microsoft/onnxruntime#2688",
        ),
        (
            "kernel-of-the-first-axis",
            "where the size is neither given nor SAME, that of every axis counts the kernel of the first axis",
            _kernel_of_the_first_axis,
            "nntrainer/nntrainer#4347",
        ),
        (
            "same-as-of-a-convolution",
            "SAME crops what a convolution of the same data would be padded by, so that the size follows from that",
            _same_as_of_a_convolution,
            "",
        ),
        (
            "output-shape-pads-nothing",
            "beside output_shape the output begins at the first point that the taps reach",
            _output_shape_without_pads,
            "microsoft/onnxruntime#26665, openvino 2026.4 reading ONNX models with groups",
        ),
    )
)

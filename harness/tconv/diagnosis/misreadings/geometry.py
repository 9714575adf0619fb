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


def _pads_added(geometry: Geometry, signature: Signature) -> Geometry:
    begin, end = signature.per_axis("pads_begin"), signature.per_axis("pads_end")
    if signature.auto_pad != AutoPad.EXPLICIT or signature.attributes.output_shape is not None:
        return geometry
    output = _plus(geometry.output, (2 * (p + q) for p, q in zip(begin, end, strict=True)))
    return replace(geometry, pads_begin=tuple(-p for p in begin), output=output)


def _shifted(by: int) -> Callable[[Geometry, Signature], Geometry]:
    return lambda geometry, _: replace(geometry, pads_begin=tuple(p + by for p in geometry.pads_begin))


def _begin_within_the_kernel(geometry: Geometry, _: Signature) -> Geometry:
    most = ((k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True))
    return replace(geometry, pads_begin=tuple(map(min, geometry.pads_begin, most)))


def _output_padding_times_stride(geometry: Geometry, signature: Signature) -> Geometry:
    extras = (op * (s - 1) for op, s in zip(signature.per_axis("output_padding"), geometry.strides, strict=True))
    return replace(geometry, output=_plus(geometry.output, extras))


def _kernel_plus_dilation(geometry: Geometry, signature: Signature) -> Geometry:
    if signature.attributes.output_shape is not None or signature.auto_pad not in {AutoPad.EXPLICIT, AutoPad.VALID}:
        return geometry
    extras = ((2 - k) * (d - 1) for k, d in zip(geometry.kernel, geometry.dilations, strict=True))
    return replace(geometry, output=_plus(geometry.output, extras))


def _output_shape_without_pads(geometry: Geometry, signature: Signature) -> Geometry:
    if signature.attributes.output_shape is None:
        return geometry
    return replace(geometry, pads_begin=(0,) * len(geometry.pads_begin))


MISREADINGS = tuple(
    Misreading(name, says, GeometryOtherwise(change), seen)
    for name, says, change, seen in (
        (
            "pads-added",
            "pads enlarge the output, as those of a convolution do",
            _pads_added,
            "apache/mxnet#20639, Samsung/TICO#420",
        ),
        (
            "output-padding-at-the-beginning",
            "output_padding is added at the beginning",
            _output_padding_at_the_beginning,
            "llvm/torch-mlir#4650",
        ),
        ("one-too-early", "the output begins one element too early", _shifted(-1), ""),
        ("one-too-late", "the output begins one element too late", _shifted(1), "keras-team/keras#22876"),
        (
            "pads-begin-within-the-kernel",
            "the output begins (kernel - 1) * dilation points in where pads_begin is more than that",
            _begin_within_the_kernel,
            "",
        ),
        (
            "output-padding-times-stride",
            "output_padding is multiplied by the stride",
            _output_padding_times_stride,
            "apple/coreai-torch#57",
        ),
        (
            "kernel-plus-dilation",
            "the size of a dilated kernel is taken for kernel + dilation - 1",
            _kernel_plus_dilation,
            "microsoft/onnxruntime#2518, microsoft/onnxruntime#2688",
        ),
        (
            "output-shape-pads-nothing",
            "beside output_shape the output begins at the first point that the taps reach",
            _output_shape_without_pads,
            "microsoft/onnxruntime#26665, openvino 2026.4 reading ONNX models with groups",
        ),
    )
)

"""Misreadings of operands: elements are moved, left out, repeated or rounded."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, OperandsOtherwise
from tconv.expectation.bound import is_subnormal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature


def _filter(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        w = change(operands["w"], geometry)
        return operands if w is None or w is operands["w"] else operands | {"w": w}

    return OperandsOtherwise(changed)


def _data(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        x = change(operands["x"], geometry)
        return operands if x is None else operands | {"x": x}

    return OperandsOtherwise(changed)


def _bias(change: Callable[[Array, Geometry], Array]) -> OperandsOtherwise:
    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        return operands if "b" not in operands else operands | {"b": change(operands["b"], geometry)}

    return OperandsOtherwise(changed)


def _flipped(w: Array, geometry: Geometry) -> Array | None:
    return None if prod(geometry.kernel) < _SEVERAL else np.flip(w, axis=tuple(range(2, w.ndim)))


_SEVERAL = 2


def axes_reversed(array: Array) -> Array | None:
    """Return an array with its spatial axes in the other order; None where that is no other array of the same shape."""
    changed = array.transpose(0, 1, *range(array.ndim - 1, 1, -1))
    return changed if len(array.shape[2:]) >= _SEVERAL and changed.shape == array.shape else None


def _channels_exchanged(w: Array, geometry: Geometry) -> Array | None:
    groups, inputs = geometry.groups, w.shape[0] // geometry.groups
    if inputs != w.shape[1] or inputs < _SEVERAL:
        return None
    return w.reshape(groups, inputs, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def _read_as_xoi(w: Array, geometry: Geometry) -> Array | None:
    if prod(geometry.kernel) < _SEVERAL or prod(w.shape[:2]) < _SEVERAL:
        return None
    memory = np.ascontiguousarray(w).reshape(*geometry.kernel, w.shape[1], w.shape[0])
    return np.moveaxis(memory, (-1, -2), (0, 1))


def _read_as_nxc(x: Array, geometry: Geometry) -> Array | None:
    if x.shape[1] < _SEVERAL or prod(geometry.spatial) < _SEVERAL:
        return None
    return np.moveaxis(np.ascontiguousarray(x).reshape(x.shape[0], *x.shape[2:], x.shape[1]), -1, 1)


def _xoi_read_as_iox(w: Array, geometry: Geometry) -> Array | None:
    if prod(geometry.kernel) < _SEVERAL or prod(w.shape[:2]) < _SEVERAL:
        return None
    return np.ascontiguousarray(np.moveaxis(w, (0, 1), (-1, -2))).reshape(w.shape)


def _read_as_oix(w: Array, _: Geometry) -> Array | None:
    if min(w.shape[:2]) < _SEVERAL:
        return None
    return np.ascontiguousarray(w).reshape(w.shape[1], w.shape[0], *w.shape[2:]).swapaxes(0, 1)


def _nxc_read_as_ncx(x: Array, geometry: Geometry) -> Array | None:
    if x.shape[1] < _SEVERAL or prod(geometry.spatial) < _SEVERAL:
        return None
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(x.shape)


def _of_groups(order: Callable[[int], list[int]]) -> Callable[[Array, Geometry], Array | None]:
    """Return the change that uses the filters of groups in another order."""

    def change(w: Array, geometry: Geometry) -> Array | None:
        if geometry.groups < _SEVERAL:
            return None
        parts = w.reshape(geometry.groups, w.shape[0] // geometry.groups, *w.shape[1:])
        return parts[order(geometry.groups)].reshape(w.shape)

    return change


def channels_dealt(array: Array, geometry: Geometry, axis: int) -> Array | None:
    """Return the channels of the groups in turn: the first one of each group, then the second ones, and so on."""
    count = array.shape[axis]
    if geometry.groups in {1, count}:
        return None
    return np.take(array, np.arange(count).reshape(geometry.groups, -1).T.ravel(), axis=axis)


def channels_collected(array: Array, geometry: Geometry, axis: int) -> Array | None:
    """Return what `channels_dealt` takes back: each group gets the channels at a distance of groups."""
    count = array.shape[axis]
    if geometry.groups in {1, count}:
        return None
    return np.take(array, np.arange(count).reshape(-1, geometry.groups).T.ravel(), axis=axis)


def _tap_dropped(at: int) -> Callable[[Array, Geometry], Array | None]:
    def change(w: Array, geometry: Geometry) -> Array | None:
        if not prod(geometry.kernel):
            return None
        dropped = w.copy()
        dropped.reshape(*w.shape[:2], prod(geometry.kernel))[:, :, at] = 0
        return dropped

    return change


def _last_column_dropped(w: Array, geometry: Geometry) -> Array | None:
    if not geometry.kernel or not prod(geometry.kernel):
        return None
    dropped = w.copy()
    dropped[..., -1] = 0
    return dropped


def _groups_reversed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
    """Return data and filter with the groups in the other order, and so their outputs; the bias stays."""
    if geometry.groups < _SEVERAL:
        return operands
    x, w, share = operands["x"], operands["w"], operands["w"].shape[0] // geometry.groups
    in_groups = (
        x.reshape(x.shape[0], geometry.groups, share, *x.shape[2:]),
        w.reshape(geometry.groups, share, *w.shape[1:]),
    )
    x, w = np.flip(in_groups[0], 1).reshape(x.shape), np.flip(in_groups[1], 0).reshape(w.shape)
    return operands | {"x": x, "w": w}


def _last_inputs_dropped(w: Array, geometry: Geometry) -> Array | None:
    inputs = w.shape[0] // geometry.groups
    if inputs < _SEVERAL:
        return None
    dropped = w.copy().reshape(geometry.groups, inputs, *w.shape[1:])
    dropped[:, -1] = 0
    return dropped.reshape(w.shape)


def _leftover(width: int, weight: float) -> Callable[[Array, Geometry], Array | None]:
    """Return the change that gives the input channels of a group after its last full block one and the same weight."""

    def change(w: Array, geometry: Geometry) -> Array | None:
        inputs = w.shape[0] // geometry.groups
        if inputs < width or inputs % width == 0:
            return None
        changed = w.copy().reshape(geometry.groups, inputs, *w.shape[1:])
        changed[:, inputs - inputs % width :] = weight
        return changed.reshape(w.shape)

    return change


def _last_position_dropped(axis: int) -> Callable[[Array, Geometry], Array | None]:
    """Return the change that leaves out the last position of the data along a spatial axis."""

    def change(x: Array, geometry: Geometry) -> Array | None:
        # Of a line the first axis is the last one.
        if len(geometry.spatial) < (_SEVERAL if axis == 0 else 1) or not x.size:
            return None
        dropped = x.copy()
        np.moveaxis(dropped, axis if axis < 0 else axis + 2, 0)[-1] = 0
        return dropped

    return change


def _bounded_by_the_kernel(x: Array, geometry: Geometry) -> Array | None:
    if all(size <= taps for size, taps in zip(geometry.spatial, geometry.kernel, strict=True)):
        return None
    inside = (slice(None), slice(None), *map(slice, geometry.kernel))
    bounded = np.zeros_like(x)
    bounded[inside] = x[inside]
    return bounded


def _without_bias(operands: Operands, _geometry: Geometry, _signature: Signature) -> Operands:
    return {role: array for role, array in operands.items() if role != "b"} if "b" in operands else operands


def _significand(bits: int, towards: Callable[[Array], Array]) -> OperandsOtherwise:
    """Return the change that rounds data and filter to so many bits of significand, by `towards`."""

    def change(operands: Operands, _geometry: Geometry, _signature: Signature) -> Operands:
        return operands | {role: with_bits(operands[role], bits, towards) for role in ("x", "w")}

    return OperandsOtherwise(change)


def with_bits(array: Array, bits: int, towards: Callable[[Array], Array]) -> Array:
    """Return numbers rounded to so many bits of significand, by `towards`; exponents are not limited."""
    mantissa, exponent = np.frexp(array)
    rounded: Array = np.ldexp(towards(np.ldexp(mantissa, bits)), exponent - bits)
    return rounded


def _in_8_bits(w: Array, largest: Array) -> Array:
    """Return a filter rounded to 255 steps between the largest magnitude and its opposite; as it is where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded: Array = np.rint(w / largest * 127) * largest / 127
    return np.where(np.isfinite(rounded), rounded, w)


def _filter_in_8_bits(w: Array, _: Geometry) -> Array | None:
    return _in_8_bits(w, np.abs(w).max()) if w.size else None


def _output_channels_in_8_bits(w: Array, geometry: Geometry) -> Array | None:
    if not w.size:
        return None
    parts = w.reshape(geometry.groups, w.shape[0] // geometry.groups, *w.shape[1:])
    largest = np.abs(parts).max(axis=(1, *range(3, parts.ndim)), keepdims=True)
    return _in_8_bits(parts, largest).reshape(w.shape)


def _in_half(operands: Operands, _geometry: Geometry, _signature: Signature) -> Operands:
    """Return data and filter rounded to half precision, infinite where they are too large for it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return operands | {role: operands[role].astype(np.float16).astype(np.float64) for role in ("x", "w")}


def _subnormals_zeroed(operands: Operands, _: Geometry, signature: Signature) -> Operands:
    """Return operands without their subnormal numbers; the same ones where there are none."""
    small = {role: is_subnormal(array, signature.x.dtype) for role, array in operands.items()}
    if not any(where.any() for where in small.values()):
        return operands
    return {role: np.where(small[role], 0.0, array) for role, array in operands.items()}


MISREADINGS: tuple[Misreading, ...] = (
    Misreading(
        "filter-flipped",
        "the filter's taps are taken in reverse order, as a correlation takes them",
        _filter(_flipped),
        "llvm/torch-mlir#4437",
    ),
    Misreading(
        "filter-axes-exchanged",
        "the filter's spatial axes are taken in reverse order",
        _filter(lambda w, _: axes_reversed(w)),
    ),
    Misreading(
        "filter-channels-exchanged",
        "the filter's input and output channels are exchanged",
        _filter(_channels_exchanged),
        "Tencent/TNN#205, apache/tvm#9336",
    ),
    Misreading("filter-read-as-xoi", "the memory of an IOX filter is read as XOI", _filter(_read_as_xoi)),
    Misreading("filter-read-as-iox", "the memory of an XOI filter is read as IOX", _filter(_xoi_read_as_iox)),
    Misreading("filter-read-as-oix", "the memory of an IOX filter is read as OIX", _filter(_read_as_oix)),
    Misreading("data-read-as-nxc", "the memory of NCX data is read as NXC", _data(_read_as_nxc)),
    Misreading("data-read-as-ncx", "the memory of NXC data is read as NCX", _data(_nxc_read_as_ncx)),
    Misreading(
        "groups-reversed",
        "the filters of groups are taken in reverse order, data and bias are not",
        _filter(_of_groups(lambda n: list(range(n))[::-1])),
    ),
    Misreading(
        "group-outputs-reversed",
        "the outputs of groups are in reverse order, the bias is not",
        OperandsOtherwise(_groups_reversed),
    ),
    Misreading(
        "groups-share-the-first-filter",
        "every group uses the first one's filter",
        _filter(_of_groups(lambda n: [0] * n)),
        "Tencent/TNN#205",
    ),
    Misreading(
        "input-channels-dealt",
        "of G groups, group g has the input channels g, g + G, g + 2*G and so on",
        _data(lambda x, g: channels_collected(x, g, 1)),
    ),
    Misreading(
        "bias-ignored",
        "the bias is overlooked",
        OperandsOtherwise(_without_bias),
        "openvinotoolkit/openvino#34101, XiaoMi/mace#220",
    ),
    Misreading("bias-doubled", "the bias is added twice", _bias(lambda b, _: 2 * b), "kraiskil/onnx2c#40"),
    Misreading(
        "bias-of-the-first-channel",
        "every channel has the first one's bias",
        _bias(lambda b, _: np.broadcast_to(b[:1], b.shape)),
    ),
    Misreading(
        "bias-of-the-next-channel",
        "every channel has the bias of the next one, and the last has that of the first",
        _bias(lambda b, _: np.roll(b, -1)),
    ),
    Misreading(
        "bias-of-the-first-group",
        "every group has the first one's bias",
        _bias(lambda b, g: np.tile(b[: len(b) // g.groups], g.groups)),
        "robertknight/rten#1408, Tencent/TNN#205, onnx ReferenceEvaluator 1.23",
    ),
    Misreading("first-tap-dropped", "the first tap is left out", _filter(_tap_dropped(0))),
    Misreading("last-tap-dropped", "the last tap is left out", _filter(_tap_dropped(-1))),
    Misreading("last-column-dropped", "the last taps along the last axis are left out", _filter(_last_column_dropped)),
    Misreading(
        "last-input-channel-dropped", "the last input channel of a group is left out", _filter(_last_inputs_dropped)
    ),
    *(
        Misreading(
            f"input-channels-beyond-{words}-dropped",
            f"input channels of a group beyond its last full block of {width} are left out",
            _filter(_leftover(width, 0.0)),
        )
        for words, width in (("four", 4), ("eight", 8), ("sixteen", 16))
    ),
    Misreading(
        "input-channels-beyond-four-unweighted",
        "input channels of a group beyond its last full block of 4 are added as they are, without the filter",
        _filter(_leftover(4, 1.0)),
        "microsoft/onnxruntime#27749",
    ),
    Misreading(
        "last-position-dropped",
        "the last position of the data along its last axis is left out",
        _data(_last_position_dropped(-1)),
    ),
    Misreading(
        "last-position-of-the-first-axis-dropped",
        "the last position of the data along its first spatial axis is left out",
        _data(_last_position_dropped(0)),
    ),
    Misreading(
        "data-bounded-by-the-kernel",
        "positions of the data from the kernel's size on are left out, on any axis",
        _data(_bounded_by_the_kernel),
        "nntrainer/nntrainer#4347",
    ),
    Misreading(
        "operands-rounded-to-tf32",
        "data and filter are rounded to the 11 significant bits of TF32",
        _significand(11, np.rint),
        "microsoft/onnxruntime#21752, pytorch/functorch#1050",
    ),
    Misreading("operands-rounded-to-f16", "data and filter are rounded to half precision", OperandsOtherwise(_in_half)),
    Misreading(
        "operands-rounded-to-bf16",
        "data and filter are rounded to the 8 significant bits of bfloat16",
        _significand(8, np.rint),
    ),
    Misreading(
        "operands-truncated-to-bf16",
        "data and filter lose their bits beyond the 8 significant ones of bfloat16, and are not rounded",
        _significand(8, np.trunc),
    ),
    Misreading(
        "filter-rounded-to-8-bits",
        "the filter is rounded to 255 steps between its largest magnitude and the opposite, as in 8-bit integers",
        _filter(_filter_in_8_bits),
    ),
    Misreading(
        "output-channels-rounded-to-8-bits",
        "the filter of each output channel is rounded to 255 steps between its largest magnitude and the opposite",
        _filter(_output_channels_in_8_bits),
    ),
    Misreading(
        "subnormal-operands-are-zero",
        "subnormal operands are taken for 0",
        OperandsOtherwise(_subnormals_zeroed),
        "jax 0.10 on the CPU",
    ),
)

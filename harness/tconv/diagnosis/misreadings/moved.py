"""Misreadings that move or repeat elements: channels, groups, axes, or the memory of one layout read as another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.layouts import from_iox, from_ncx, to_iox, to_ncx
from tconv.diagnosis.misreadings.misreading import Misreading, OperandsOtherwise, in_operand, in_output
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature


def _axes_reversed(array: Array, _: Geometry) -> Array:
    changed = array.transpose(0, 1, *range(array.ndim - 1, 1, -1))
    return changed if changed.shape == array.shape else array


def _channels_exchanged(w: Array, geometry: Geometry) -> Array:
    groups, inputs = geometry.groups, w.shape[0] // geometry.groups
    if inputs != w.shape[1]:
        return w
    return w.reshape(groups, inputs, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def _groups_reversed(array: Array, geometry: Geometry, axis: int = 0) -> Array:
    """Return an array with its groups in reverse order along an axis."""
    shape, groups = array.shape, geometry.groups
    split = array.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    return np.flip(split, axis).reshape(shape)


def _outputs_reversed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
    """Return data and filter with their groups in reverse order: this reverses the output's groups, not the bias."""
    x, w = _groups_reversed(operands["x"], geometry, 1), _groups_reversed(operands["w"], geometry)
    return operands | {"x": x, "w": w}


def _dealt(array: Array, geometry: Geometry) -> Array:
    """Return the channels dealt from the groups: the first channel of each group, then the second ones, and so on."""
    return np.take(array, np.arange(array.shape[1]).reshape(geometry.groups, -1).T.ravel(), axis=1)


def _collected(array: Array, geometry: Geometry) -> Array:
    """Return the inverse of `_dealt`: with G groups, each group gets every G-th channel."""
    return np.take(array, np.arange(array.shape[1]).reshape(-1, geometry.groups).T.ravel(), axis=1)


OF_OPERANDS = tuple(
    Misreading(name, says, change)
    for name, says, change in (
        # llvm/torch-mlir#4437
        ("filter-flipped", "the filter's taps are in reverse order, as in a correlation",
         in_operand("w", lambda w, _: np.flip(w, axis=tuple(range(2, w.ndim))))),
        ("filter-axes-exchanged", "the filter's spatial axes are in reverse order",
         in_operand("w", _axes_reversed)),
        # Tencent/TNN#205, apache/tvm#9336
        ("filter-channels-exchanged", "the filter's input and output channels are exchanged",
         in_operand("w", _channels_exchanged)),
        ("filter-read-as-xoi", "the memory of an IOX filter is read as XOI",
         in_operand("w", lambda w, _: to_iox(w.reshape(*w.shape[2:], *w.shape[1::-1]), FilterFormat.XOI))),
        ("filter-read-as-iox", "the memory of an XOI filter is read as IOX",
         in_operand("w", lambda w, _: from_iox(w, FilterFormat.XOI).reshape(w.shape))),
        ("filter-read-as-oix", "the memory of an IOX filter is read as OIX",
         in_operand("w", lambda w, _: w.reshape(*w.shape[1::-1], *w.shape[2:]).swapaxes(0, 1))),
        ("data-read-as-nxc", "the memory of NCX data is read as NXC",
         in_operand("x", lambda x, _: to_ncx(x.reshape(len(x), *x.shape[2:], x.shape[1]), DataFormat.NXC))),
        ("data-read-as-ncx", "the memory of NXC data is read as NCX",
         in_operand("x", lambda x, _: from_ncx(x, DataFormat.NXC).reshape(x.shape))),
        ("groups-reversed", "the filters of the groups are in reverse order; data and bias are not",
         in_operand("w", _groups_reversed)),
        ("group-outputs-reversed", "the outputs of the groups are in reverse order; the bias is not",
         OperandsOtherwise(_outputs_reversed)),
        # Tencent/TNN#205
        ("groups-share-the-first-filter", "every group uses the filter of the first group",
         in_operand("w", lambda w, g: np.concatenate([w[: len(w) // g.groups]] * g.groups))),
        ("input-channels-dealt", "with G groups, group g uses the input channels g, g + G, g + 2*G and so on",
         in_operand("x", _collected)),
    )
)  # fmt: skip
OF_THE_OUTPUT = tuple(
    Misreading(name, says, in_output(change))
    for name, says, change in (
        # uxlfoundation/oneDNN#352
        ("output-channels-dealt",
         "the output has the first channel of each group, then the second channel of each group, and so on",
         _dealt),
        ("output-channels-collected",
         "with G groups, group g has the channels g, g + G, g + 2*G and so on of the right output", _collected),
        ("batch-repeats-the-first", "every batch item of the output is a copy of the first item",
         lambda y, _: np.broadcast_to(y[:1], y.shape)),
        ("output-axes-exchanged", "the output's spatial axes are in reverse order", _axes_reversed),
    )
)  # fmt: skip

"""Misreadings of operands: elements are moved or repeated, or the memory of one layout is read as another."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.layouts import from_iox, from_ncx, to_iox, to_ncx
from tconv.diagnosis.misreadings.misreading import Misreading, OperandsOtherwise, in_data, in_filter
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature

_SEVERAL = 2


def _flipped(w: Array, geometry: Geometry) -> Array | None:
    return None if prod(geometry.kernel) < _SEVERAL else np.flip(w, axis=tuple(range(2, w.ndim)))


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
    return to_iox(memory, FilterFormat.XOI)


def _read_as_nxc(x: Array, geometry: Geometry) -> Array | None:
    if x.shape[1] < _SEVERAL or prod(geometry.spatial) < _SEVERAL:
        return None
    return to_ncx(np.ascontiguousarray(x).reshape(x.shape[0], *x.shape[2:], x.shape[1]), DataFormat.NXC)


def _xoi_read_as_iox(w: Array, geometry: Geometry) -> Array | None:
    if prod(geometry.kernel) < _SEVERAL or prod(w.shape[:2]) < _SEVERAL:
        return None
    return from_iox(w, FilterFormat.XOI).reshape(w.shape)


def _read_as_oix(w: Array, _: Geometry) -> Array | None:
    if min(w.shape[:2]) < _SEVERAL:
        return None
    return np.ascontiguousarray(w).reshape(w.shape[1], w.shape[0], *w.shape[2:]).swapaxes(0, 1)


def _nxc_read_as_ncx(x: Array, geometry: Geometry) -> Array | None:
    if x.shape[1] < _SEVERAL or prod(geometry.spatial) < _SEVERAL:
        return None
    return from_ncx(x, DataFormat.NXC).reshape(x.shape)


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


MISREADINGS: tuple[Misreading, ...] = (
    Misreading(
        "filter-flipped",
        "the filter's taps are taken in reverse order, as a correlation takes them",
        in_filter(_flipped),
        "llvm/torch-mlir#4437",
    ),
    Misreading(
        "filter-axes-exchanged",
        "the filter's spatial axes are taken in reverse order",
        in_filter(lambda w, _: axes_reversed(w)),
    ),
    Misreading(
        "filter-channels-exchanged",
        "the filter's input and output channels are exchanged",
        in_filter(_channels_exchanged),
        "Tencent/TNN#205, apache/tvm#9336",
    ),
    Misreading("filter-read-as-xoi", "the memory of an IOX filter is read as XOI", in_filter(_read_as_xoi)),
    Misreading("filter-read-as-iox", "the memory of an XOI filter is read as IOX", in_filter(_xoi_read_as_iox)),
    Misreading("filter-read-as-oix", "the memory of an IOX filter is read as OIX", in_filter(_read_as_oix)),
    Misreading("data-read-as-nxc", "the memory of NCX data is read as NXC", in_data(_read_as_nxc)),
    Misreading("data-read-as-ncx", "the memory of NXC data is read as NCX", in_data(_nxc_read_as_ncx)),
    Misreading(
        "groups-reversed",
        "the filters of groups are taken in reverse order, data and bias are not",
        in_filter(_of_groups(lambda n: list(range(n))[::-1])),
    ),
    Misreading(
        "group-outputs-reversed",
        "the outputs of groups are in reverse order, the bias is not",
        OperandsOtherwise(_groups_reversed),
    ),
    Misreading(
        "groups-share-the-first-filter",
        "every group uses the first one's filter",
        in_filter(_of_groups(lambda n: [0] * n)),
        "Tencent/TNN#205",
    ),
    Misreading(
        "input-channels-dealt",
        "of G groups, group g has the input channels g, g + G, g + 2*G and so on",
        in_data(lambda x, g: channels_collected(x, g, 1)),
    ),
)

"""Backends that compute by transforms, in float32: Winograd and FFT. They are right, and no sums of products.

They transform calls of one or two spatial axes with strides and dilations of 1, and leave every other call to the
reference. A transposed convolution of stride 1 is a correlation with the flipped filter over the data with K-1 zeros
around it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv import resolve
from tconv.cases.layouts import from_ncx, to_iox, to_ncx
from wrong_backends import Array, Right

if TYPE_CHECKING:
    from tconv.cases.call import Call


class _Transform(Right):
    """The reference, except for calls that the transform can compute."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        x, w = to_ncx(arrays["x"], call.data_format), to_iox(arrays["w"], call.filter_format)
        ones = (1,) * (x.ndim - 2)
        plain = all((words[name] or ones) == ones for name in ("strides", "dilations"))
        if not plain or x.ndim > _MOST_AXES or not self.takes(w.shape[2:]) or not prod(x.shape):
            return super().computed(call, words, arrays)
        geometry = resolve(spatial=x.shape[2:], kernel=w.shape[2:], groups=call.groups, dialect=call.dialect, **words)
        pairs = zip(np.split(x, call.groups, axis=1), np.split(w, call.groups, axis=0), strict=True)
        with np.errstate(all="ignore"):
            reached = [self.full(data.astype(np.float32), taps.astype(np.float32)) for data, taps in pairs]
        y = _cut(np.concatenate(reached, axis=1), geometry.pads_begin, geometry.output)
        if "b" in arrays:
            y = y + arrays["b"].astype(np.float32).reshape(-1, *ones)
        return from_ncx(y, call.data_format)

    def takes(self, kernel: tuple[int, ...]) -> bool:
        return all(kernel)

    def full(self, x: Array, w: Array) -> Array:
        raise NotImplementedError


_MOST_AXES = 4
"""Batch, channels, and two spatial axes."""


def _cut(full: Array, begin: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """Return the output's part of what is reached, with zeros beyond it."""
    for axis, (first, size) in enumerate(zip(begin, sizes, strict=True), start=2):
        width = [(0, 0)] * full.ndim
        width[axis] = (max(-first, 0), max(first + size - full.shape[axis], 0))
        padded = np.pad(full, width)
        full = np.take(padded, np.arange(size) + max(first, 0), axis=axis)
    return full


class Fft(_Transform):
    """Spectra are multiplied, of the whole data and the whole filter."""

    def full(self, x: Array, w: Array) -> Array:
        reach = [a + b - 1 for a, b in zip(x.shape[2:], w.shape[2:], strict=True)]
        sizes = [1 << (size - 1).bit_length() for size in reach]
        axes = tuple(range(2, x.ndim))
        data, taps = np.fft.rfftn(x, sizes, axes), np.fft.rfftn(w, sizes, axes)
        spectrum = np.einsum("nc...,co...->no...", data, taps)
        y = np.fft.irfftn(spectrum, sizes, axes)
        return y[(..., *[slice(size) for size in reach])]


class _Winograd(_Transform):
    """Tiles of the data and the filter are transformed by small matrices, F(m, 3).

    Attributes:
        outputs: A^T, (m, t) with t = m + 2.
        taps: G, (t, 3).
        data: B^T, (t, t).
    """

    outputs: Array
    taps: Array
    data: Array

    def takes(self, kernel: tuple[int, ...]) -> bool:
        return all(size == self.taps.shape[1] for size in kernel)

    def full(self, x: Array, w: Array) -> Array:
        m, t = self.outputs.shape
        reach = [size + 2 for size in x.shape[2:]]
        # Two zeros before, and after so many that the last tile is whole.
        x = np.pad(x, [(0, 0), (0, 0), *((2, -size % m + 2) for size in reach)])
        axes = tuple(range(2, x.ndim))
        tiles = np.lib.stride_tricks.sliding_window_view(x, (t,) * len(axes), axis=axes)
        tiles = tiles[(slice(None), slice(None), *[slice(None, None, m)] * len(axes))]
        w = np.flip(w, axes)
        for axis in axes:
            w = _along(self.taps, w, axis)
            tiles = _along(self.data, tiles, axis + len(axes))
        y = np.einsum("nc...,co...->no...", tiles, w[(slice(None), slice(None), *[None] * len(axes))])
        for axis in axes:
            y = _along(self.outputs, y, axis + len(axes))
        order = [0, 1, *(index for axis in axes for index in (axis, axis + len(axes)))]
        whole = [count * m for count in y.shape[2 : 2 + len(axes)]]
        return y.transpose(order).reshape(*y.shape[:2], *whole)[(..., *[slice(size) for size in reach])]


def _along(matrix: Array, array: Array, axis: int) -> Array:
    """Return the matrix times every line of the array along an axis."""
    product: Array = np.moveaxis(np.tensordot(matrix.astype(np.float32), array, (1, axis)), 0, axis)
    return product


class Winograd23(_Winograd):
    """F(2, 3), with the points 0, 1, -1 and infinity."""

    outputs = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
    taps = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    data = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])


class Winograd43(_Winograd):
    """F(4, 3), with the points 0, 1, -1, 2, -2 and infinity."""

    outputs = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])
    taps = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / np.array(
        [[24], [24], [24], [24], [24], [24]]
    )
    data = np.array(
        [
            [4, 0, -5, 0, 1, 0],
            [0, -4, -4, 1, 1, 0],
            [0, 4, -4, -1, 1, 0],
            [0, -2, -1, 2, 1, 0],
            [0, 2, -1, -2, 1, 0],
            [0, 4, 0, -5, 0, 1],
        ]
    )

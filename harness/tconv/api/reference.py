"""The reference and the resolver, for the caller's arrays and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.api.arguments import (
    DEFAULT_DIALECT,
    Written,
    arrays_of,
    attributes_of,
    dialect_of,
    geometry_of,
    reading_names,
    refuse_too_large,
    signature_of,
    sizes_of,
)
from tconv.api.keywords import checked
from tconv.cases.call import complete_signature
from tconv.cases.layouts import from_ncx
from tconv.expectation.reference import definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array


@checked
def conv_transpose(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    dialect: str | Dialect = DEFAULT_DIALECT,
    strides: int | Sequence[int] | None = None,
    dilations: int | Sequence[int] | None = None,
    pads_begin: int | Sequence[int] | None = None,
    pads_end: int | Sequence[int] | None = None,
    auto_pad: str | None = None,
    output_padding: int | Sequence[int] | None = None,
    output_shape: int | Sequence[int] | None = None,
    groups: int | None = None,
    data_format: str | None = None,
    filter_format: str | None = None,
    reading: str | Iterable[str] = (),
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the transposed convolution of a dialect, in float64.

    Args:
        x: data in `data_format`: (N, C, X...) for NCX, (N, X..., C) for NXC.
        w: filter in `filter_format`: (C, O/G, K...) for IOX, (K..., O/G, C) for XOI, (O/G, K..., C) for OXI,
            (G, C/G, O/G, K...) for GIOX.
        bias: (O,), or None.
        dialect: the dialect of rules and defaults: a name such as `onnx/ConvTranspose-22`, or a dialect of the caller.
        strides: one integer for all spatial axes, or a list. Here and below, None means that it is not written.
        dilations: one integer for all spatial axes, or a list.
        pads_begin: elements cropped at the beginning, one integer or a list.
        pads_end: elements cropped at the end, one integer or a list.
        auto_pad: explicit, valid, same_upper or same_lower.
        output_padding: elements added at the end, one integer or a list.
        output_shape: spatial sizes of the output, one integer or a list.
        groups: the number of groups; with GIOX it follows from the filter.
        data_format: NCX or NXC, for every dialect; None for the dialect's default.
        filter_format: IOX, XOI, OXI or GIOX, for every dialect; None for the dialect's default.
        reading: the name of a disputed reading, or several, to follow instead of the primary ones; see `disputed`.

    Returns:
        (N, O, Y...) in `data_format`.

    Raises:
        Invalid: a constraint that the dialect states is violated.
        UsageError: an array is not of real numbers, an attribute is no integer, a word is unknown, or the output is too
            large.

    Example:
        Each element of the data is multiplied with the kernel. Element i is added at i times the stride:

        >>> import numpy as np
        >>> from tconv import conv_transpose
        >>> x = np.array([[[1, 2, 3]]], np.float32)
        >>> w = np.array([[[1, 10, 100]]], np.float32)
        >>> conv_transpose(x, w, strides=2)
        array([[[  1.,  10., 102.,  20., 203.,  30., 300.]]])
        >>> conv_transpose(x, w, strides=2, auto_pad="same_upper")
        array([[[  1.,  10., 102.,  20., 203.,  30.]]])
    """
    # A copy: in Python 3.12 a loop over locals() fails under a tracer.
    given = dict(locals())
    written = {name: value for name, value in given.items() if name in Written.__annotations__}
    dialect = dialect_of(dialect)
    arrays = arrays_of(x, w, bias, dialect, written)
    attributes = attributes_of(written | {"groups": arrays.groups}, max(arrays.x.ndim - 2, 0))
    shapes = arrays.x.shape, arrays.w.shape, None if arrays.b is None else arrays.b.shape
    signature = complete_signature(signature_of(attributes, *shapes), dialect)
    geometry = geometry_of(signature, dialect, reading_names(reading))
    refuse_too_large(geometry, arrays.x.shape[0], arrays.w.shape[1] * geometry.groups)
    b = None if arrays.b is None else arrays.b.astype(np.float64)
    y = definition(arrays.x.astype(np.float64), arrays.w.astype(np.float64), b, geometry)
    return from_ncx(y, arrays.data_format)


@checked
def resolve(
    *,
    spatial: Sequence[int],
    kernel: Sequence[int],
    dialect: str | Dialect = DEFAULT_DIALECT,
    strides: int | Sequence[int] | None = None,
    dilations: int | Sequence[int] | None = None,
    pads_begin: int | Sequence[int] | None = None,
    pads_end: int | Sequence[int] | None = None,
    auto_pad: str | None = None,
    output_padding: int | Sequence[int] | None = None,
    output_shape: int | Sequence[int] | None = None,
    groups: int | None = None,
    reading: str | Iterable[str] = (),
) -> Geometry:
    """Return the geometry that a dialect gives to sizes and attributes.

    Args:
        spatial: the spatial sizes of the data.
        kernel: the spatial sizes of the filter, one for each axis.
        dialect: the dialect. This and all other arguments are as for `conv_transpose`.
        strides: steps of the output for one of the input.
        dilations: steps of the output for one of the filter.
        pads_begin: elements cropped at the beginning.
        pads_end: elements cropped at the end.
        auto_pad: the padding mode.
        output_padding: elements added at the end.
        output_shape: the spatial sizes of the output.
        groups: the number of groups.
        reading: disputed readings to follow.

    Returns:
        Strides, dilations, kernel, pads_begin, pads_end and output as plain integers, one for each spatial axis.

    Raises:
        Invalid: a constraint that the dialect states is violated.
        UsageError: a size is negative or no integer, or the dialect or a reading is unknown.

    Example:
        >>> from tconv import resolve
        >>> asked = {"spatial": [5], "kernel": [4], "strides": 2, "auto_pad": "same_upper", "output_shape": 9}
        >>> geometry = resolve(**asked, dialect="onnx/ConvTranspose-22")
        >>> geometry.pads_begin, geometry.pads_end, geometry.output
        ((1,), (2,), (9,))
        >>> resolve(**asked, dialect="openvino/ConvolutionBackpropData-1").pads_begin
        (2,)
    """
    given = dict(locals())
    written = {name: value for name, value in given.items() if name in Written.__annotations__}
    dialect = dialect_of(dialect)
    sizes, taps = sizes_of("spatial", spatial), sizes_of("kernel", kernel)
    attributes = attributes_of(written, len(sizes))
    count = attributes.groups or 1
    written_call = complete_signature(signature_of(attributes, (1, count, *sizes), (count, 1, *taps), None), dialect)
    return geometry_of(written_call, dialect, reading_names(reading))


@checked
def disputed(dialect: str | Dialect = DEFAULT_DIALECT) -> dict[str, str]:
    """Return the disputed readings of a dialect, each in words, by name.

    Raises:
        UsageError: the dialect is unknown.

    Example:
        >>> from tconv import disputed
        >>> list(disputed("onednn/ConvTranspose-1"))
        ['negative-same-shrunk', 'negative-same-refused']
    """
    return {reading.name: reading.says for reading in dialect_of(dialect).disputed}

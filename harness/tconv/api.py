"""The public Python interface: the reference and the resolver for arrays and attributes of the caller."""

from __future__ import annotations

from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tconv.cases.layouts import from_ncx, to_iox, to_ncx
from tconv.dialects import dialect_named
from tconv.dialects.geometry import Geometry
from tconv.dialects.geometry import resolve as resolve_geometry
from tconv.dialects.readings import Reading, applied
from tconv.errors import Invalid, UsageError, Violation, nearest
from tconv.expectation.owed import Values, owed
from tconv.expectation.reference import definition
from tconv.vocabulary import NEUTRAL, Attributes, AutoPad, DataFormat, DType, FilterFormat, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tconv.dialects import Dialect
    from tconv.vocabulary import Array

DEFAULT_DIALECT = "onnx/ConvTranspose-22"
_Format = TypeVar("_Format", DataFormat, FilterFormat)


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
        w: filter in `filter_format`: (C, O/G, K...) for IOX, (K..., O/G, C) for XOI, (G, C/G, O/G, K...) for GIOX.
        bias: (O,), or None.
        dialect: whose rules and defaults hold: a name such as `onnx/ConvTranspose-22`, or a dialect of the caller.
        strides: one integer for every spatial axis, or one each; None where it is not written, here and below.
        dilations: likewise.
        pads_begin: likewise, cropped at the beginning.
        pads_end: likewise, cropped at the end.
        auto_pad: explicit, valid, same_upper or same_lower.
        output_padding: likewise, added at the end.
        output_shape: likewise, the spatial sizes of the output.
        groups: the number of groups; with GIOX it follows from the filter.
        data_format: NCX or NXC, whatever the dialect; None for the dialect's default.
        filter_format: IOX, XOI or GIOX, whatever the dialect; None for the dialect's default.
        reading: a disputed reading's name, or several, to follow instead of the primary ones; see `disputed`.

    Returns:
        (N, O, Y...) in `data_format`.

    Raises:
        Invalid: a constraint that the dialect states is violated.
        UsageError: the dialect, a layout or a reading is not known.
    """
    dialect = _dialect(dialect)
    data, filters = _formats(dialect, data_format, filter_format)
    x, w = np.asarray(x), np.asarray(w)
    _refuse_without_layout(dialect, x, w, data, filters)
    x = to_ncx(x, data)
    if filters is FilterFormat.GIOX:
        groups = _giox_groups(w, groups)
    w = to_iox(w, filters)
    written = _signature(
        dialect,
        max(x.ndim - 2, 0),
        {
            "strides": strides,
            "dilations": dilations,
            "pads_begin": pads_begin,
            "pads_end": pads_end,
            "output_padding": output_padding,
            "output_shape": output_shape,
        },
        auto_pad,
        groups,
        x.shape,
        w.shape,
        None if bias is None else np.shape(bias),
    )
    geometry = _geometry(written, dialect, reading)
    b = None if bias is None else np.asarray(bias, dtype=np.float64)
    return from_ncx(definition(x.astype(np.float64), w.astype(np.float64), b, geometry), data)


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
        spatial: the data's spatial sizes.
        kernel: the filter's spatial sizes, as many.
        dialect: as for `conv_transpose`, and so are all others.
        strides: steps of the output for one of the input.
        dilations: steps of the output for one of the filter.
        pads_begin: cropped at the beginning.
        pads_end: cropped at the end.
        auto_pad: the padding mode.
        output_padding: added at the end.
        output_shape: the output's spatial sizes.
        groups: the number of groups.
        reading: disputed readings to follow.

    Raises:
        Invalid: a constraint that the dialect states is violated.
        UsageError: the dialect or a reading is not known.
    """
    dialect = _dialect(dialect)
    count = groups or 1
    written = _signature(
        dialect,
        len(spatial),
        {
            "strides": strides,
            "dilations": dilations,
            "pads_begin": pads_begin,
            "pads_end": pads_end,
            "output_padding": output_padding,
            "output_shape": output_shape,
        },
        auto_pad,
        groups,
        (1, count, *spatial),
        (count, 1, *kernel),
        None,
    )
    return _geometry(written, dialect, reading)


def disputed(dialect: str | Dialect = DEFAULT_DIALECT) -> dict[str, str]:
    """Return the disputed readings of a dialect: what each says, by its name.

    Raises:
        UsageError: the dialect is not known.
    """
    return {reading.name: reading.says for reading in _dialect(dialect).disputed}


def _dialect(dialect: str | Dialect) -> Dialect:
    return dialect_named(dialect) if isinstance(dialect, str) else dialect


def _formats(dialect: Dialect, data_format: str | None, filter_format: str | None) -> tuple[DataFormat, FilterFormat]:
    return (
        _format(DataFormat, data_format, dialect.data_format, "data_format"),
        _format(FilterFormat, filter_format, dialect.filter_format, "filter_format"),
    )


def _format(formats: type[_Format], word: str | None, default: _Format, name: str) -> _Format:
    if word is None:
        return default
    try:
        return formats(word)
    except ValueError:
        known = ", ".join(formats)
        raise UsageError(f"{name} must be one of {known} (got {word!r}){nearest(word, formats)}") from None


def _refuse_without_layout(dialect: Dialect, x: Array, w: Array, data: DataFormat, filters: FilterFormat) -> None:
    """Refuse arrays that have too few dimensions for their layout."""
    least = {FilterFormat.IOX: 0, FilterFormat.XOI: 2, FilterFormat.GIOX: 3}[filters]
    for name, array, dimensions, constraint in (
        ("data", x, 2 if data is DataFormat.NXC else 0, "at-least-one-spatial-axis"),
        ("filter", w, least, "filter-rank-matches"),
    ):
        if array.ndim < dimensions:
            must, got = f"must have at least {dimensions} dimensions", f"shape {list(array.shape)}"
            raise Invalid(Violation(constraint, name, must, got, dialect.constraints[constraint].clause))


def _giox_groups(w: Array, groups: int | None) -> int:
    if groups not in (None, w.shape[0]):
        raise UsageError(f"groups must be {w.shape[0]}, the filter's first size in GIOX (got {groups})")
    return int(w.shape[0])


def _signature(
    dialect: Dialect,
    rank: int,
    lists: dict[str, int | Sequence[int] | None],
    auto_pad: str | None,
    groups: int | None,
    x: Sequence[int],
    w: Sequence[int],
    b: Sequence[int] | None,
) -> Signature:
    """Return the signature; an attribute that the dialect requires and the caller leaves out is written as neutral."""
    if auto_pad is not None and auto_pad not in set(AutoPad):
        raise UsageError(f"auto_pad must be one of {', '.join(AutoPad)} (got {auto_pad!r}){nearest(auto_pad, AutoPad)}")
    given: dict[str, Any] = {}
    for name, value in lists.items():
        entry = NEUTRAL[name] if value is None and name in dialect.spelling.written else value
        if entry is not None:
            given[name] = (int(entry),) * rank if isinstance(entry, int | np.integer) else tuple(map(index, entry))
    return Signature(
        Attributes(auto_pad=auto_pad, groups=groups, **given),
        # The reference computes in float64 whatever the dialect's types are; f32 is a type of every dialect.
        TensorType(tuple(int(n) for n in x), DType.F32),
        TensorType(tuple(int(n) for n in w), DType.F32),
        None if b is None else TensorType(tuple(int(n) for n in b), DType.F32),
    )


def _geometry(written: Signature, dialect: Dialect, names: str | Iterable[str]) -> Geometry:
    expected = owed(written, dialect)
    readings = list(_readings(dialect, (names,) if isinstance(names, str) else names))
    if not isinstance(expected, Values) and not (readings and expected.violation.constraint in _RESOLVER_CONSTRAINTS):
        raise Invalid(expected.violation)
    result = resolve_geometry(written, applied(dialect.rules, readings))
    if isinstance(result, Violation):
        clause = readings[-1].cites if readings else dialect.constraints[result.constraint].clause
        raise Invalid(replace(result, clause=clause))
    return result


_RESOLVER_CONSTRAINTS = ("output-size-non-negative",)
"""Constraints that the resolver checks, so that they may hold under another reading."""


def _readings(dialect: Dialect, names: Iterable[str]) -> Iterable[Reading]:
    known = {reading.name: reading for reading in dialect.disputed}
    answered: dict[str, str] = {}
    for name in names:
        if name not in known:
            names_of_all = ", ".join(known) or "none"
            raise UsageError(
                f"reading must be a disputed one of {dialect.name}: {names_of_all} (got {name!r}){nearest(name, known)}"
            )
        question = known[name].change.question
        if question in answered:
            raise UsageError(f"readings must answer each question once (got {answered[question]!r} and {name!r})")
        answered[question] = name
        yield known[name]


__all__ = ["Geometry", "Invalid", "conv_transpose", "disputed", "resolve"]

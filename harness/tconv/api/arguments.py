"""The caller's arguments: arrays in NCX and IOX, attributes as a signature; each wrong one is refused in words."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from tconv.cases.layouts import fewest_axes, to_iox, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.dialects import Dialect, find_dialect
from tconv.dialects.geometry import Geometry
from tconv.dialects.geometry import resolve as resolve_geometry
from tconv.dialects.readings import Reading, apply_readings
from tconv.errors import Invalid, UsageError, Violation
from tconv.expectation.expected import Values, expect_of_signature
from tconv.nearest_word import nearest
from tconv.shown_texts import shown
from tconv.vocabulary import NEUTRAL, Attributes, AutoPad, DataFormat, DType, FilterFormat, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.vocabulary import Array

DEFAULT_DIALECT = "onnx/ConvTranspose-22"
LISTS = (*NEUTRAL, "output_shape")
"""The attributes with an entry for each spatial axis."""
_Format = TypeVar("_Format", DataFormat, FilterFormat)
_LARGEST_INTEGER = 2**63
_LARGEST_OUTPUT = 2**30
"""Elements of the largest output: 8 GiB in float64."""
_MOST_AXES = 29
"""Spatial axes: the reference needs three further dimensions, and numpy allows 32."""


class Written(TypedDict, total=False):
    """The attributes and layouts that a caller may write, as `conv_transpose` describes them."""

    strides: int | Sequence[int] | None
    dilations: int | Sequence[int] | None
    pads_begin: int | Sequence[int] | None
    pads_end: int | Sequence[int] | None
    auto_pad: str | None
    output_padding: int | Sequence[int] | None
    output_shape: int | Sequence[int] | None
    groups: int | None
    data_format: str | None
    filter_format: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """A caller's operands.

    Attributes:
        x: data, (N, C, X...).
        w: filter, (C, O/G, K...).
        b: bias, (O,), or None.
        groups: the number of groups; None if it is not given, and does not follow from the layout.
        data_format: the caller's layout of data and output.
    """

    x: Array
    w: Array
    b: Array | None
    groups: int | None
    data_format: DataFormat


def dialect_of(dialect: str | Dialect) -> Dialect:
    """Return the dialect, given itself or by its name.

    Raises:
        UsageError: the dialect is not known.
    """
    if isinstance(dialect, Dialect):
        return dialect
    if not isinstance(dialect, str):
        raise UsageError(f"dialect must be a name or a Dialect (got {shown(dialect)}); write {DEFAULT_DIALECT!r}")
    return find_dialect(dialect)


def reading_names(reading: Any) -> tuple[str, ...]:  # noqa: ANN401 - a caller may give anything
    """Return the names of readings, given one or several.

    Raises:
        UsageError: it is neither.
    """
    names = (reading,) if isinstance(reading, str) else _entries(reading)
    if names is None or not all(isinstance(name, str) for name in names):
        raise UsageError(f"reading must be a name or a list of names (got {shown(reading)}); see disputed(dialect)")
    return names


def _entries(value: Any) -> tuple[Any, ...] | None:  # noqa: ANN401 - as above
    """Return the entries of any iterable except a text; None for other values."""
    try:
        return None if isinstance(value, str) else tuple(value)
    except TypeError:
        return None


def refuse_too_large(geometry: Geometry, batch: int, out_channels: int) -> None:
    """Refuse an output that is too large to be computed; what is cropped does not count.

    Args:
        geometry: the geometry.
        batch: N.
        out_channels: O, of all groups together.

    Raises:
        UsageError: it is too large, or has too many axes.
    """
    if len(geometry.output) > _MOST_AXES:
        raise UsageError(f"x must have at most {_MOST_AXES} spatial axes (got {len(geometry.output)})")
    # The reference also holds the products of one tap with all data, in the sizes of the data.
    for sizes, what in ((geometry.output, "the output"), (geometry.spatial, "the products of one tap")):
        if (elements := prod(max(size, 1) for size in (*sizes, batch, out_channels))) > _LARGEST_OUTPUT:
            raise UsageError(
                f"{what} must have at most {_LARGEST_OUTPUT:,} elements (got {elements:,}); "
                "take smaller sizes, strides or output_shape; resolve() computes sizes alone"
            )


def arrays_of(x: Any, w: Any, bias: Any, dialect: Dialect, written: Mapping[str, Any]) -> Arrays:  # noqa: ANN401 - a caller may give anything
    """Return the operands in canonical layouts; their types do not change.

    Args:
        x: data in the layout `data_format`.
        w: filter in the layout `filter_format`.
        bias: (O,), or None.
        dialect: the dialect, for default layouts.
        written: `data_format`, `filter_format` and `groups`, if the caller gave them.

    Raises:
        UsageError: an array is not of numbers, or a layout is not known.
        Invalid: an array has too few dimensions for its layout.
    """
    data = _format(DataFormat, written.get("data_format"), dialect.data_format, "data_format")
    filters = _format(FilterFormat, written.get("filter_format"), dialect.filter_format, "filter_format")
    x, w = _numbers("x", x), _numbers("w", w)
    _refuse_without_layout(dialect, x, w, data, filters)
    groups = _groups(written)
    if filters is FilterFormat.GIOX:
        if groups not in (None, w.shape[0]):
            raise UsageError(f"groups must be {w.shape[0]}, the filter's first size in GIOX (got {groups})")
        groups = int(w.shape[0])
    return Arrays(to_ncx(x, data), to_iox(w, filters), None if bias is None else _numbers("bias", bias), groups, data)


def read_numbers(name: str, value: Any) -> Array:  # noqa: ANN401 - a caller may give anything
    """Return an array of real numbers, in its own type.

    Raises:
        UsageError: it is none, or has a mask.
    """
    # There is no masked array if its module is not loaded.
    if (masked := sys.modules.get("numpy.ma")) is not None and isinstance(value, masked.MaskedArray):
        raise UsageError(f"{name} must have no mask (got a masked array); fill it: {name}.filled(0)")
    try:
        array = np.asarray(value)
    except Exception as error:  # noqa: BLE001 - an array of another library may raise anything
        raise UsageError(f"{name} must be an array of numbers (got {type(value).__name__}: {error})") from None
    if array.dtype not in NUMPY_TYPES.values() and array.dtype.kind not in "iuf":
        advice = "; give its real part and its imaginary part apart" if array.dtype.kind == "c" else ""
        got = "text" if array.dtype.kind in "SU" else array.dtype.name
        raise UsageError(f"{name} must be an array of real numbers (got {got}){advice}")
    return array


def _numbers(name: str, value: Any) -> Array:  # noqa: ANN401 - a caller may give anything
    """Return an array of real numbers that float64 can represent, in its own type."""
    array = read_numbers(name, value)
    if array.dtype in NUMPY_TYPES.values():
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = array.astype(np.float64)
        # The cast of integers from 2^63 to float64 and back is not reliable.
        same = np.array_equal(numbers.astype(array.dtype), array, equal_nan=array.dtype.kind == "f")
    if not same or (array.dtype.kind in "iu" and (np.abs(numbers) >= _LARGEST_INTEGER).any()):
        raise UsageError(f"{name} must have numbers that float64 holds (got {array.dtype} with more digits); round it")
    return array


def _format(formats: type[_Format], word: object, default: _Format, name: str) -> _Format:
    if word is None:
        return default
    return formats(word_of(name, word, list(formats)))


def word_of(name: str, value: Any, words: Sequence[str]) -> str:  # noqa: ANN401 - a caller may give anything
    """Return the value of an argument that must be one of some words.

    Raises:
        UsageError: it is none of them.
    """
    if isinstance(value, str) and value in words:
        return value
    hint = nearest(value, words) if isinstance(value, str) else ""
    raise UsageError(f"{name} must be one of {', '.join(words)} (got {shown(value)}){hint}")


def _refuse_without_layout(dialect: Dialect, x: Array, w: Array, data: DataFormat, filters: FilterFormat) -> None:
    """Refuse arrays that have too few dimensions for their layout."""
    for name, array, dimensions, constraint in (
        ("data", x, fewest_axes(data), "at-least-one-spatial-axis"),
        ("filter", w, fewest_axes(filters), "filter-rank-matches"),
    ):
        if array.ndim < dimensions:
            must, got = f"must have at least {dimensions} dimensions", f"shape {list(array.shape)}"
            raise Invalid(Violation(constraint, name, must, got, dialect.constraints[constraint].clause))


def attributes_of(written: Mapping[str, Any], rank: int) -> Attributes:
    """Return the attributes.

    Args:
        written: attributes by name, None if they are not written; without layouts.
        rank: the number of spatial axes, for which a single integer is repeated.

    Raises:
        UsageError: a value is no integer, or a word is not known.
    """
    auto_pad = written.get("auto_pad")
    if auto_pad is not None:
        auto_pad = word_of("auto_pad", auto_pad, list(AutoPad))
    attributes: dict[str, Any] = {}
    for name in LISTS:
        if (value := written.get(name)) is not None:
            attributes[name] = _integers(name, value, rank)
    return Attributes(auto_pad=auto_pad, groups=_groups(written), **attributes)


def _groups(written: Mapping[str, Any]) -> int | None:
    groups = written.get("groups")
    return None if groups is None else _integer("groups", groups)


def sizes_of(name: str, values: Any) -> tuple[int, ...]:  # noqa: ANN401 - a caller may give anything
    """Return spatial sizes.

    Raises:
        UsageError: they are no list of integers of at least 0.
    """
    entries = _entries(values)
    if entries is None:
        raise UsageError(f"{name} must be a list of sizes, one for each spatial axis (got {shown(values)})")
    sizes = tuple(_integer(name, value) for value in entries)
    if any(size < 0 for size in sizes):
        raise UsageError(f"{name} must have sizes of at least 0 (got {list(sizes)}); write the sizes of the array")
    return sizes


def _integers(name: str, value: Any, rank: int) -> tuple[int, ...]:  # noqa: ANN401 - as above
    entries = _entries(value)
    return (_integer(name, value),) * rank if entries is None else tuple(_integer(name, entry) for entry in entries)


def _integer(name: str, value: Any) -> int:  # noqa: ANN401 - as above
    try:
        if not isinstance(value, bool | np.bool_):
            number = index(value)
            if abs(number) < _LARGEST_INTEGER:
                return number
            raise UsageError(
                f"{name} must have less than 64 bits (got {number.bit_length()} bits); no array is so large"
            )
    except TypeError:
        pass
    what = "an integer" if name == "groups" else "integers"
    raise UsageError(f"{name} must be {what} (got {shown(value)}); write it without a fraction or quotes")


def signature_of(attributes: Attributes, x: Sequence[int], w: Sequence[int], b: Sequence[int] | None) -> Signature:
    """Return the signature of operands. Their type does not matter here: it is f32, which every dialect has."""
    x_type, w_type = (TensorType(tuple(int(n) for n in shape), DType.F32) for shape in (x, w))
    return Signature(attributes, x_type, w_type, None if b is None else TensorType(tuple(int(n) for n in b), DType.F32))


def geometry_of(written: Signature, dialect: Dialect, names: Iterable[str]) -> Geometry:
    """Return the geometry of a signature under the named readings, and the primary ones for all other questions.

    Raises:
        Invalid: a constraint that the dialect states is violated.
        UsageError: a reading is not known.
    """
    expected = expect_of_signature(written, dialect)
    readings = list(_readings(dialect, names))
    if not isinstance(expected, Values) and not (readings and expected.violation.constraint in _RESOLVER_CONSTRAINTS):
        raise Invalid(expected.violation)
    result = resolve_geometry(written, apply_readings(dialect.rules, readings))
    if isinstance(result, Violation):
        clause = readings[-1].cites if readings else dialect.constraints[result.constraint].clause
        raise Invalid(replace(result, clause=clause))
    return result


_RESOLVER_CONSTRAINTS = ("output-size-non-negative",)
"""Constraints that the resolver checks; they may hold under another reading."""


def _readings(dialect: Dialect, names: Iterable[str]) -> Iterable[Reading]:
    by_name = {reading.name: reading for reading in dialect.disputed}
    answered: dict[str, str] = {}
    for name in names:
        if name not in by_name:
            known = ", ".join(by_name) or "none"
            raise UsageError(
                f"reading must be a disputed one of {dialect.name}: {known} (got {name!r}){nearest(name, by_name)}"
            )
        question = by_name[name].change.question
        if question in answered:
            raise UsageError(f"readings must answer each question once (got {answered[question]!r} and {name!r})")
        answered[question] = name
        yield by_name[name]

"""The caller's arguments: arrays as numbers in NCX and IOX, attributes as a signature, each refused in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from tconv.cases.layouts import to_iox, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.dialects import dialect_named
from tconv.dialects.geometry import Geometry
from tconv.dialects.geometry import resolve as resolve_geometry
from tconv.dialects.readings import Reading, applied
from tconv.errors import Invalid, UsageError, Violation
from tconv.expectation.owed import Values, owed
from tconv.nearest_word import nearest
from tconv.shown_texts import shown
from tconv.vocabulary import NEUTRAL, Attributes, AutoPad, DataFormat, DType, FilterFormat, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.vocabulary import Array

DEFAULT_DIALECT = "onnx/ConvTranspose-22"
LISTS = (*NEUTRAL, "output_shape")
"""The attributes with an entry for each spatial axis."""
_Format = TypeVar("_Format", DataFormat, FilterFormat)
_LARGEST_INTEGER = 2**63


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
        groups: the number of groups; None where neither the caller nor the layout says it.
        data_format: the layout in which the data came, and in which the output goes.
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
    return dialect_named(dialect) if isinstance(dialect, str) else dialect


def arrays_of(x: Any, w: Any, bias: Any, dialect: Dialect, written: Mapping[str, Any]) -> Arrays:  # noqa: ANN401 - a caller may give anything
    """Return the operands in canonical layouts, in the types in which they came.

    Args:
        x: data in the layout `data_format`.
        w: filter in the layout `filter_format`.
        bias: (O,), or None.
        dialect: whose default layouts hold.
        written: `data_format`, `filter_format` and `groups`, each where the caller wrote it.

    Raises:
        UsageError: an array is not of numbers, or a layout is not known.
        Invalid: an array has too few dimensions for its layout.
    """
    data = _format(DataFormat, written.get("data_format"), dialect.data_format, "data_format")
    filters = _format(FilterFormat, written.get("filter_format"), dialect.filter_format, "filter_format")
    x, w = _numbers("x", x), _numbers("w", w)
    _refuse_without_layout(dialect, x, w, data, filters)
    groups = written.get("groups")
    if filters is FilterFormat.GIOX:
        if groups not in (None, w.shape[0]):
            raise UsageError(f"groups must be {w.shape[0]}, the filter's first size in GIOX (got {groups})")
        groups = int(w.shape[0])
    return Arrays(to_ncx(x, data), to_iox(w, filters), None if bias is None else _numbers("bias", bias), groups, data)


def _numbers(name: str, value: Any) -> Array:  # noqa: ANN401 - a caller may give anything
    """Return an array of numbers that float64 holds: floating point of a tconv type, or other numbers, unchanged."""
    if isinstance(value, np.ma.MaskedArray):
        raise UsageError(f"{name} must have no mask (got a masked array); fill it: {name}.filled(0)")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"{name} must be an array of numbers (got {type(value).__name__}: {error})") from None
    if array.dtype in NUMPY_TYPES.values():
        return array
    if array.dtype.kind not in "iuf":
        advice = "; give its real part and its imaginary part apart" if array.dtype.kind == "c" else ""
        raise UsageError(f"{name} must be an array of real numbers (got {array.dtype}){advice}")
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = array.astype(np.float64)
        # Integers of 2^63 and above do not come back from float64 as they were, or do so by accident.
        same = np.array_equal(numbers.astype(array.dtype), array, equal_nan=array.dtype.kind == "f")
    if not same or (array.dtype.kind in "iu" and (np.abs(numbers) >= _LARGEST_INTEGER).any()):
        raise UsageError(f"{name} must have numbers that float64 holds (got {array.dtype} with more digits); round it")
    return array


def _format(formats: type[_Format], word: str | None, default: _Format, name: str) -> _Format:
    if word is None:
        return default
    try:
        return formats(word)
    except ValueError:
        words = ", ".join(formats)
        raise UsageError(f"{name} must be one of {words} (got {word!r}){nearest(str(word), formats)}") from None


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


def attributes_of(written: Mapping[str, Any], dialect: Dialect, rank: int) -> Attributes:
    """Return the attributes; one that the dialect requires and the caller leaves out is written as neutral.

    Args:
        written: attributes by name, None where they are not written; layouts are left out.
        dialect: whose required attributes are written.
        rank: the number of spatial axes, for which a single integer is repeated.

    Raises:
        UsageError: a value is no integer, or a word is not known.
    """
    auto_pad, groups = written.get("auto_pad"), written.get("groups")
    if auto_pad is not None and auto_pad not in set(AutoPad):
        hint = nearest(str(auto_pad), AutoPad)
        raise UsageError(f"auto_pad must be one of {', '.join(AutoPad)} (got {auto_pad!r}){hint}")
    attributes: dict[str, Any] = {}
    for name in LISTS:
        value = written.get(name)
        entry = NEUTRAL[name] if value is None and name in dialect.spelling.written else value
        if entry is not None:
            attributes[name] = _integers(name, entry, rank)
    return Attributes(auto_pad=auto_pad, groups=None if groups is None else _integer("groups", groups), **attributes)


def sizes_of(name: str, values: Any) -> tuple[int, ...]:  # noqa: ANN401 - a caller may give anything
    """Return spatial sizes.

    Raises:
        UsageError: they are no list of integers of at least 0.
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise UsageError(f"{name} must be a list of sizes, one for each spatial axis (got {shown(values)})")
    sizes = tuple(_integer(name, value) for value in values)
    if any(size < 0 for size in sizes):
        raise UsageError(f"{name} must have sizes of at least 0 (got {list(sizes)}); write the sizes of the array")
    return sizes


def _integers(name: str, value: Any, rank: int) -> tuple[int, ...]:  # noqa: ANN401 - as above
    if isinstance(value, str) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
        return (_integer(name, value),) * rank
    return tuple(_integer(name, entry) for entry in value)


def _integer(name: str, value: Any) -> int:  # noqa: ANN401 - as above
    try:
        if not isinstance(value, bool | np.bool_):
            return index(value)
    except TypeError:
        pass
    what = "an integer" if name == "groups" else "integers"
    raise UsageError(f"{name} must be {what} (got {shown(value)}); write it without a fraction or quotes")


def signature_of(attributes: Attributes, x: Sequence[int], w: Sequence[int], b: Sequence[int] | None) -> Signature:
    """Return the signature of operands whose type does not matter: f32 is a type of every dialect."""
    x_type, w_type = (TensorType(tuple(int(n) for n in shape), DType.F32) for shape in (x, w))
    return Signature(attributes, x_type, w_type, None if b is None else TensorType(tuple(int(n) for n in b), DType.F32))


def geometry_of(written: Signature, dialect: Dialect, names: str | Iterable[str]) -> Geometry:
    """Return the geometry of a signature under the primary readings, but for those that are named.

    Raises:
        Invalid: a constraint that the dialect states is violated.
        UsageError: a reading is not known.
    """
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

"""The table of facts: what is true of a call, in words and numbers. Conditions are made of its terms.

For example, these terms and some hundred others hold for a call with 34 channels in two groups and strides (2, 1):
`group=grouped`, `channels / groups is 1 more than a multiple of 16`, `strides of an axis >= 2`,
`strides differs between axes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.cases.call import choose_layouts
from tconv.cases.context import AXES, PREFIX
from tconv.dialects.geometry import reach
from tconv.expectation.expected import NotApplicable
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Mask

    Numbers = np.ndarray[Any, np.dtype[np.int64]]

_PER_AXIS = ("spatial", "kernel", "strides", "dilations", "pads_begin", "pads_end", "output_padding", "output")
"""Numbers that each axis has."""
_PLAINEST_FIRST = (*_PER_AXIS[1:4], "output", "spatial", *_PER_AXIS[4:7])
"""The same in order of preference, if terms hold for the same calls."""
_TOTAL = "total padding"
"""The part of the full size that an axis crops; less than 0 if the axis adds to it."""
_SIZES = ("batch", "channels", "out_channels", "channels / groups", "out_channels / groups", "groups")
"""Numbers that each call has once."""
_LISTS = ("strides", "dilations", "pads_begin", "output_padding")
"""Attributes that a call may omit: then the runtime must know their defaults."""
_LIMITS = 256
"""The most values of a size with which it is compared, the smallest first. 128 did not reach columns beyond 190."""
_MULTIPLES = (2, 4, 8, 16, 32)
"""Sizes of vectors in kernels; the rest of a division by them is computed separately."""
_IN_VECTORS = ("spatial", "output", "kernel", "strides", "dilations")
"""Numbers of an axis for which kernels are unrolled or vectorized."""
_PAIRS = (("kernel", "strides"), ("spatial", "kernel"), ("dilations", "strides"), ("output_padding", "strides"))
"""Pairs of attributes of an axis that are compared."""
_SAME = (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER)
_FOLLOWING = (
    "empty", "output_empty", "output_shape_below_spatial", "output_shape_beyond_reach",
    "output_shape_beyond_reach_by_stride", "output_padding_reaches_stride", "pads_begin_beyond_kernel", "spelling",
)  # fmt: skip
"""Facts of a case, as in patterns, that follow from several of its settings or say how it is written."""
_UNKNOWN = -(2**40)
"""This replaces a number that a call does not have, such as the size of an output that no text gives."""
_HUGE = -_UNKNOWN - 1
"""This replaces larger numbers. As the size of an output is limited, the total padding fits into 64 bits."""


class Features(NamedTuple):
    """The features of a call.

    Attributes:
        sizes: the numbers of `_SIZES`.
        axes: the numbers of `_PER_AXIS` and `_TOTAL` for each axis.
        words: the features that are no numbers. These are the padding mode, types, layouts, presentation, the kind of
            group, whether there is a bias, which lists are written, and the constraint that an invalid call breaks.
    """

    sizes: Mapping[str, int]
    axes: Sequence[Mapping[str, int]]
    words: Mapping[str, str]


def features_of(problem: Problem) -> Features | None:
    """Return the features of a call; None if the dialect cannot express it."""
    if isinstance(problem.expectation, NotApplicable):
        return None
    case = problem.case
    (batch, channels), per_group, groups = case.x.shape[:2], case.w.shape[1], case.attributes.groups or 1
    in_group = channels // groups if groups > 0 else _UNKNOWN
    sizes = (batch, channels, per_group * groups, in_group, per_group, groups)
    return Features(dict(zip(_SIZES, sizes, strict=True)), _axes(problem), _words(problem))


def _axes(problem: Problem) -> list[dict[str, int]]:
    signature, rank = problem.signature, problem.signature.rank
    spatial, kernel = problem.case.x.shape[2:], problem.case.w.shape[2:]
    lists = [_of_rank(signature.per_axis(name), rank) for name in _PER_AXIS[2:7]]
    output = problem.values.primary.geometry.output if problem.values else ()
    columns = (_of_rank(spatial, rank), _of_rank(kernel, rank), *lists, _of_rank(output, rank))
    axes = [dict(zip(_PER_AXIS, numbers, strict=True)) for numbers in zip(*columns, strict=True)]
    for axis in axes:
        x, k, s, d, _, _, op, size = axis.values()
        axis[_TOTAL] = _UNKNOWN if _UNKNOWN in (x, k, s, d, op, size) else reach(x, k, s, d) + op - size
    return axes


def _of_rank(numbers: Sequence[int], rank: int) -> Sequence[int]:
    """Return a number for each axis; unknown ones if an invalid call has another count. Huge numbers are smaller."""
    return [min(max(number, -_HUGE), _HUGE) for number in numbers] if len(numbers) == rank else (_UNKNOWN,) * rank


def _words(problem: Problem) -> dict[str, str]:
    case, signature, attributes = problem.case, problem.signature, problem.case.attributes
    # If no layout is written, the dialect's layout is used.
    data_format, filter_format = choose_layouts(attributes, problem.dialect)
    return {
        "dtype": str(case.x.dtype),
        "group": case.kind_of_group,
        "rank": str(signature.rank),
        "auto_pad": str(signature.auto_pad),
        "output_shape_given": str(attributes.output_shape is not None).lower(),
        "bias": str(case.b is not None).lower(),
        "data": case.x.data,
        "filter_data": case.w.data,
        "data_format": str(data_format),
        "filter_format": str(filter_format),
        "shapes": case.shapes,
        "data_source": case.data_source,
        "filter_source": case.filter_source,
        "output_shape_source": case.output_shape_source if attributes.output_shape else "",
        "breaks": str(case.breaks or ""),
        **{f"{name}_given": str(getattr(attributes, name) is not None).lower() for name in _LISTS},
        **{name: case.facts.get(name, "") for name in _FOLLOWING},
        **{f"{PREFIX}{axis}": getattr(case.context, axis) for axis in AXES},
    }


def is_word(term: str) -> bool:
    """Return whether a term says that a word has one of its values; False for numbers, whose terms have spaces."""
    return "=" in term and " " not in term


def terms_of(calls: Sequence[Features]) -> dict[str, Mask]:
    """Return the calls for which each term holds, the plainest terms first; of terms for the same calls only one."""
    terms: dict[bytes, tuple[str, Mask]] = {}
    for text, holds in _terms(calls):
        if holds.any() and not holds.all():
            terms.setdefault(holds.tobytes(), (text, holds))
    return dict(terms.values())


def _terms(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    yield from _of_words(calls)
    yield from _of_sizes(calls)
    yield from _of_axes(calls)


def _of_words(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    """Yield terms that say that a word is, or is not, one of its values."""
    for name in calls[0].words if calls else ():
        column = np.array([call.words.get(name, "") for call in calls])
        values = sorted(set(column.tolist()) - {""})
        for value in values:
            yield f"{name}={value}", column == value
        if name == "auto_pad":
            yield "auto_pad=same_*", np.isin(column, _SAME)
        if name == "group":
            yield "group!=dense", column != "dense"
        if len(values) > 2:  # noqa: PLR2004 - of two values one is the other's opposite
            yield from ((f"{name}!={value}", (column != value) & (column != "")) for value in values)


def _of_sizes(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    sizes = {name: np.array([call.sizes[name] for call in calls], np.int64) for name in _SIZES}
    for name, numbers in sizes.items():
        yield from _equal(name, numbers)
        yield from _compared(name, numbers)
        yield from _divided(name, numbers)
    same = sizes["channels / groups"] == sizes["out_channels / groups"]
    yield "channels / groups = out_channels / groups", same
    yield "channels / groups != out_channels / groups", ~same


class _Axes(NamedTuple):
    """A number for each axis of each call, (calls, axes), and a mask of the axes that exist."""

    numbers: Numbers
    known: Mask

    def at(self, place: str) -> Numbers:
        """Return the number of each call at a place; `_UNKNOWN` if it has none."""
        some = self.known.any(axis=1)
        rows, last = np.arange(len(self.numbers)), np.maximum(self.known.sum(axis=1) - 1, 0)
        match place:
            case "an axis":
                of = np.where(self.known, self.numbers, _UNKNOWN).max(axis=1, initial=_UNKNOWN)
            case "every axis":
                of = np.where(self.known, self.numbers, -_UNKNOWN).min(axis=1, initial=-_UNKNOWN)
            case "the last axis" | "the second-last axis" | "the third-last axis":
                before = _LAST.index(place)
                of = np.where(last >= before, self.numbers[rows, np.maximum(last - before, 0)], _UNKNOWN)
            case "the second axis":
                of = np.where(last > 0, self.numbers[:, min(1, self.numbers.shape[1] - 1)], _UNKNOWN)
            case _:
                of = self.numbers[:, 0]
        numbers: Numbers = np.where(some, of, _UNKNOWN)
        return numbers

    def any(self, holds: Mask) -> Mask:
        """Return the calls for which something holds on at least one axis."""
        return np.asarray((holds & self.known).any(axis=1))

    def every(self, holds: Mask) -> Mask:
        """Return the calls for which something holds on every axis; without axes it does not hold."""
        return np.asarray((holds | ~self.known).all(axis=1) & self.known.any(axis=1))


_LAST = ("the last axis", "the second-last axis", "the third-last axis")
"""W, H and D for every rank."""
_SECOND = "the second axis"
"""The second of several axes: for rank 1 it has no number."""
_SOME = ("an axis", "every axis")
_PLACES = (*_LAST, "the first axis", *_SOME)
"""Places whose numbers are compared. For "an axis" this is the largest number, for "every axis" the smallest."""


def _table(name: str, calls: Sequence[Features]) -> _Axes:
    most = max((len(call.axes) for call in calls), default=0)
    rows = [[axis[name] for axis in call.axes] + [_UNKNOWN] * (most - len(call.axes)) for call in calls]
    numbers = np.array(rows, np.int64).reshape(len(calls), most)
    numbers = numbers if most else np.full((len(calls), 1), _UNKNOWN, np.int64)
    return _Axes(numbers, numbers != _UNKNOWN)


def _of_axes(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    """Yield terms on an axis, on every axis, and on the first and last axes."""
    tables = {name: _table(name, calls) for name in (*_PER_AXIS, _TOTAL)}
    for name in _PLAINEST_FIRST:
        axes = tables[name]
        for place in (*_PLACES, *([_SECOND] if name in {"spatial", "output", "pads_begin", "pads_end"} else [])):
            numbers = axes.at(place)
            if place not in _SOME:
                yield from _equal(f"{name} of {place}", numbers)
            yield from _compared(f"{name} of {place}", numbers)
        for place in _LAST if name in _IN_VECTORS else ():
            yield from _divided(f"{name} of {place}", axes.at(place))
        odd = axes.numbers % 2 == 1
        yield f"{name} of an axis is even", axes.any(~odd)
        yield f"{name} of an axis is odd", axes.any(odd)
        yield f"{name} of every axis is even", axes.every(~odd)
        yield f"{name} of every axis is odd", axes.every(odd)
        yield f"{name} differs between axes", axes.any(axes.numbers != axes.numbers[:, :1])
    yield from _of_pairs(tables)


def _of_pairs(tables: Mapping[str, _Axes]) -> Iterator[tuple[str, Mask]]:
    """Yield terms that compare two attributes of an axis."""
    for first, second in _PAIRS:
        below = tables[first].numbers < tables[second].numbers
        yield f"{first} < {second} on an axis", tables[first].any(below)
        yield f"{first} >= {second} on an axis", tables[first].any(~below)
    kernel, strides, dilations = (tables[name].numbers for name in ("kernel", "strides", "dilations"))
    known = tables["kernel"]
    short = (kernel - 1) * dilations < strides
    yield "(kernel - 1) * dilations < strides on an axis", known.any(short)
    yield "(kernel - 1) * dilations >= strides on an axis", known.any(~short)
    rest = kernel % np.where(strides == 0, 1, strides) > 0
    yield "kernel is no multiple of strides on an axis", known.any(rest)
    yield "kernel is a multiple of strides on every axis", known.every(~rest)
    yield "strides and dilations share a divisor on an axis", known.any(np.gcd(strides, dilations) > 1)
    differ = tables["pads_begin"].numbers != tables["pads_end"].numbers
    yield "pads_begin != pads_end on an axis", tables["pads_begin"].any(differ)
    yield "pads_begin = pads_end on every axis", tables["pads_begin"].every(~differ)
    total = tables[_TOTAL]
    yield "total padding is odd on an axis", total.any(total.numbers % 2 == 1)
    yield "total padding < 0 on an axis", total.any(total.numbers < 0)
    yield "total padding > 0 on an axis", total.any(total.numbers > 0)


def _equal(name: str, numbers: Numbers) -> Iterator[tuple[str, Mask]]:
    """Yield terms that say that a size is one of its values."""
    yield from ((f"{name} = {value}", numbers == value) for value in _values(numbers)[:_LIMITS].tolist())


def _compared(name: str, numbers: Numbers) -> Iterator[tuple[str, Mask]]:
    """Yield terms that say that a size is below one of its values, or at least that value."""
    known = numbers != _UNKNOWN
    for limit in _values(numbers)[1 : _LIMITS + 1].tolist():
        yield f"{name} >= {limit}", numbers >= limit
        yield f"{_opposite(name)} < {limit}", known & (numbers < limit)


def _values(numbers: Numbers) -> Numbers:
    return np.unique(numbers[np.abs(numbers) < _HUGE])


def _divided(name: str, numbers: Numbers) -> Iterator[tuple[str, Mask]]:
    """Yield terms that say that vectors divide a size, or do not: a runtime may have a kernel for each."""
    known = numbers != _UNKNOWN
    for of in _MULTIPLES:
        larger = known & (numbers > of)
        yield f"{name} is no multiple of {of}", known & (numbers % of > 0)
        yield f"{name} is a multiple of {of}", known & (numbers % of == 0)
        yield f"{name} is no multiple of {of}, and larger", larger & (numbers % of > 0)
    for of in _MULTIPLES[1:]:
        larger = known & (numbers > of)
        yield f"{name} is 1 more than a multiple of {of}", known & (numbers % of == 1)
        for words, rest in (("1 more", 1), ("1 less", -1)):
            yield f"{name} is {words} than a multiple of {of}, and larger", larger & (numbers % of == rest % of)


def _opposite(name: str) -> str:
    """Return the name in the opposite term: if `name >= limit` is false, the number of this name is below the limit."""
    if name.endswith(" of an axis"):
        return name.replace(" of an axis", " of every axis")
    return name.replace(" of every axis", " of an axis")

"""What a call is like, in numbers and words, and the terms that say it of many calls: conditions are made of these."""

from __future__ import annotations

from math import gcd, prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Mask, Signature

    Numbers = np.ndarray[Any, np.dtype[np.int64]]

_PER_AXIS = ("spatial", "kernel", "strides", "dilations", "pads_begin", "pads_end", "output_padding", "output")
"""What each axis has a number of."""
_SIZES = ("batch", "channels", "out_channels", "channels / groups", "out_channels / groups", "groups")
"""What a call has one number of."""
_LISTS = ("strides", "dilations", "pads_begin", "output_padding")
"""Attributes that a call may leave out, so that a runtime has to know their defaults."""
_LIMITS = 24
"""Numbers that a size is compared with: the smallest of its values."""
_MULTIPLES = (2, 4, 8, 16)
"""What vectors of a kernel hold, and what is left over beside them."""
_COUNTED = ("channels", "out_channels", "channels / groups", "out_channels / groups", "groups")
"""Sizes of which kernels make vectors."""
_ALONG_AXES = ("spatial", "output")
"""Sizes of an axis of which kernels make vectors, along the last one."""
_POINTS = tuple(2**power for power in range(4, 17))
"""Points of an output from which a kernel may tile, thread or overflow."""
_PLANES = (4, 8, 16, 32, 64)
"""Planes of an output, one of each item and channel, from which a kernel may thread."""
_PAIRS = (("kernel", "strides"), ("spatial", "kernel"), ("dilations", "strides"), ("output_padding", "strides"))
"""Attributes of an axis that are compared."""
_SAME = (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER)


class Features(NamedTuple):
    """What a call is like.

    Attributes:
        sizes: those of `_SIZES`.
        axes: for each axis those of `_PER_AXIS`.
        words: what is no number: padding mode, types, layouts, presentation, whether there is a bias, and which lists
            are written.
    """

    sizes: Mapping[str, int]
    axes: Sequence[Mapping[str, int]]
    words: Mapping[str, str]


def features_of(problem: Problem) -> Features | None:
    """Return what a call is like; None where it has no spatial axis, or no element to multiply or to give."""
    case, signature = problem.case, problem.signature
    if problem.values is None or not signature.rank:
        return None
    geometry = problem.values.primary.geometry
    if 0 in (*case.x.shape, *case.w.shape, *geometry.output):
        return None
    columns = (
        geometry.spatial,
        geometry.kernel,
        geometry.strides,
        geometry.dilations,
        *(signature.per_axis(name) for name in ("pads_begin", "pads_end", "output_padding")),
        geometry.output,
    )
    axes = [dict(zip(_PER_AXIS, numbers, strict=True)) for numbers in zip(*columns, strict=True)]
    (batch, channels), per_group, groups = case.x.shape[:2], case.w.shape[1], geometry.groups
    sizes = (batch, channels, per_group * groups, channels // groups, per_group, groups)
    return Features(dict(zip(_SIZES, sizes, strict=True)), axes, _words(case, signature))


def _words(case: Case, signature: Signature) -> dict[str, str]:
    attributes = case.attributes
    return {
        "rank": str(signature.rank),
        "auto_pad": str(signature.auto_pad),
        "output_shape_given": str(attributes.output_shape is not None).lower(),
        "bias": str(case.b is not None).lower(),
        "dtype": str(case.x.dtype),
        "data": case.x.data,
        "data_format": attributes.data_format or "",
        "filter_format": attributes.filter_format or "",
        "shapes": case.shapes,
        "data_source": case.data_source,
        "filter_source": case.filter_source,
        "output_shape_source": case.output_shape_source if attributes.output_shape else "",
        **{f"{name}_given": str(getattr(attributes, name) is not None).lower() for name in _LISTS},
    }


def terms_of(calls: Sequence[Features]) -> dict[str, Mask]:
    """Return for which calls each term holds, the plainest terms first; of terms that hold for the same calls one."""
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
    """Yield terms that a word is one of its values, or is not."""
    for name in sorted({name for call in calls for name in call.words}):
        column = np.array([call.words.get(name, "") for call in calls])
        values = sorted(set(column.tolist()) - {""})
        for value in values:
            yield f"{name}={value}", column == value
        if name == "auto_pad":
            yield "auto_pad=same_*", np.isin(column, _SAME)
        if len(values) > 2:  # noqa: PLR2004 - of two values one is the other's opposite
            yield from ((f"{name}!={value}", (column != value) & (column != "")) for value in values)


def _of_sizes(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    for name in _SIZES:
        sizes = np.array([call.sizes[name] for call in calls])
        yield from _equal(name, sizes)
        yield from _compared(name, sizes)
        if name in _COUNTED:
            yield from _divided(name, sizes)
    per_group = (
        np.array([call.sizes[name] for call in calls]) for name in ("channels / groups", "out_channels / groups")
    )
    same = np.equal(*per_group)
    yield from (
        ("channels / groups = out_channels / groups", same),
        ("channels / groups != out_channels / groups", ~same),
    )


def _of_axes(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    """Yield terms on some axis, on every axis, and on the first and the last of several."""
    for name in _PER_AXIS:
        columns = [[axis[name] for axis in call.axes] for call in calls]
        for words, of in _PLACES.items():
            numbers = np.array([of(column) for column in columns])
            if of not in {min, max}:
                yield from _equal(f"{name} of {words}", numbers)
            yield from _compared(f"{name} of {words}", numbers)
        if name in _ALONG_AXES:
            yield from _of_the_second(name, columns)
            yield from _divided(f"{name} of the last axis", np.array([column[-1] for column in columns]))
        odd = np.array([max(number % 2 for number in column) for column in columns])
        even = np.array([max(1 - number % 2 for number in column) for column in columns])
        yield f"{name} of an axis is even", even > 0
        yield f"{name} of an axis is odd", odd > 0
        yield f"{name} of every axis is even", odd == 0
        yield f"{name} of every axis is odd", even == 0
        yield f"{name} differs between axes", np.array([len(set(column)) > 1 for column in columns])
    yield from _of_pairs(calls)
    yield from _of_products(calls)


def _of_pairs(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    """Yield terms that compare two attributes of an axis."""
    for first, second in _PAIRS:
        below = [[axis[first] < axis[second] for axis in call.axes] for call in calls]
        yield f"{first} < {second} on an axis", np.array([any(column) for column in below])
        yield f"{first} >= {second} on an axis", np.array([not all(column) for column in below])
    short = [[(axis["kernel"] - 1) * axis["dilations"] < axis["strides"] for axis in call.axes] for call in calls]
    yield "(kernel - 1) * dilations < strides on an axis", np.array([any(column) for column in short])
    yield "(kernel - 1) * dilations >= strides on an axis", np.array([not all(column) for column in short])
    divided = [[axis["kernel"] % axis["strides"] == 0 for axis in call.axes] for call in calls]
    yield "kernel is no multiple of strides on an axis", np.array([not all(column) for column in divided])
    divisors = [[gcd(axis["strides"], axis["dilations"]) > 1 for axis in call.axes] for call in calls]
    yield "strides and dilations share a divisor on an axis", np.array([any(column) for column in divisors])


def _of_products(calls: Sequence[Features]) -> Iterator[tuple[str, Mask]]:
    """Yield terms on numbers of output elements, from which a kernel may tile, thread or overflow."""
    points = np.array([prod(axis["output"] for axis in call.axes) for call in calls])
    yield from ((f"output points of a channel >= {limit}", points >= limit) for limit in _POINTS)
    channels = np.array([call.sizes["out_channels"] for call in calls])
    yield from ((f"output elements of an item >= {limit}", points * channels >= limit) for limit in _POINTS)
    planes = np.array([call.sizes["batch"] for call in calls]) * channels
    yield from ((f"batch * out_channels >= {limit}", planes >= limit) for limit in _PLANES)


_PLACES: dict[str, Callable[[list[int]], int]] = {
    "an axis": max,
    "every axis": min,
    "the first axis": itemgetter(0),
    "the last axis": itemgetter(-1),
}
"""Whose number is compared: at least a limit where the largest is, on every axis where the smallest is."""


def _of_the_second(name: str, columns: Sequence[Sequence[int]]) -> Iterator[tuple[str, Mask]]:
    """Yield terms on the second of several axes: none of them holds for a line."""
    several = np.array([len(column) > 1 for column in columns])
    numbers = np.array([(*column, *column)[1] for column in columns])
    for terms in (_equal, _compared):
        yield from ((text, holds & several) for text, holds in terms(f"{name} of the second axis", numbers))


def _equal(name: str, numbers: Numbers) -> Iterator[tuple[str, Mask]]:
    """Yield terms that a size is one of its values."""
    yield from ((f"{name} = {value}", numbers == value) for value in np.unique(numbers)[:_LIMITS].tolist())


def _compared(name: str, numbers: Numbers) -> Iterator[tuple[str, Mask]]:
    """Yield terms that compare a size with some of its values, both ways."""
    for limit in np.unique(numbers)[1 : _LIMITS + 1].tolist():
        yield f"{name} >= {limit}", numbers >= limit
        yield f"{_opposite(name)} < {limit}", numbers < limit


def _divided(name: str, numbers: Numbers) -> Iterator[tuple[str, Mask]]:
    """Yield terms that vectors hold a size without a rest, or not: the one kernel or the other is reached then."""
    for of in _MULTIPLES:
        yield f"{name} is no multiple of {of}", numbers % of > 0
        yield f"{name} is a multiple of {of}", numbers % of == 0


def _opposite(name: str) -> str:
    """Return whose number is below a limit where not that of `name` is at least the limit."""
    if name.endswith(" of an axis"):
        return name.replace(" of an axis", " of every axis")
    return name.replace(" of every axis", " of an axis")

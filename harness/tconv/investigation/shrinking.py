"""The smallest case with the same failure: simpler cases are run until none of them fails in this way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from tconv.cases.context import NEUTRAL as CONTEXT
from tconv.cases.patterns import path_of
from tconv.corpus.building import ImpossibleCase, build
from tconv.corpus.case_file import DEFAULTS
from tconv.corpus.writing import PRESENTATION_WITH_DEFAULTS, settings
from tconv.dialects.geometry import reach
from tconv.expectation.expected import NotApplicable, expect
from tconv.vocabulary import NEUTRAL, DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.cases.case import Case, Operand
    from tconv.dialects import Dialect
    from tconv.vocabulary import Ints

T = TypeVar("T")

_TOGETHER = (("pads_begin", "pads_end"), ("data_format", "filter_format"), ("strides", "dilations"))
"""Attributes that are dropped together before each one is dropped alone."""
_LISTS = (*NEUTRAL, "output_shape", "kernel_shape")
_SPATIAL = 2
"""The first spatial axis of a shape."""
_NEAREST = 4
"""The number of the simplest integers that are tried."""


@dataclass(frozen=True, slots=True)
class Shrunk(Generic[T]):
    """The smallest case that was found.

    Attributes:
        case: the case.
        result: the result of its run.
        tried: the number of simpler cases that were run.
    """

    case: Case
    result: T
    tried: int


def shrunk(
    case: Case,
    result: T,
    dialect: Dialect,
    same: Callable[[Case], T | None],
    name: str = "shrink",
) -> Shrunk[T]:
    """Return a case with the same failure, found by steps until no case simpler by one step has this failure.

    Args:
        case: a case that fails.
        result: the result of its run.
        dialect: the dialect; cases that it cannot express are not tried.
        same: runs a case and returns the result if it has the same failure, and None if not.
        name: the beginning of the ids of the cases that are tried.
    """
    seen = {case.content}
    tried = 0
    smaller: Shrunk[T] | None = Shrunk(case, result, 0)
    while smaller is not None:
        case, result, smaller = smaller.case, smaller.result, None
        for candidate in simpler(case):
            content = candidate.content
            if content in seen or isinstance(expect(candidate, dialect), NotApplicable):
                continue
            seen.add(content)
            tried += 1
            # A pool needs different ids for different cases.
            candidate = replace(candidate, id=f"{name}/{tried}")  # noqa: PLW2901 - the same case under another id
            if (same_failure := same(candidate)) is not None:
                smaller = Shrunk(candidate, same_failure, tried)
                break
    return Shrunk(case, result, tried)


def simpler(case: Case) -> Iterator[Case]:
    """Yield cases that are simpler by one step, the largest steps first; all of them are possible in a case file."""
    for step in _STEPS:
        for candidate in step(replace(case, expected=(), tier="gate")):
            try:
                built = build(path_of(case.id), settings(candidate), cites=case.cites)
            except ImpossibleCase:
                continue
            if built.content != case.content:
                yield built


def _fewer_levels(case: Case) -> Iterator[Case]:
    """Use the operator alone, then set each level of its context to the neutral one."""
    levels = [*case.context.levels]
    if len(levels) > 1:
        yield replace(case, context=CONTEXT)
    for axis in levels:
        neutral: dict[str, Any] = {axis: getattr(CONTEXT, axis)}
        yield replace(case, context=replace(case.context, **neutral))


def _fewer_axes(case: Case) -> Iterator[Case]:
    """Drop an axis, the last one first."""
    rank = len(case.x.shape) - _SPATIAL
    if rank < 2 or len(case.w.shape) != len(case.x.shape):  # noqa: PLR2004 - one axis must be left
        return
    for axis in reversed(range(rank)):
        lists = {
            name: value[:axis] + value[axis + 1 :]
            for name in _LISTS
            if (value := getattr(case.attributes, name)) is not None and len(value) == rank
        }
        at = axis + _SPATIAL
        x, w = (_without_axis(operand, at) for operand in (case.x, case.w))
        yield replace(_with(case, **lists), x=x, w=w)


def _fewer_attributes(case: Case) -> Iterator[Case]:
    """Leave attributes out, several together first; groups other than 1 stay, as the operands depend on them."""
    written = [name for name in case.attributes.given() if name != "groups" or case.attributes.groups == 1]
    for names in (tuple(written), *_TOGETHER):
        if len([name for name in names if name in written]) > 1:
            yield _with(case, **dict.fromkeys(names))
    for name in written:
        yield _with(case, **{name: None})


def _plainer(case: Case) -> Iterator[Case]:
    """Present the case like most cases: no bias, static shapes, a constant filter, nothing omitted or broken."""
    plain: dict[str, Any] = {"b": None, "omit": (), "breaks": None, "bias_source": None}
    plain |= {name: DEFAULTS[name] for name in PRESENTATION_WITH_DEFAULTS}
    for name, value in plain.items():
        if getattr(case, name) != value:
            yield replace(case, **{name: value})


def _plainer_operands(case: Case) -> Iterator[Case]:
    """Fill operands with integers of seed 0 in f32: first all three changes, then each; in all operands, then one."""
    roles = [role for role in ("x", "w", "b") if getattr(case, role) is not None]
    data: dict[str, Any] = {"data": "integers", "values": ()}
    for change in ({"dtype": DType.F32, "seed": 0, **data}, {"dtype": DType.F32}, {"seed": 0}, data):
        for chosen in (roles, *([role] for role in roles)):
            changed: dict[str, Any] = {role: replace(getattr(case, role), **change) for role in chosen}
            yield replace(case, **changed)


def _smaller_batch(case: Case) -> Iterator[Case]:
    for size in _nearer(case.x.shape[0] if case.x.shape else 1, 1):
        yield replace(case, x=_reshaped(case.x, (size, *case.x.shape[1:])))


def _fewer_channels(case: Case) -> Iterator[Case]:
    """Use fewer groups, then fewer channels in each, if the shapes of data and filter agree."""
    groups = case.attributes.groups or 1
    x, w = case.x.shape, case.w.shape
    if groups < 1 or len(x) < _SPATIAL or len(w) < _SPATIAL or x[1] != w[0] or x[1] % groups:
        return
    inputs, outputs = x[1] // groups, w[1]
    for count in _nearer(groups, 1):
        yield _channelled(case, count, inputs, outputs)
    for size in _nearer(inputs, 1):
        yield _channelled(case, groups, size, outputs)
    for size in _nearer(outputs, 1):
        yield _channelled(case, groups, inputs, size)


def _channelled(case: Case, groups: int, inputs: int, outputs: int) -> Case:
    """Return the case with these numbers of groups, and of input and output channels of each group."""
    x, w, b = case.x, case.w, case.b
    written = case.attributes.groups if groups == (case.attributes.groups or 1) else None if groups == 1 else groups
    return replace(
        _with(case, groups=written),
        x=_reshaped(x, (x.shape[0], inputs * groups, *x.shape[2:])),
        w=_reshaped(w, (inputs * groups, outputs, *w.shape[2:])),
        b=None if b is None else _reshaped(b, (outputs * groups,)),
    )


def _smaller_sizes(case: Case) -> Iterator[Case]:
    """Make all axes of data or filter small together, then each axis a little smaller.

    A written output_shape is first moved by the change of the full size, then tried unchanged.
    """
    for role in ("x", "w"):
        sizes = getattr(case, role).shape[_SPATIAL:]
        smaller = [tuple(min(size, limit) or 1 for size in sizes) for limit in (1, 2, 3)] if len(sizes) > 1 else []
        for axis, size in enumerate(sizes):
            smaller += [(*sizes[:axis], less, *sizes[axis + 1 :]) for less in _nearer(size, 1)]
        for shape in smaller:
            yield from _with_moved_output_shape(case, _sized(case, role, shape))


def _sized(case: Case, role: str, sizes: Ints) -> Case:
    operand: Operand = getattr(case, role)
    resized: dict[str, Any] = {role: _reshaped(operand, (*operand.shape[:_SPATIAL], *sizes))}
    changed = replace(case, **resized)
    if role == "w" and case.attributes.kernel_shape == case.w.shape[_SPATIAL:]:
        return _with(changed, kernel_shape=sizes)
    return changed


def _smaller_entries(case: Case) -> Iterator[Case]:
    """Move each entry of an attribute towards the neutral one, and output_shape towards the full size."""
    for name, neutral in NEUTRAL.items():
        value: Ints = getattr(case.attributes, name) or ()
        for axis, entry in enumerate(value):
            for less in _nearer(entry, neutral):
                changed = _with(case, **{name: (*value[:axis], less, *value[axis + 1 :])})
                yield from _with_moved_output_shape(case, changed)
    sizes, full = case.attributes.output_shape, _full(case)
    if sizes is not None and full is not None and len(sizes) == len(full):
        for axis, (size, full_size) in enumerate(zip(sizes, full, strict=True)):
            for nearer in _nearer(size, full_size):
                yield _with(case, output_shape=(*sizes[:axis], nearer, *sizes[axis + 1 :]))


_STEPS: tuple[Callable[[Case], Iterator[Case]], ...] = (
    _fewer_levels,
    _fewer_axes,
    _fewer_attributes,
    _plainer,
    _plainer_operands,
    _smaller_batch,
    _fewer_channels,
    _smaller_sizes,
    _smaller_entries,
)


def _with(case: Case, **attributes: Any) -> Case:  # noqa: ANN401 - attributes by their names
    return replace(case, attributes=replace(case.attributes, **attributes))


def _nearer(value: int, simplest: int) -> Iterator[int]:
    """Yield some numbers from the simplest to the value: the first few, the middle, and the last but one."""
    distance, sign = abs(value - simplest), 1 if value > simplest else -1
    for step in sorted({*range(_NEAREST), distance // 2, distance - 1}):
        if 0 <= step < distance:
            yield simplest + sign * step


def _with_moved_output_shape(case: Case, changed: Case) -> Iterator[Case]:
    """Yield the changed case with the same distance of output_shape from the full size, then unchanged."""
    sizes, before, after = case.attributes.output_shape, _full(case), _full(changed)
    if sizes and before and after and before != after and len(sizes) == len(before) == len(after):
        moved = tuple(size - old + new for size, old, new in zip(sizes, before, after, strict=True))
        if min(moved) >= 0:
            yield _with(changed, output_shape=moved)
    yield changed


def _full(case: Case) -> Ints | None:
    """Return the full size of each axis, at which nothing is cropped; None if the lists have wrong lengths."""
    spatial, kernel = case.x.shape[_SPATIAL:], case.w.shape[_SPATIAL:]
    strides, dilations = (case.attributes.per_axis(name, len(spatial)) for name in ("strides", "dilations"))
    if not len(spatial) == len(kernel) == len(strides) == len(dilations):
        return None
    return tuple(reach(*axis) for axis in zip(spatial, kernel, strides, dilations, strict=True))


def _without_axis(operand: Operand, axis: int) -> Operand:
    before, after = operand.shape[:axis], operand.shape[axis + 1 :]
    return _reshaped(_reshaped(operand, (*before, 1, *after)), (*before, *after))


def _reshaped(operand: Operand, shape: Ints) -> Operand:
    """Return the operand with another shape; values are cut, or replaced by integers if some are missing."""
    if operand.data != "values" or shape == operand.shape:
        return replace(operand, shape=shape)
    if prod(shape) == prod(operand.shape):
        return replace(operand, shape=shape)
    if len(shape) == len(operand.shape) and all(new <= old for new, old in zip(shape, operand.shape, strict=True)):
        values = np.array(operand.values).reshape(operand.shape)[tuple(slice(size) for size in shape)]
        return replace(operand, shape=shape, values=tuple(values.ravel().tolist()))
    return replace(operand, shape=shape, data="integers", values=())

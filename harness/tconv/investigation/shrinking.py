"""The smallest case with the same failure: simpler cases are tried until none of them fails alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from tconv.corpus.building import ImpossibleCase, build
from tconv.corpus.writing import settings
from tconv.dialects.geometry import reach
from tconv.expectation.owed import Inexpressible, expectation
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.cases.case import Case, Operand
    from tconv.dialects import Dialect
    from tconv.vocabulary import Ints

T = TypeVar("T")

_PER_AXIS = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0, "output_padding": 0}
"""Attributes with an entry for each axis, and the entry that does nothing."""
_TOGETHER = (("pads_begin", "pads_end"), ("data_format", "filter_format"), ("strides", "dilations"))
"""Attributes that are dropped at once before each is dropped alone."""
_LISTS = (*_PER_AXIS, "output_shape", "kernel_shape")
_SPATIAL = 2
"""Where the spatial axes of a shape begin."""
_NEAREST = 4


@dataclass(frozen=True, slots=True)
class Shrunk(Generic[T]):
    """The smallest case that was found.

    Attributes:
        case: the case.
        answer: what came of it.
        tried: how many simpler cases were run.
    """

    case: Case
    answer: T
    tried: int


def shrunk(
    case: Case,
    answer: T,
    row: Dialect,
    same: Callable[[Case], T | None],
    name: str = "shrink",
) -> Shrunk[T]:
    """Return a case that fails as this one does, and of which no simpler one does.

    Args:
        case: a case that fails.
        answer: what came of it.
        row: the dialect; what it cannot say is not tried.
        same: runs a case and returns what came of it where that is the failure that is wanted, else None.
        name: what the ids of the cases that are tried begin with.
    """
    seen = {case.content}
    tried = 0
    found: Shrunk[T] | None = Shrunk(case, answer, 0)
    while found is not None:
        case, answer, found = found.case, found.answer, None
        for candidate in simpler(case):
            said = candidate.content
            if said in seen or isinstance(expectation(candidate, row), Inexpressible):
                continue
            seen.add(said)
            tried += 1
            # A pool tells cases apart by their ids.
            candidate = replace(candidate, id=f"{name}/{tried}")  # noqa: PLW2901 - the same case, named
            if (again := same(candidate)) is not None:
                found = Shrunk(candidate, again, tried)
                break
    return Shrunk(case, answer, tried)


def simpler(case: Case) -> Iterator[Case]:
    """Yield cases that are simpler by one step, the largest steps first; all of them can be built and written."""
    for step in _STEPS:
        for candidate in step(replace(case, expected=(), smoke=False)):
            try:
                built = build(case.id, settings(candidate), {}, cites=case.cites)
            except ImpossibleCase:
                continue
            if built.content != case.content:
                yield built


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
    """Leave attributes out, several at once first. The groups are another matter: operands depend on them."""
    given = [name for name in case.attributes.given() if name != "groups" or case.attributes.groups == 1]
    for names in (tuple(given), *_TOGETHER):
        if len([name for name in names if name in given]) > 1:
            yield _with(case, **dict.fromkeys(names))
    for name in given:
        yield _with(case, **{name: None})


def _plainer(case: Case) -> Iterator[Case]:
    """Present the case as most are: no bias, static shapes, a constant filter, nothing omitted or broken."""
    plain: dict[str, Any] = {"b": None, "shapes": "static", "filter_source": "initializer", "omit": (), "breaks": None}
    for name, value in plain.items():
        if getattr(case, name) != value:
            yield replace(case, **{name: value})


def _plainer_operands(case: Case) -> Iterator[Case]:
    """Fill operands with the first integers of f32: all at once, in type, seed and data alone, and each alone."""
    roles = [role for role in ("x", "w", "b") if getattr(case, role) is not None]
    data: dict[str, Any] = {"data": "integers", "values": ()}
    for change in ({"dtype": DType.F32, "seed": 0, **data}, {"dtype": DType.F32}, {"seed": 0}, data):
        for some in (roles, *([role] for role in roles)):
            changed: dict[str, Any] = {role: replace(getattr(case, role), **change) for role in some}
            yield replace(case, **changed)


def _smaller_batch(case: Case) -> Iterator[Case]:
    for size in _nearer(case.x.shape[0] if case.x.shape else 1, 1):
        yield replace(case, x=_reshaped(case.x, (size, *case.x.shape[1:])))


def _fewer_channels(case: Case) -> Iterator[Case]:
    """Take fewer groups, then fewer channels in each, where operands agree about them."""
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
    """Return the case with so many groups, and so many input and output channels in each."""
    x, w, b = case.x, case.w, case.b
    told = case.attributes.groups if groups == (case.attributes.groups or 1) else None if groups == 1 else groups
    return replace(
        _with(case, groups=told),
        x=_reshaped(x, (x.shape[0], inputs * groups, *x.shape[2:])),
        w=_reshaped(w, (inputs * groups, outputs, *w.shape[2:])),
        b=None if b is None else _reshaped(b, (outputs * groups,)),
    )


def _smaller_sizes(case: Case) -> Iterator[Case]:
    """Make all axes of data or filter small at once, then each a little smaller.

    An output_shape that is asked for stays as far from the full size as it was, or, after that, what it is.
    """
    for role in ("x", "w"):
        sizes = getattr(case, role).shape[_SPATIAL:]
        smaller = [tuple(min(size, limit) or 1 for size in sizes) for limit in (1, 2, 3)] if len(sizes) > 1 else []
        for axis, size in enumerate(sizes):
            smaller += [(*sizes[:axis], less, *sizes[axis + 1 :]) for less in _nearer(size, 1)]
        for wanted in smaller:
            changed = _sized(case, role, wanted)
            if (asked := _asked_as_before(case, changed)) is not None:
                yield _with(changed, output_shape=asked)
            yield changed


def _sized(case: Case, role: str, sizes: Ints) -> Case:
    operand: Operand = getattr(case, role)
    resized: dict[str, Any] = {role: _reshaped(operand, (*operand.shape[:_SPATIAL], *sizes))}
    changed = replace(case, **resized)
    if role == "w" and case.attributes.kernel_shape == case.w.shape[_SPATIAL:]:
        return _with(changed, kernel_shape=sizes)
    return changed


def _smaller_entries(case: Case) -> Iterator[Case]:
    """Bring each entry of an attribute nearer to the one that does nothing."""
    for name, neutral in _PER_AXIS.items():
        value: Ints = getattr(case.attributes, name) or ()
        for axis, entry in enumerate(value):
            for less in _nearer(entry, neutral):
                changed = _with(case, **{name: (*value[:axis], less, *value[axis + 1 :])})
                if (asked := _asked_as_before(case, changed)) is not None:
                    yield _with(changed, output_shape=asked)
                yield changed
    asked, full = case.attributes.output_shape, _full(case)
    if asked is not None and full is not None and len(asked) == len(full):
        for axis, (entry, most) in enumerate(zip(asked, full, strict=True)):
            for less in _nearer(entry, most):
                yield _with(case, output_shape=(*asked[:axis], less, *asked[axis + 1 :]))


_STEPS: tuple[Callable[[Case], Iterator[Case]], ...] = (
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
    """Yield numbers between, the simplest first: its neighbours, half the way, and the neighbour of the value."""
    distance, sign = abs(value - simplest), 1 if value > simplest else -1
    for step in sorted({*range(_NEAREST), distance // 2, distance - 1}):
        if 0 <= step < distance:
            yield simplest + sign * step


def _asked_as_before(case: Case, changed: Case) -> Ints | None:
    """Return the output_shape that is as far from the full size as it was; None where there is none, or no change."""
    asked, was, now = case.attributes.output_shape, _full(case), _full(changed)
    if asked is None or was is None or now is None or was == now or not len(asked) == len(was) == len(now):
        return None
    moved = tuple(one - before + after for one, before, after in zip(asked, was, now, strict=True))
    return moved if min(moved, default=0) >= 0 else None


def _full(case: Case) -> Ints | None:
    """Return the size that is reached on each axis where nothing is cropped; None where lists do not fit."""
    spatial, kernel = case.x.shape[_SPATIAL:], case.w.shape[_SPATIAL:]
    ones = (1,) * len(spatial)
    strides, dilations = case.attributes.strides or ones, case.attributes.dilations or ones
    if not len(spatial) == len(kernel) == len(strides) == len(dilations):
        return None
    return tuple(reach(*axis) for axis in zip(spatial, kernel, strides, dilations, strict=True))


def _without_axis(operand: Operand, axis: int) -> Operand:
    before, after = operand.shape[:axis], operand.shape[axis + 1 :]
    return _reshaped(_reshaped(operand, (*before, 1, *after)), (*before, *after))


def _reshaped(operand: Operand, shape: Ints) -> Operand:
    """Return the operand with another shape; of literal values those that are left, or integers where some lack."""
    if operand.data != "values" or shape == operand.shape:
        return replace(operand, shape=shape)
    if prod(shape) == prod(operand.shape):
        return replace(operand, shape=shape)
    if len(shape) == len(operand.shape) and all(new <= old for new, old in zip(shape, operand.shape, strict=True)):
        values = np.array(operand.values).reshape(operand.shape)[tuple(slice(size) for size in shape)]
        return replace(operand, shape=shape, values=tuple(values.ravel().tolist()))
    return replace(operand, shape=shape, data="integers", values=())

"""What a call is like: numbers and words in which cases of different sweeps can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Signature

PER_AXIS = ("spatial", "kernel", "strides", "dilations", "pads_begin", "pads_end", "output_padding", "output")
"""What each axis has a number of."""
SIZES = ("batch", "channels", "out_channels", "channels / groups", "out_channels / groups", "groups")
"""What a call has one number of."""


_LISTS = ("strides", "dilations", "pads_begin", "output_padding")
"""Attributes that a call may leave out, so that a runtime has to know their defaults."""


class Features(NamedTuple):
    """What a call is like.

    Attributes:
        sizes: those of `SIZES`.
        axes: for each axis those of `PER_AXIS`.
        words: what is no number: padding mode, types, layouts, presentation, whether there is a bias, and which lists
            are written.
    """

    sizes: Mapping[str, int]
    axes: Sequence[Mapping[str, int]]
    words: Mapping[str, str]


def features_of(problem: Problem) -> Features | None:
    """Return what a call is like; None where it has no spatial axis, or no element to multiply or to owe."""
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
    axes = [dict(zip(PER_AXIS, numbers, strict=True)) for numbers in zip(*columns, strict=True)]
    (batch, channels), per_group, groups = case.x.shape[:2], case.w.shape[1], geometry.groups
    sizes = (batch, channels, per_group * groups, channels // groups, per_group, groups)
    return Features(dict(zip(SIZES, sizes, strict=True)), axes, _words(case, signature))


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

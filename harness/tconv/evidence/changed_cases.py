"""Cases with one size or attribute changed: calls that no corpus has, next to those that it has.

For example, the term `channels / groups >= 17` needs a case with 17 channels in a group. A case with 32 channels in two
groups becomes one with 34 channels.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tconv.corpus.building import ImpossibleCase, build
from tconv.corpus.case_file import DEFAULTS, spread_per_axis
from tconv.corpus.writing import settings
from tconv.expectation.problem import Problem
from tconv.vocabulary import NEUTRAL, AutoPad, DataFormat, DType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect

WORDS: Mapping[str, Sequence[Any]] = {
    "dtype": [str(dtype) for dtype in DType],
    "bias": [True, False],
    "data": ["integers", "normal"],
    "data_format": [str(layout) for layout in DataFormat],
    "filter_format": ["IOX", "XOI"],
    "auto_pad": [str(mode) for mode in AutoPad],
    "shapes": ["static", "symbolic"],
    "data_source": ["input", "initializer"],
    "filter_source": ["initializer", "input"],
    "rank": [1, 2, 3],
}
"""Settings with few values, and these values."""
LISTS = ("spatial", "kernel", *NEUTRAL)
"""Settings with a number for each axis."""
SIZES = ("batch", "channels / groups", "out_channels / groups", "groups")
KNOBS = frozenset((*WORDS, *LISTS, *SIZES, "output"))
"""What is changed in a case, one at a time."""
LARGEST: Mapping[str, int] = {"kernel": 11, "strides": 8, "dilations": 5, "batch": 16, "groups": 16}
"""The largest numbers that are tried of each attribute, and of any other size."""
MANY = 257
_TOGETHER = {
    "channels": SIZES[1:], "out_channels": SIZES[1:], "group": SIZES[1:],
    "total padding": ("pads_begin", "pads_end", "output"),
}  # fmt: skip
"""The knobs for a word of a term that has no knob in its name."""


def knobs_of(term: str) -> set[str]:
    """Return the knobs that move a call to the limit of a term, or all knobs in the name of its fact."""
    parts = re.findall(r"(?:out_)?channels / groups|total padding|[a-z_]+", term)
    return {
        knob
        for part in parts
        for knob in (KNOBS & {part}) or _TOGETHER.get(part) or (knob for knob in KNOBS if knob in part)
    }


def axes_of(term: str, rank: int) -> Sequence[int]:
    """Return the axes on which a term depends."""
    places = {"third-last": rank - 3, "second-last": rank - 2, "last": rank - 1, "first": 0, "second": 1}
    place = re.search(r"the (third-last|second-last|last|first|second) axis", term)
    return [places[place[1]]] if place else range(rank)


def is_possible(knob: str, number: int, largest: int = MANY) -> bool:
    """Return whether a number is tried of a knob."""
    least = int(knob not in NEUTRAL or knob in {"strides", "dilations"})
    return least <= number <= LARGEST.get(knob, largest)


def settings_with(case: Case, knob: str, value: Any, axis: int, dialect: Dialect) -> Mapping[str, Any]:  # noqa: ANN401 - a word or a number
    """Return the settings of a case with another value of a knob; the same settings if the text gives it no output.

    Args:
        case: the case.
        knob: one of `KNOBS`.
        value: its value.
        axis: the axis that has this value, for knobs that each axis has.
        dialect: the dialect that gives the size of the output.
    """
    written = settings(case)
    if knob in SIZES:
        return _resized(written, knob, value)
    if knob == "output":
        return _with_output(case, written, axis, value, dialect)
    if knob == "rank":
        return _of_rank(case, written, value)
    if knob in WORDS:
        return {**written, knob: value}
    entries = list(spread_per_axis(written.get(knob, NEUTRAL.get(knob, 0)), len(case.x.shape) - 2))
    return {**written, knob: [*entries[:axis], value, *entries[axis + 1 :]]}


def _resized(written: Mapping[str, Any], knob: str, number: int) -> Mapping[str, Any]:
    """Return settings with another batch, number of groups, or number of channels of each group."""
    full = {**DEFAULTS, **written}
    groups = full.get("groups") or 1
    sizes = {"batch": full["batch"], "groups": groups}
    sizes |= {f"{name} / groups": full[name] // groups for name in ("channels", "out_channels")}
    sizes[knob] = number
    of_all = {name: sizes[f"{name} / groups"] * sizes["groups"] for name in ("channels", "out_channels")}
    more = {"groups": sizes["groups"]} if sizes["groups"] != groups else {}
    return {**written, "batch": sizes["batch"], **of_all, **more}


def _of_rank(case: Case, written: Mapping[str, Any], rank: int) -> Mapping[str, Any]:
    """Return settings with another number of axes: axes of 2 elements and 2 taps are added in front, or removed."""
    old = len(case.x.shape) - 2
    lists = {name: spread_per_axis(entries, old) for name in (*LISTS, "output_shape") if (entries := written.get(name))}
    plain = {**dict.fromkeys(lists, 2), **NEUTRAL}
    # With one tap, taps in reverse order would not show.
    return {**written, **{name: ([plain[name]] * (rank - old) + [*of])[-rank:] for name, of in lists.items()}}


def _with_output(case: Case, written: Mapping[str, Any], axis: int, size: int, dialect: Dialect) -> Mapping[str, Any]:
    """Return the settings for another output size: another output_shape, or more data and a crop at its end."""
    values = Problem(case, dialect).values
    if values is None:
        return written
    geometry = values.primary.geometry
    if case.attributes.output_shape:
        return {**written, "output_shape": [*geometry.output[:axis], size, *geometry.output[axis + 1 :]]}
    spatial, end = list(case.x.shape[2:]), list(case.signature.per_axis("pads_end"))
    more = max(-(-(size - geometry.output[axis]) // geometry.strides[axis]), 1 - spatial[axis])
    spatial[axis] += more
    end[axis] += max(geometry.output[axis] + more * geometry.strides[axis] - size, 0)
    explicit = case.attributes.auto_pad in {None, AutoPad.EXPLICIT}
    return {**written, "spatial": spatial, **({"pads_end": end} if explicit and any(end) else {})}


def built(case_id: str, written: Mapping[str, Any], about: str = "") -> Case | None:
    """Return the case with some settings; None if no such case is possible.

    Written values have the old sizes, so they are left out.
    """
    plain = {name: value for name, value in written.items() if name not in {"x", "w", "b"} or "values" not in value}
    try:
        return build(case_id, plain, about=about)
    except ImpossibleCase:
        return None

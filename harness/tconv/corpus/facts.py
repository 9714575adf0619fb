"""The facts of a case: its settings and labels as text, and what follows from several settings."""

from __future__ import annotations

from functools import lru_cache
from operator import ge, gt
from typing import TYPE_CHECKING, Any, Final

from tconv.cases.patterns import label
from tconv.corpus.case_file import LISTED
from tconv.dialects.geometry import reach
from tconv.vocabulary import NEUTRAL, Attributes, AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Operand
    from tconv.vocabulary import Ints


def facts_from(
    settings: Mapping[str, Any], labels: Mapping[str, str], attributes: Attributes, x: Operand, w: Operand
) -> Mapping[str, str]:
    """Return the facts of a case; where several have one name, the label of a sweep's axis counts.

    Args:
        settings: what the case is built from, with the defaults.
        labels: the labels of its sweep's axes.
        attributes: what it mentions.
        x: its data.
        w: its filter.
    """
    texts = {name: label(unwrapped(value)) for name, value in settings.items() if name in LISTED}
    texts.setdefault("bias_source", label(settings["filter_source"]))
    spatial = tuple(settings["spatial"])
    following = _following(attributes, spatial, per_axis(settings["kernel"], len(spatial)))
    return {**texts, **following, "empty": _empty(x.shape, w.shape), **labels}


@lru_cache(maxsize=1024)
def _following(attributes: Attributes, spatial: Ints, kernel: Ints) -> Mapping[str, str]:
    """Return the facts of `_FOLLOWING`; many cases share them."""
    return {name: label(fact(attributes, spatial, kernel)) for name, fact in _FOLLOWING.items()}


def _beyond_reach(attributes: Attributes, spatial: Ints, kernel: Ints) -> Ints:
    """Return by how much output_shape is above what the taps reach, for each of its axes."""
    lists = (attributes.per_axis(name, len(spatial)) for name in ("strides", "dilations"))
    axes = zip(attributes.output_shape or (), spatial, kernel, *lists, strict=False)
    return tuple(size - reach(*axis) for size, *axis in axes)


def _output_empty(attributes: Attributes, spatial: Ints, kernel: Ints) -> bool:
    """Return whether output_shape has a 0, or pads crop all of an axis; padding modes are left to the texts."""
    if attributes.output_shape is not None or attributes.auto_pad not in {None, AutoPad.EXPLICIT}:
        return 0 in (attributes.output_shape or ())
    axes = zip(spatial, kernel, *(attributes.per_axis(name, len(spatial)) for name in NEUTRAL), strict=False)
    return any(reach(x, k, s, d) + op == begin + end for x, k, s, d, begin, end, op in axes)


def _is_given(name: str) -> Callable[[Attributes, Ints, Ints], bool]:
    return lambda a, *_: getattr(a, name) is not None


_OPTIONAL = ("strides", "dilations", "output_padding", "output_shape", "groups", "auto_pad", "kernel_shape")
"""Attributes of which a text may have a default: a runtime may lack it, or have another one."""
_FOLLOWING: Final[dict[str, Callable[[Attributes, Ints, Ints], int | bool]]] = {
    "rank": lambda _, x, __: len(x),
    **{f"{name}_given": _is_given(name) for name in _OPTIONAL},
    "pads_given": lambda a, *_: a.pads_begin is not None or a.pads_end is not None,
    "output_shape_below_spatial": lambda a, x, _: any(
        y < size for y, size in zip(a.output_shape or (), x, strict=False)
    ),
    "output_shape_beyond_reach": lambda a, x, k: any(
        map(gt, _beyond_reach(a, x, k), a.per_axis("output_padding", len(x)))
    ),
    "output_shape_beyond_reach_by_stride": lambda a, x, k: any(
        map(ge, _beyond_reach(a, x, k), a.per_axis("strides", len(x)))
    ),
    "output_padding_reaches_stride": lambda a, x, _: any(
        map(ge, a.output_padding or (), a.per_axis("strides", len(x)))
    ),
    "output_padding_positive": lambda a, *_: any(op > 0 for op in a.output_padding or ()),
    # More is cropped at the beginning of an axis than a kernel reaches beyond one element.
    "pads_begin_beyond_kernel": lambda a, _, k: any(
        p > (size - 1) * d for p, size, d in zip(a.pads_begin or (), k, a.per_axis("dilations", len(k)), strict=False)
    ),
    "output_empty": _output_empty,
    "grouped": lambda a, *_: (a.groups or 1) > 1,
}
"""What follows from attributes, spatial sizes and kernel, and what runtimes are known to get wrong."""


def _empty(x: Ints, w: Ints) -> str:
    """Return which of the operands' dimensions are 0, by their meaning."""
    if 0 not in x and 0 not in w:
        return "none"
    dimensions = {"batch": x[:1], "channels": (*x[1:2], *w[:2]), "spatial": x[2:], "kernel": w[2:]}
    return "+".join(meaning for meaning, sizes in dimensions.items() if 0 in sizes)


def unwrapped(value: Any) -> Any:  # noqa: ANN401 - settings are plain values
    """Return a setting's value; an unknown word is given as a mapping, `raw: word`."""
    return value["raw"] if isinstance(value, dict) else value


def per_axis(value: int | Sequence[int], rank: int) -> Ints:
    """Return a setting's entry for each axis; an integer stands for all of them."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


DERIVED = frozenset({*_FOLLOWING, "empty", "bias_source"})
"""The facts that depend on other settings than that of their own name."""
NAMES = DERIVED | LISTED
"""The facts that every case may have; the axes of its sweep are facts too."""

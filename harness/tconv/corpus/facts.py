"""The facts of a case, as text: its settings and labels, and facts that follow from several settings."""

from __future__ import annotations

from functools import lru_cache
from operator import ge, gt, lt
from typing import TYPE_CHECKING, Any

from tconv.cases.context import PREFIX
from tconv.cases.patterns import facts_of, label
from tconv.corpus.case_file import LEVELS, LISTED, complete_settings, spread_per_axis, unwrap
from tconv.dialects.geometry import reach
from tconv.vocabulary import NEUTRAL, Attributes, AutoPad

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Operand
    from tconv.vocabulary import Ints


def work_out_facts(
    case_id: str, layers: Sequence[Mapping[str, Any]], attributes: Attributes, x: Operand, w: Operand
) -> Mapping[str, str]:
    """Return the facts of a case; the label of a sweep's axis replaces another fact of its name.

    Args:
        case_id: its id, which has the labels.
        layers: the settings of the case. They are merged only here, as few cases are asked for their facts.
        attributes: its attributes.
        x: its data.
        w: its filter.
    """
    settings = complete_settings(layers)
    texts = {name: label(unwrap(value)) for name, value in settings.items() if name in LISTED}
    texts |= {f"{PREFIX}{axis}": level for axis, level in settings.get("context", {}).items() if level is not None}
    texts.setdefault("bias_source", label(settings["filter_source"]))
    spatial = tuple(settings["spatial"])
    following = _following(attributes, spatial, spread_per_axis(settings["kernel"], len(spatial)))
    return {**texts, **following, "empty": _empty(x.shape, w.shape), **facts_of(case_id)}


@lru_cache(maxsize=1024)
def _following(attributes: Attributes, spatial: Ints, kernel: Ints) -> Mapping[str, str]:
    """Return the facts that follow from attributes, spatial sizes and kernel; faults of runtimes depend on them."""
    rank = len(spatial)
    strides, dilations, added = (attributes.per_axis(name, rank) for name in ("strides", "dilations", "output_padding"))
    output_shape, output_padding = attributes.output_shape or (), attributes.output_padding or ()
    full = [reach(*axis) for axis in zip(spatial, kernel, strides, dilations, strict=False)]
    beyond = [size - most for size, most in zip(output_shape, full, strict=False)]
    # How far a kernel reaches beyond one element, for each axis.
    more = ((k - 1) * d for k, d in zip(kernel, attributes.per_axis("dilations", len(kernel)), strict=False))
    facts = {
        "rank": rank,
        **{f"{name}_given": getattr(attributes, name) is not None for name in _OPTIONAL},
        "pads_given": attributes.pads_begin is not None or attributes.pads_end is not None,
        "output_shape_below_spatial": any(map(lt, output_shape, spatial)),
        "output_shape_beyond_reach": any(map(gt, beyond, added)),
        "output_shape_beyond_reach_by_stride": any(map(ge, beyond, strides)),
        "output_padding_reaches_stride": any(map(ge, output_padding, strides)),
        "output_padding_positive": any(op > 0 for op in output_padding),
        "pads_begin_beyond_kernel": any(map(gt, attributes.pads_begin or (), more)),
        "output_empty": _output_empty(attributes, spatial, kernel),
        "grouped": (attributes.groups or 1) > 1,
    }
    return {name: label(value) for name, value in facts.items()}


def _output_empty(attributes: Attributes, spatial: Ints, kernel: Ints) -> bool:
    """Return whether output_shape has a 0, or explicit pads crop all of an axis."""
    if attributes.output_shape is not None or attributes.auto_pad not in {None, AutoPad.EXPLICIT}:
        return 0 in (attributes.output_shape or ())
    axes = zip(spatial, kernel, *(attributes.per_axis(name, len(spatial)) for name in NEUTRAL), strict=False)
    return any(reach(x, k, s, d) + op == begin + end for x, k, s, d, begin, end, op in axes)


def _empty(x: Ints, w: Ints) -> str:
    """Return the names of the operands' dimensions that are 0."""
    if 0 not in x and 0 not in w:
        return "none"
    dimensions = {"batch": x[:1], "channels": (*x[1:2], *w[:2]), "spatial": x[2:], "kernel": w[2:]}
    return "+".join(meaning for meaning, sizes in dimensions.items() if 0 in sizes)


_OPTIONAL = ("strides", "dilations", "output_padding", "output_shape", "groups", "auto_pad", "kernel_shape")
"""Attributes that may have a default in a text. A runtime may lack this default, or have a different one."""
DERIVED = frozenset({*_following(Attributes(), (), ()), "empty", "bias_source"})
"""The facts that depend on other settings than the one of their name."""
NAMES = DERIVED | LISTED | LEVELS
"""The facts of every case; the axes of its sweep are further facts."""
IDENTITY = frozenset({"seed", "about", "name"})
"""Settings that identify a case, and do not change the call."""

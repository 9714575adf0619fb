"""The facts of a case: its settings and labels as text, and what follows from several settings."""

from __future__ import annotations

from functools import lru_cache
from operator import ge, gt
from typing import TYPE_CHECKING, Any

from tconv.cases.patterns import label
from tconv.corpus.case_file import Settings
from tconv.dialects.geometry import reach
from tconv.vocabulary import NEUTRAL, Attributes, AutoPad

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import FactsPart
    from tconv.corpus.building import Operands
    from tconv.vocabulary import Ints

OPERAND_ROLES = ("x", "w", "b")
"""The settings that are of one operand; they are no facts."""


_OPTIONAL = ("strides", "dilations", "output_padding", "output_shape", "groups", "auto_pad", "kernel_shape")
"""Attributes of which a text may have a default: a runtime may lack it, or have another one."""


def facts_from(
    settings: Mapping[str, Any], attributes: Attributes, operands: Operands, labels: Mapping[str, str]
) -> tuple[FactsPart, ...]:
    """Return the parts of the facts of the case that completed settings make."""
    return texts_of(settings), source_of(settings), derived_of(settings, attributes), empty_of(operands), labels


def texts_of(settings: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the facts that single settings are; None for what is not set."""
    texts = ((key, value) for key, value in settings.items() if key not in OPERAND_ROLES)
    return {key: None if value is None else label(unwrapped(value)) for key, value in texts}


def derived_of(settings: Mapping[str, Any], attributes: Attributes) -> dict[str, str]:
    """Return the facts that follow from several of completed settings, those of the operands' sizes aside."""
    spatial = tuple(settings["spatial"])
    return _derived(attributes, spatial, per_axis(settings["kernel"], len(spatial)))


def source_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return where the bias comes from, as a fact of completed settings."""
    return {"bias_source": label(settings.get("bias_source") or settings["filter_source"])}


def empty_of(operands: Operands) -> dict[str, str]:
    """Return which of the operands' dimensions are 0, as a fact."""
    return _empty(operands[0].shape, operands[1].shape)


def _derived(attributes: Attributes, spatial: Ints, kernel: Ints) -> dict[str, str]:
    """Return facts that follow from several settings, and that runtimes are known to get wrong."""
    rank, strides = len(spatial), attributes.per_axis("strides", len(spatial))
    beyond = _beyond_reach(attributes, spatial, kernel)
    below = any(y < x for y, x in zip(attributes.output_shape or (), spatial, strict=False))
    reaches = any(op >= s for op, s in zip(attributes.output_padding or (), strides, strict=False))
    return {
        "rank": str(rank),
        **{f"{name}_given": label(getattr(attributes, name) is not None) for name in _OPTIONAL},
        "pads_given": label(attributes.pads_begin is not None or attributes.pads_end is not None),
        "output_shape_below_spatial": label(below),
        "output_shape_beyond_reach": label(any(map(gt, beyond, attributes.per_axis("output_padding", rank)))),
        "output_shape_beyond_reach_by_stride": label(any(map(ge, beyond, strides))),
        "output_padding_reaches_stride": label(reaches),
        "output_padding_positive": label(any(op > 0 for op in attributes.output_padding or ())),
        "pads_begin_beyond_kernel": label(_pads_begin_beyond_kernel(attributes, kernel)),
        "output_empty": label(_output_empty(attributes, spatial, kernel)),
        "grouped": label((attributes.groups or 1) > 1),
    }


def _beyond_reach(attributes: Attributes, spatial: Ints, kernel: Ints) -> Ints:
    """Return by how much output_shape is above what the taps reach, for each of its axes."""
    lists = (attributes.per_axis(name, len(spatial)) for name in ("strides", "dilations"))
    axes = zip(attributes.output_shape or (), spatial, kernel, *lists, strict=False)
    return tuple(size - reach(*axis) for size, *axis in axes)


def _pads_begin_beyond_kernel(attributes: Attributes, kernel: Ints) -> bool:
    """Return whether more is cropped at the beginning of an axis than a kernel reaches beyond one element."""
    dilations = attributes.per_axis("dilations", len(kernel))
    return any(p > (k - 1) * d for p, k, d in zip(attributes.pads_begin or (), kernel, dilations, strict=False))


def _output_empty(attributes: Attributes, spatial: Ints, kernel: Ints) -> bool:
    """Return whether output_shape has a 0, or pads crop all of an axis; padding modes are left to the texts."""
    if attributes.output_shape is not None or attributes.auto_pad not in {None, AutoPad.EXPLICIT}:
        return 0 in (attributes.output_shape or ())
    axes = zip(spatial, kernel, *(attributes.per_axis(name, len(spatial)) for name in NEUTRAL), strict=False)
    return any(reach(x, k, s, d) + op == begin + end for x, k, s, d, begin, end, op in axes)


@lru_cache(maxsize=1024)
def _empty(x: Ints, w: Ints) -> dict[str, str]:
    """Return which of the operands' dimensions are 0, by their meaning."""
    if 0 not in x and 0 not in w:
        return _NOT_EMPTY
    dimensions = {"batch": x[:1], "channels": (*x[1:2], *w[:2]), "spatial": x[2:], "kernel": w[2:]}
    return {"empty": "+".join(meaning for meaning, sizes in dimensions.items() if 0 in sizes)}


_NOT_EMPTY = {"empty": "none"}


def unwrapped(value: Any) -> Any:  # noqa: ANN401 - settings are plain values
    """Return a setting's value; an unknown word is given as a mapping, `raw: word`."""
    return value["raw"] if isinstance(value, dict) else value


def per_axis(value: int | Sequence[int], rank: int) -> Ints:
    """Return a setting's entry for each axis; an integer stands for all of them."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


DERIVED = frozenset({*_derived(Attributes(), (), ()), "empty", "bias_source"})
"""The facts that depend on other settings than that of their own name."""
NAMES = frozenset({*Settings.model_fields, *DERIVED}) - frozenset(OPERAND_ROLES)
"""The facts that every case may have; the axes of its sweep are facts too."""

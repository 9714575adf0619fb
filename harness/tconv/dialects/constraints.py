"""Every constraint that a text may state on attributes and operands: a table of named predicates.

A predicate of what several values are together returns None where one of them breaks a constraint of its own, without
which it cannot be asked: a kernel_shape of the wrong length breaks its length constraint, and not `kernel-shape-matches`.
Constraints of one value are independent: `strides=[0]` on two axes breaks two of them. Which constraints a dialect states is part of the dialect (see `dialect`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import lt
from typing import TYPE_CHECKING, TypeAlias

from tconv.errors import Violation
from tconv.vocabulary import AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.vocabulary import Ints, Signature

Breach = tuple[str, str, str]
"""The attribute or input that breaks a constraint, what must hold of it, and what it is."""
Predicate: TypeAlias = "Callable[[Signature], Breach | None]"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named predicate over a signature.

    Attributes:
        name: its name in cases, dialects and messages.
        says: the constraint in words.
        predicate: returns what breaks it, or None.
        needed: whether the operator has no value at all where it is broken.
    """

    name: str
    says: str
    predicate: Predicate
    needed: bool

    def violation(self, signature: Signature, clause: str = "") -> Violation | None:
        """Return how a signature breaks the constraint, or None where it does not.

        Args:
            signature: attributes and operand types.
            clause: the words of the dialect's text that state it.
        """
        breach = self.predicate(signature)
        return None if breach is None else Violation(self.name, *breach, clause)


def _show(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


# Of one attribute.


def _length(attribute: str, signature: Signature) -> Breach | None:
    value: Ints | None = getattr(signature.attributes, attribute)
    if value is None or len(value) == signature.rank:
        return None
    return attribute, f"must have {_entries(signature.rank)}, one for each spatial axis", _show(value)


def _at_least(least: int, attribute: str, signature: Signature) -> Breach | None:
    value: Ints | None = getattr(signature.attributes, attribute)
    if not value or min(value) >= least:
        return None
    return attribute, f"must have entries of at least {least}", _show(value)


def _given(attribute: str, signature: Signature) -> Breach | None:
    return (attribute, "must be written", "nothing") if getattr(signature.attributes, attribute) is None else None


def _absent(attribute: str, signature: Signature) -> Breach | None:
    value = getattr(signature.attributes, attribute)
    return None if value is None else (attribute, "must not be there", _show(value))


def _known(words: tuple[str, ...], attribute: str, signature: Signature) -> Breach | None:
    value = getattr(signature.attributes, attribute)
    if value is None or value in words:
        return None
    return attribute, f"must be one of {', '.join(words)}", value


def _pads_length(signature: Signature) -> Breach | None:
    return _length("pads_begin", signature) or _length("pads_end", signature)


def _pads_non_negative(signature: Signature) -> Breach | None:
    return _at_least(0, "pads_begin", signature) or _at_least(0, "pads_end", signature)


def _pads_given(signature: Signature) -> Breach | None:
    return _given("pads_begin", signature) or _given("pads_end", signature)


def _groups_positive(signature: Signature) -> Breach | None:
    return None if signature.groups > 0 else ("groups", "must be at least 1", str(signature.groups))


def _no_groups(signature: Signature) -> Breach | None:
    return None if signature.groups == 1 else _absent("groups", signature)


def _no_auto_pad(signature: Signature) -> Breach | None:
    return None if signature.auto_pad == AutoPad.EXPLICIT else _absent("auto_pad", signature)


# Of several attributes.


def _output_padding_below_stride_or_dilation(signature: Signature) -> Breach | None:
    value = signature.attributes.output_padding
    if value is None:
        return None
    limit = tuple(map(max, signature.per_axis("strides"), signature.per_axis("dilations")))
    if len(limit) != len(value) or all(map(lt, value, limit)):
        return None
    return "output_padding", f"must be less than the larger of strides and dilations {_show(limit)}", _show(value)


def _pads_without_auto_pad(signature: Signature) -> Breach | None:
    pads = signature.attributes.pads_begin or signature.attributes.pads_end
    if pads is None or signature.auto_pad == AutoPad.EXPLICIT:
        return None
    return "pads", f"must not be written beside auto_pad {signature.auto_pad}", _show(pads)


# Of attributes and operands.


def _kernel_shape_matches(signature: Signature) -> Breach | None:
    value = signature.attributes.kernel_shape
    # A list of another length is the concern of kernel-shape-length.
    if value is None or len(value) != len(signature.kernel) or value == signature.kernel:
        return None
    return "kernel_shape", f"must be the filter's spatial shape {_show(signature.kernel)}", _show(value)


def _channels_divisible(signature: Signature) -> Breach | None:
    channels, groups = signature.x.shape[1] if len(signature.x.shape) > 1 else 0, signature.groups
    if groups <= 0 or channels % groups == 0:
        return None
    return "groups", f"must divide the {channels} input channels", str(groups)


def _filter_channels_match(signature: Signature) -> Breach | None:
    data, filters = signature.x.shape[1:2], signature.w.shape[:1]
    if not data:
        return "data", "must have a batch and channels", f"rank {len(signature.x.shape)}"
    return (
        None if data == filters else ("filter", f"must have {_show(data)} input channels, as the data", _show(filters))
    )


def _filter_rank_matches(signature: Signature) -> Breach | None:
    data, filters = len(signature.x.shape), len(signature.w.shape)
    return None if data == filters else ("filter", f"must have rank {data}, as the data", f"rank {filters}")


def _bias_rank(signature: Signature) -> Breach | None:
    if signature.b is None or len(signature.b.shape) == 1:
        return None
    return "bias", "must have one dimension", _show(signature.b.shape)


def _bias_length(signature: Signature) -> Breach | None:
    if signature.b is None or len(signature.b.shape) != 1 or len(signature.w.shape) < 2:  # noqa: PLR2004 - (C, O/G)
        return None
    channels = signature.w.shape[1] * signature.groups
    if signature.b.shape[0] == channels or signature.groups <= 0:
        return None
    return "bias", f"must have {_entries(channels)}, one for each output channel", _show(signature.b.shape)


def _no_bias(signature: Signature) -> Breach | None:
    return None if signature.b is None else ("bias", "must not be there", _show(signature.b.shape))


def _one_type(signature: Signature) -> Breach | None:
    for name, operand in (("filter", signature.w), ("bias", signature.b)):
        if operand is not None and operand.dtype != signature.x.dtype:
            return name, f"must have the data's type {signature.x.dtype}", str(operand.dtype)
    return None


def _without_type(dtype: DType, signature: Signature) -> Breach | None:
    for name, operand in (("data", signature.x), ("filter", signature.w), ("bias", signature.b)):
        if operand is not None and operand.dtype == dtype:
            return name, f"must not be of type {dtype}", str(dtype)
    return None


# Of ranks, and of sizes that are zero.


def _at_least_one_spatial_axis(signature: Signature) -> Breach | None:
    rank = len(signature.x.shape)
    return None if rank > 2 else ("data", "must have rank 3 or greater", str(rank))  # noqa: PLR2004 - the text's 3


def _two_or_three_spatial_axes(signature: Signature) -> Breach | None:
    rank = signature.rank
    return None if rank in (2, 3) else ("data", "must have two or three spatial axes", str(rank))


def _at_most_three_spatial_axes(signature: Signature) -> Breach | None:
    rank = len(signature.x.shape)
    return None if rank <= 5 else ("data", "must have rank 5 or less", str(rank))  # noqa: PLR2004 - the text's 5


def _batch_not_empty(signature: Signature) -> Breach | None:
    return None if all(signature.x.shape[:1]) else ("data", "must have a batch that is not empty", "0")


def _channels_not_empty(signature: Signature) -> Breach | None:
    filled = all(signature.x.shape[1:2]) and all(signature.w.shape[:2])
    return None if filled else ("data", "must have channels", "0")


def _spatial_not_empty(signature: Signature) -> Breach | None:
    return None if all(signature.spatial) else ("data", "must have no empty axis", _show(signature.spatial))


def _kernel_not_empty(signature: Signature) -> Breach | None:
    return None if all(signature.kernel) else ("filter", "must have no empty axis", _show(signature.kernel))


def _left_to_the_resolver(_: Signature) -> Breach | None:
    """Return None: the size of the output depends on a dialect's rules, see `geometry.resolve`."""
    return None


_NEEDED = frozenset(
    {
        "strides-length",
        "dilations-length",
        "pads-length",
        "output-padding-length",
        "output-shape-length",
        "kernel-shape-length",
        "kernel-shape-matches",
        "strides-positive",
        "dilations-positive",
        "output-shape-non-negative",
        "groups-positive",
        "channels-divisible",
        "filter-channels-match",
        "filter-rank-matches",
        "bias-rank",
        "bias-length",
        "auto-pad-known",
        "data-format-known",
        "filter-format-known",
        "output-size-non-negative",
    }
)
"""What must hold for the operator to have a value at all."""

_TABLE: tuple[tuple[str, str, Predicate], ...] = (
    ("strides-length", "strides has an entry for each spatial axis", partial(_length, "strides")),
    ("dilations-length", "dilations has an entry for each spatial axis", partial(_length, "dilations")),
    ("pads-length", "pads have a beginning and an end for each spatial axis", _pads_length),
    ("output-padding-length", "output_padding has an entry for each spatial axis", partial(_length, "output_padding")),
    (
        "output-shape-length",
        "output_shape has an entry for each spatial axis, none for batch and channels",
        partial(_length, "output_shape"),
    ),
    ("kernel-shape-length", "kernel_shape has an entry for each spatial axis", partial(_length, "kernel_shape")),
    ("strides-positive", "strides are positive", partial(_at_least, 1, "strides")),
    ("dilations-positive", "dilations are positive", partial(_at_least, 1, "dilations")),
    ("pads-non-negative", "pads are not negative", _pads_non_negative),
    ("output-padding-non-negative", "output_padding is not negative", partial(_at_least, 0, "output_padding")),
    ("output-shape-non-negative", "output_shape is not negative", partial(_at_least, 0, "output_shape")),
    ("groups-positive", "groups is positive", _groups_positive),
    (
        "output-padding-below-stride-or-dilation",
        "output_padding is less than the larger of stride and dilation of its axis",
        _output_padding_below_stride_or_dilation,
    ),
    ("pads-without-auto-pad", "pads are not written beside a padding mode", _pads_without_auto_pad),
    ("kernel-shape-matches", "kernel_shape equals the filter's spatial shape", _kernel_shape_matches),
    ("channels-divisible", "the number of input channels is divisible by groups", _channels_divisible),
    ("filter-channels-match", "the filter has as many input channels as the data", _filter_channels_match),
    ("filter-rank-matches", "the filter has the rank of the data", _filter_rank_matches),
    ("bias-rank", "the bias has one dimension", _bias_rank),
    ("bias-length", "the bias has an entry for each output channel", _bias_length),
    ("one-type", "all operands have the type of the data", _one_type),
    ("auto-pad-known", "auto_pad is one of the modes of the text", partial(_known, tuple(AutoPad), "auto_pad")),
    (
        "data-format-known",
        "data_format is one of the layouts of the text",
        partial(_known, tuple(DataFormat), "data_format"),
    ),
    (
        "filter-format-known",
        "filter_format is one of the layouts of the text",
        partial(_known, tuple(FilterFormat), "filter_format"),
    ),
    ("strides-given", "strides are written", partial(_given, "strides")),
    ("dilations-given", "dilations are written", partial(_given, "dilations")),
    ("pads-given", "pads are written", _pads_given),
    ("without-auto-pad", "there is no padding mode", _no_auto_pad),
    ("without-output-shape", "there is no output_shape", partial(_absent, "output_shape")),
    ("without-kernel-shape", "there is no kernel_shape", partial(_absent, "kernel_shape")),
    ("without-groups", "there is no groups attribute", _no_groups),
    ("without-bias", "there is no bias input", _no_bias),
    ("without-bf16", "bfloat16 is not among the types", partial(_without_type, DType.BF16)),
    ("without-f64", "float64 is not among the types", partial(_without_type, DType.F64)),
    ("at-least-one-spatial-axis", "the data has rank 3 or greater", _at_least_one_spatial_axis),
    ("two-or-three-spatial-axes", "the data has two or three spatial axes", _two_or_three_spatial_axes),
    ("at-most-three-spatial-axes", "the data has rank 5 or less", _at_most_three_spatial_axes),
    ("batch-not-empty", "the batch is not empty", _batch_not_empty),
    ("channels-not-empty", "there are input and output channels", _channels_not_empty),
    ("spatial-not-empty", "no spatial size of the data is 0", _spatial_not_empty),
    ("kernel-not-empty", "no spatial size of the filter is 0", _kernel_not_empty),
    ("output-not-empty", "no size of the output is 0", _left_to_the_resolver),
    ("output-size-non-negative", "no size of the output is below 0", _left_to_the_resolver),
)
CONSTRAINTS = {name: Constraint(name, says, predicate, name in _NEEDED) for name, says, predicate in _TABLE}
"""All constraints by name."""

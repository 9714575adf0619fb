"""The predicates of the constraints: each returns what of a signature breaks its constraint, or None.

A predicate of what several values are together returns None where one of them breaks a constraint of its own, without
which it cannot be asked: a kernel_shape of the wrong length breaks its length constraint, and not
`kernel-shape-matches`. Predicates of one value are independent: `strides=[0]` on two axes breaks two constraints.
The table in `constraints` says in words what each demands.
"""

from __future__ import annotations

from operator import lt
from typing import TYPE_CHECKING

from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from tconv.dialects.constraint import Breach
    from tconv.vocabulary import DType, Ints, Signature


def _show(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


# Of one attribute.


def entry_for_each_axis(attribute: str, signature: Signature) -> Breach | None:
    value: Ints | None = getattr(signature.attributes, attribute)
    if value is None or len(value) == signature.rank:
        return None
    return attribute, f"must have {_entries(signature.rank)}, one for each spatial axis", _show(value)


def entries_at_least(least: int, attribute: str, signature: Signature) -> Breach | None:
    value: Ints | None = getattr(signature.attributes, attribute)
    if not value or min(value) >= least:
        return None
    return attribute, f"must have entries of at least {least}", _show(value)


def written(attribute: str, signature: Signature) -> Breach | None:
    return (attribute, "must be written", "nothing") if getattr(signature.attributes, attribute) is None else None


def not_written(attribute: str, signature: Signature) -> Breach | None:
    value = getattr(signature.attributes, attribute)
    return None if value is None else (attribute, "must not be there", _show(value))


def one_of(words: tuple[str, ...], attribute: str, signature: Signature) -> Breach | None:
    value = getattr(signature.attributes, attribute)
    if value is None or value in words:
        return None
    return attribute, f"must be one of {', '.join(words)}", value


def pads_length(signature: Signature) -> Breach | None:
    return entry_for_each_axis("pads_begin", signature) or entry_for_each_axis("pads_end", signature)


def pads_non_negative(signature: Signature) -> Breach | None:
    return entries_at_least(0, "pads_begin", signature) or entries_at_least(0, "pads_end", signature)


def pads_given(signature: Signature) -> Breach | None:
    return written("pads_begin", signature) or written("pads_end", signature)


def groups_positive(signature: Signature) -> Breach | None:
    return None if signature.groups > 0 else ("groups", "must be at least 1", str(signature.groups))


def no_groups(signature: Signature) -> Breach | None:
    return None if signature.groups == 1 else not_written("groups", signature)


def no_auto_pad(signature: Signature) -> Breach | None:
    return None if signature.auto_pad == AutoPad.EXPLICIT else not_written("auto_pad", signature)


# Of several attributes.


def output_padding_below_stride_or_dilation(signature: Signature) -> Breach | None:
    value = signature.attributes.output_padding
    if value is None:
        return None
    limit = tuple(map(max, signature.per_axis("strides"), signature.per_axis("dilations")))
    if len(limit) != len(value) or all(map(lt, value, limit)):
        return None
    return "output_padding", f"must be less than the larger of strides and dilations {_show(limit)}", _show(value)


def pads_without_auto_pad(signature: Signature) -> Breach | None:
    pads = signature.attributes.pads_begin or signature.attributes.pads_end
    if pads is None or signature.auto_pad == AutoPad.EXPLICIT:
        return None
    return "pads", f"must not be written beside auto_pad {signature.auto_pad}", _show(pads)


# Of attributes and operands.


def kernel_shape_matches(signature: Signature) -> Breach | None:
    value = signature.attributes.kernel_shape
    # A list of another length is the concern of kernel-shape-length.
    if value is None or len(value) != len(signature.kernel) or value == signature.kernel:
        return None
    return "kernel_shape", f"must be the filter's spatial shape {_show(signature.kernel)}", _show(value)


def channels_divisible(signature: Signature) -> Breach | None:
    channels, groups = signature.x.shape[1] if len(signature.x.shape) > 1 else 0, signature.groups
    if groups <= 0 or channels % groups == 0:
        return None
    return "groups", f"must divide the {channels} input channels", str(groups)


def filter_channels_match(signature: Signature) -> Breach | None:
    data, filters = signature.x.shape[1:2], signature.w.shape[:1]
    if not data:
        return "data", "must have a batch and channels", f"rank {len(signature.x.shape)}"
    return (
        None if data == filters else ("filter", f"must have {_show(data)} input channels, as the data", _show(filters))
    )


def filter_rank_matches(signature: Signature) -> Breach | None:
    data, filters = len(signature.x.shape), len(signature.w.shape)
    return None if data == filters else ("filter", f"must have rank {data}, as the data", f"rank {filters}")


def bias_rank(signature: Signature) -> Breach | None:
    if signature.b is None or len(signature.b.shape) == 1:
        return None
    return "bias", "must have one dimension", _show(signature.b.shape)


def bias_length(signature: Signature) -> Breach | None:
    if signature.b is None or len(signature.b.shape) != 1 or len(signature.w.shape) < 2:  # noqa: PLR2004 - (C, O/G)
        return None
    channels = signature.w.shape[1] * signature.groups
    if signature.b.shape[0] == channels or signature.groups <= 0:
        return None
    return "bias", f"must have {_entries(channels)}, one for each output channel", _show(signature.b.shape)


def no_bias(signature: Signature) -> Breach | None:
    return None if signature.b is None else ("bias", "must not be there", _show(signature.b.shape))


def one_type(signature: Signature) -> Breach | None:
    for name, operand in (("filter", signature.w), ("bias", signature.b)):
        if operand is not None and operand.dtype != signature.x.dtype:
            return name, f"must have the data's type {signature.x.dtype}", str(operand.dtype)
    return None


def without_type(dtype: DType, signature: Signature) -> Breach | None:
    for name, operand in (("data", signature.x), ("filter", signature.w), ("bias", signature.b)):
        if operand is not None and operand.dtype == dtype:
            return name, f"must not be of type {dtype}", str(dtype)
    return None


# Of ranks, and of sizes that are zero.


def at_least_one_spatial_axis(signature: Signature) -> Breach | None:
    rank = len(signature.x.shape)
    return None if rank > 2 else ("data", "must have rank 3 or greater", str(rank))  # noqa: PLR2004 - the text's 3


def two_or_three_spatial_axes(signature: Signature) -> Breach | None:
    rank = signature.rank
    return None if rank in (2, 3) else ("data", "must have two or three spatial axes", str(rank))


def at_most_three_spatial_axes(signature: Signature) -> Breach | None:
    rank = len(signature.x.shape)
    return None if rank <= 5 else ("data", "must have rank 5 or less", str(rank))  # noqa: PLR2004 - the text's 5


def batch_not_empty(signature: Signature) -> Breach | None:
    return None if all(signature.x.shape[:1]) else ("data", "must have a batch that is not empty", "0")


def channels_not_empty(signature: Signature) -> Breach | None:
    filled = all(signature.x.shape[1:2]) and all(signature.w.shape[:2])
    return None if filled else ("data", "must have channels", "0")


def spatial_not_empty(signature: Signature) -> Breach | None:
    return None if all(signature.spatial) else ("data", "must have no empty axis", _show(signature.spatial))


def kernel_not_empty(signature: Signature) -> Breach | None:
    return None if all(signature.kernel) else ("filter", "must have no empty axis", _show(signature.kernel))


def left_to_the_resolver(_: Signature) -> Breach | None:
    """Return None: the size of the output depends on a dialect's rules, see `geometry.resolve`."""
    return None

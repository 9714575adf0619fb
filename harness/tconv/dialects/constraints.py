"""Every constraint that a text may state on attributes and operands, as a named predicate.

A predicate looks at one thing and stays calm when others are broken: a list of the wrong length is the concern of its
length constraint alone. Whether a constraint holds in a dialect is the dialect's business (see `dialects`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.vocabulary import AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.vocabulary import Ints, Signature


@dataclass(frozen=True, slots=True)
class Violation:
    """What breaks a constraint: the attribute or input, what must hold of it, and what was found."""

    attribute: str
    must: str
    got: str


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named predicate over a signature.

    Attributes:
        name: how cases, dialects and messages call it.
        says: what holds where it holds.
        check: returns what breaks it, or None.
        needed: whether the operator has no value at all where it is broken.
    """

    name: str
    says: str
    check: Callable[[Signature], Violation | None]
    needed: bool


CONSTRAINTS: dict[str, Constraint] = {}
"""All constraints by name. Those without a predicate of their own are found by the resolver."""


def _constraint(
    name: str, says: str, *, needed: bool = False
) -> Callable[[Callable[[Signature], Violation | None]], None]:
    def register(check: Callable[[Signature], Violation | None]) -> None:
        CONSTRAINTS[name] = Constraint(name, says, check, needed)

    return register


def _show(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _list(signature: Signature, name: str) -> Ints | None:
    value: Ints | None = getattr(signature.attributes, name)
    return value


def _length(attribute: str, signature: Signature) -> Violation | None:
    value = _list(signature, attribute)
    if value is None or len(value) == signature.rank:
        return None
    return Violation(attribute, f"must have {signature.rank} entries, one for each spatial axis", _show(value))


def _at_least(attribute: str, least: int, signature: Signature) -> Violation | None:
    value = _list(signature, attribute)
    if value is None or all(entry >= least for entry in value):
        return None
    return Violation(attribute, f"must have entries of at least {least}", _show(value))


def _absent(attribute: str, signature: Signature) -> Violation | None:
    value = getattr(signature.attributes, attribute)
    return None if value is None else Violation(attribute, "must not be there", _show(value))


def _given(attribute: str, signature: Signature) -> Violation | None:
    missing = getattr(signature.attributes, attribute) is None
    return Violation(attribute, "must be written", "nothing") if missing else None


def _first(*found: Violation | None) -> Violation | None:
    return next((violation for violation in found if violation), None)


# Lists have an entry for each spatial axis.


@_constraint("strides-length", "strides has an entry for each spatial axis", needed=True)
def _(signature: Signature) -> Violation | None:
    return _length("strides", signature)


@_constraint("dilations-length", "dilations has an entry for each spatial axis", needed=True)
def _(signature: Signature) -> Violation | None:
    return _length("dilations", signature)


@_constraint("pads-length", "pads have a beginning and an end for each spatial axis", needed=True)
def _(signature: Signature) -> Violation | None:
    return _first(_length("pads_begin", signature), _length("pads_end", signature))


@_constraint("output-padding-length", "output_padding has an entry for each spatial axis", needed=True)
def _(signature: Signature) -> Violation | None:
    return _length("output_padding", signature)


@_constraint(
    "output-shape-length", "output_shape has an entry for each spatial axis, none for batch and channels", needed=True
)
def _(signature: Signature) -> Violation | None:
    return _length("output_shape", signature)


@_constraint("kernel-shape-length", "kernel_shape has an entry for each spatial axis")
def _(signature: Signature) -> Violation | None:
    return _length("kernel_shape", signature)


# Ranges.


@_constraint("strides-positive", "strides are positive", needed=True)
def _(signature: Signature) -> Violation | None:
    return _at_least("strides", 1, signature)


@_constraint("dilations-positive", "dilations are positive", needed=True)
def _(signature: Signature) -> Violation | None:
    return _at_least("dilations", 1, signature)


@_constraint("pads-non-negative", "pads are not negative")
def _(signature: Signature) -> Violation | None:
    return _first(_at_least("pads_begin", 0, signature), _at_least("pads_end", 0, signature))


@_constraint("output-padding-non-negative", "output_padding is not negative")
def _(signature: Signature) -> Violation | None:
    return _at_least("output_padding", 0, signature)


@_constraint("output-shape-non-negative", "output_shape is not negative", needed=True)
def _(signature: Signature) -> Violation | None:
    return _at_least("output_shape", 0, signature)


@_constraint("groups-positive", "groups is positive", needed=True)
def _(signature: Signature) -> Violation | None:
    groups = signature.groups
    return None if groups > 0 else Violation("groups", "must be at least 1", str(groups))


def _output_padding_below(signature: Signature, limit: Ints, words: str) -> Violation | None:
    value = signature.attributes.output_padding
    if value is None or len(limit) != len(value) or all(op < top for op, top in zip(value, limit, strict=True)):
        return None
    return Violation("output_padding", f"must be less than {words} {_show(limit)}", _show(value))


@_constraint(
    "output-padding-below-stride-or-dilation",
    "output_padding is less than the larger of stride and dilation of its axis",
)
def _(signature: Signature) -> Violation | None:
    strides, dilations = signature.per_axis("strides", 1), signature.per_axis("dilations", 1)
    larger = tuple(map(max, strides, dilations))
    return _output_padding_below(signature, larger, "the larger of strides and dilations")


@_constraint("output-padding-below-stride", "output_padding is less than the stride of its axis")
def _(signature: Signature) -> Violation | None:
    return _output_padding_below(signature, signature.per_axis("strides", 1), "strides")


# What belongs together.


@_constraint("pads-without-auto-pad", "pads are not written beside a padding mode")
def _(signature: Signature) -> Violation | None:
    pads = signature.attributes.pads_begin or signature.attributes.pads_end
    if pads is None or signature.auto_pad == AutoPad.EXPLICIT:
        return None
    return Violation("pads", f"must not be written beside auto_pad {signature.auto_pad}", _show(pads))


@_constraint("kernel-shape-matches", "kernel_shape equals the filter's spatial shape")
def _(signature: Signature) -> Violation | None:
    value = signature.attributes.kernel_shape
    # A list of another length is the concern of kernel-shape-length.
    if value is None or len(value) != len(signature.kernel) or value == signature.kernel:
        return None
    return Violation("kernel_shape", f"must be the filter's spatial shape {_show(signature.kernel)}", _show(value))


@_constraint("channels-divisible", "the number of input channels is divisible by groups", needed=True)
def _(signature: Signature) -> Violation | None:
    channels, groups = signature.x.shape[1] if len(signature.x.shape) > 1 else 0, signature.groups
    if groups <= 0 or channels % groups == 0:
        return None
    return Violation("groups", f"must divide the {channels} input channels", str(groups))


@_constraint("filter-channels-match", "the filter has as many input channels as the data", needed=True)
def _(signature: Signature) -> Violation | None:
    data, filters = signature.x.shape[1:2], signature.w.shape[:1]
    if not data:
        return Violation("data", "must have a batch and channels", f"rank {len(signature.x.shape)}")
    if data == filters:
        return None
    return Violation("filter", f"must have {_show(data)} input channels, as the data", _show(filters))


@_constraint("filter-rank-matches", "the filter has the rank of the data", needed=True)
def _(signature: Signature) -> Violation | None:
    ranks = len(signature.x.shape), len(signature.w.shape)
    if ranks[0] == ranks[1]:
        return None
    return Violation("filter", f"must have rank {ranks[0]}, as the data", f"rank {ranks[1]}")


@_constraint("bias-rank", "the bias has one dimension", needed=True)
def _(signature: Signature) -> Violation | None:
    if signature.b is None or len(signature.b.shape) == 1:
        return None
    return Violation("bias", "must have one dimension", _show(signature.b.shape))


@_constraint("bias-length", "the bias has an entry for each output channel", needed=True)
def _(signature: Signature) -> Violation | None:
    if signature.b is None or len(signature.b.shape) != 1 or len(signature.w.shape) < 2:  # noqa: PLR2004 - (C, O/G)
        return None
    channels = signature.w.shape[1] * signature.groups
    if signature.b.shape[0] == channels or signature.groups <= 0:
        return None
    return Violation("bias", f"must have {channels} entries, one for each output channel", _show(signature.b.shape))


@_constraint("one-type", "all operands have the type of the data")
def _(signature: Signature) -> Violation | None:
    for name, operand in (("filter", signature.w), ("bias", signature.b)):
        if operand is not None and operand.dtype != signature.x.dtype:
            return Violation(name, f"must have the data's type {signature.x.dtype}", str(operand.dtype))
    return None


# Words.


def _word(attribute: str, known: type[AutoPad | DataFormat | FilterFormat], signature: Signature) -> Violation | None:
    value = getattr(signature.attributes, attribute)
    if value is None or value in set(known):
        return None
    return Violation(attribute, f"must be one of {', '.join(known)}", value)


@_constraint("auto-pad-known", "auto_pad is one of the modes of the text", needed=True)
def _(signature: Signature) -> Violation | None:
    return _word("auto_pad", AutoPad, signature)


@_constraint("data-format-known", "data_format is one of the layouts of the text", needed=True)
def _(signature: Signature) -> Violation | None:
    return _word("data_format", DataFormat, signature)


@_constraint("filter-format-known", "filter_format is one of the layouts of the text", needed=True)
def _(signature: Signature) -> Violation | None:
    return _word("filter_format", FilterFormat, signature)


# What must be there.


@_constraint("strides-given", "strides are written")
def _(signature: Signature) -> Violation | None:
    return _given("strides", signature)


@_constraint("dilations-given", "dilations are written")
def _(signature: Signature) -> Violation | None:
    return _given("dilations", signature)


@_constraint("pads-given", "pads are written")
def _(signature: Signature) -> Violation | None:
    return _first(_given("pads_begin", signature), _given("pads_end", signature))


# What must not be there: an attribute, an input, a layout, a type, a rank that a text does not know.


@_constraint("without-auto-pad", "there is no padding mode")
def _(signature: Signature) -> Violation | None:
    return None if signature.auto_pad == AutoPad.EXPLICIT else _absent("auto_pad", signature)


@_constraint("without-output-shape", "there is no output_shape")
def _(signature: Signature) -> Violation | None:
    return _absent("output_shape", signature)


@_constraint("without-kernel-shape", "there is no kernel_shape")
def _(signature: Signature) -> Violation | None:
    return _absent("kernel_shape", signature)


@_constraint("without-groups", "there is no groups attribute")
def _(signature: Signature) -> Violation | None:
    return None if signature.groups == 1 else _absent("groups", signature)


@_constraint("without-bias", "there is no bias input")
def _(signature: Signature) -> Violation | None:
    return None if signature.b is None else Violation("bias", "must not be there", _show(signature.b.shape))


def _not_of_type(signature: Signature, dtype: DType) -> Violation | None:
    for name, operand in (("data", signature.x), ("filter", signature.w), ("bias", signature.b)):
        if operand is not None and operand.dtype == dtype:
            return Violation(name, f"must not be of type {dtype}", str(dtype))
    return None


@_constraint("without-bf16", "bfloat16 is not among the types")
def _(signature: Signature) -> Violation | None:
    return _not_of_type(signature, DType.BF16)


@_constraint("without-f64", "float64 is not among the types")
def _(signature: Signature) -> Violation | None:
    return _not_of_type(signature, DType.F64)


@_constraint("at-least-one-spatial-axis", "the data has rank 3 or greater")
def _(signature: Signature) -> Violation | None:
    rank = len(signature.x.shape)
    return None if rank > 2 else Violation("data", "must have rank 3 or greater", str(rank))  # noqa: PLR2004 - the text's 3


@_constraint("two-or-three-spatial-axes", "the data has two or three spatial axes")
def _(signature: Signature) -> Violation | None:
    rank = signature.rank
    return None if rank in (2, 3) else Violation("data", "must have two or three spatial axes", str(rank))


# Sizes that are zero.


@_constraint("batch-not-empty", "the batch is not empty")
def _(signature: Signature) -> Violation | None:
    return None if all(signature.x.shape[:1]) else Violation("data", "must have a batch that is not empty", "0")


@_constraint("channels-not-empty", "there are input and output channels")
def _(signature: Signature) -> Violation | None:
    if all(signature.x.shape[1:2]) and all(signature.w.shape[:2]):
        return None
    return Violation("data", "must have channels", "0")


@_constraint("spatial-not-empty", "no spatial size of the data is 0")
def _(signature: Signature) -> Violation | None:
    return None if all(signature.spatial) else Violation("data", "must have no empty axis", _show(signature.spatial))


@_constraint("kernel-not-empty", "no spatial size of the filter is 0")
def _(signature: Signature) -> Violation | None:
    return None if all(signature.kernel) else Violation("filter", "must have no empty axis", _show(signature.kernel))


def _needs_the_geometry(_signature: Signature) -> Violation | None:
    return None


for _name, _says in (
    ("output-not-empty", "no size of the output is 0"),
    ("output-size-non-negative", "no size of the output is below 0"),
):
    CONSTRAINTS[_name] = Constraint(_name, _says, _needs_the_geometry, needed=_name == "output-size-non-negative")

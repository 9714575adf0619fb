"""Every constraint that a text may state on attributes and operands: its meaning, and how a call breaks it.

A constraint on several values is not checked if one of them already breaks a constraint that it needs. For example, a
kernel_shape of the wrong length breaks its length constraint, but not `kernel-shape-matches`. Constraints on one value
are independent: `strides=[0]` on two axes breaks two of them.

A dialect says which constraints it states. `dialect.Dialect` finds words, layouts and types that it does not have, and
`geometry.resolve` finds the sizes of the output.
"""

from __future__ import annotations

from operator import lt
from typing import TYPE_CHECKING, NamedTuple

from tconv.errors import Violation
from tconv.vocabulary import AutoPad, DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.vocabulary import Ints, Signature

Breach = tuple[str, str, str, object]
"""A constraint, the attribute or input that breaks it, what must hold, and the value."""


class Constraint(NamedTuple):
    """A constraint.

    Attributes:
        of: its attribute or input; if a dialect has no word for that, the constraint cannot be broken.
        says: the constraint in words.
        needed: whether the operator has no value if it is broken.
    """

    of: str
    says: str
    needed: bool = False


_LISTS = {
    "strides": (("strides",), 1),
    "dilations": (("dilations",), 1),
    "pads": (("pads_begin", "pads_end"), 0),
    "output-padding": (("output_padding",), 0),
    "output-shape": (("output_shape",), 0),
    "kernel-shape": (("kernel_shape",), None),
}
"""Attributes with an entry for each spatial axis, and the least that a text may demand of an entry."""
_REQUIRED = ("strides", "dilations", "pads")
_SIGNS = {1: "positive", 0: "non-negative"}
_NEEDED_SIGNS = {"strides", "dilations", "output-shape"}

CONSTRAINTS = {
    **{
        f"{name}-length": Constraint(of[0], f"{name.replace('-', '_')} has an entry for each spatial axis", needed=True)
        for name, (of, _) in _LISTS.items()
    },
    **{
        f"{name}-{_SIGNS[least]}": Constraint(
            of[0], f"each entry of {name.replace('-', '_')} is {_SIGNS[least]}", needed=name in _NEEDED_SIGNS
        )
        for name, (of, least) in _LISTS.items()
        if least is not None
    },
    "groups-positive": Constraint("groups", "groups is positive", needed=True),
    "output-padding-below-stride-or-dilation": Constraint(
        "output_padding", "output_padding is less than the larger of stride and dilation of its axis"
    ),
    "output-padding-below-stride": Constraint(
        "output_padding", "output_padding is less than the stride of its axis, if no output_shape is given"
    ),
    "pads-without-auto-pad": Constraint("auto_pad", "pads are not written together with a padding mode"),
    "output-shape-leads-back": Constraint(
        "output_shape", "a convolution of output_shape, with this padding mode or these pads, gives the data's sizes"
    ),
    "kernel-shape-matches": Constraint("kernel_shape", "kernel_shape equals the filter's spatial shape", needed=True),
    "channels-divisible": Constraint("groups", "the number of input channels is divisible by groups", needed=True),
    "filter-channels-match": Constraint("filter", "the filter has as many input channels as the data", needed=True),
    "filter-rank-matches": Constraint("filter", "the filter has the rank of the data", needed=True),
    "bias-rank": Constraint("bias", "the bias has one dimension", needed=True),
    "bias-length": Constraint("bias", "the bias has an entry for each output channel", needed=True),
    "one-type": Constraint("filter", "all operands have the type of the data"),
    "auto-pad-known": Constraint("auto_pad", "auto_pad is one of the modes of the text", needed=True),
    "data-format-known": Constraint("data_format", "data_format is one of the layouts of the text", needed=True),
    "filter-format-known": Constraint("filter_format", "filter_format is one of the layouts of the text", needed=True),
    "type-known": Constraint("data", "the operands are of one of the types of the text"),
    **{f"{name}-given": Constraint(_LISTS[name][0][0], f"{name} are written") for name in _REQUIRED},
    "at-least-one-spatial-axis": Constraint("data", "the data has rank 3 or greater"),
    "two-spatial-axes": Constraint("data", "the data has two spatial axes"),
    "two-or-three-spatial-axes": Constraint("data", "the data has two or three spatial axes"),
    "at-most-three-spatial-axes": Constraint("data", "the data has rank 5 or less"),
    "batch-not-empty": Constraint("data", "the batch is not empty"),
    "channels-not-empty": Constraint("data", "there are input and output channels"),
    "spatial-not-empty": Constraint("data", "no spatial size of the data is 0"),
    "kernel-not-empty": Constraint("filter", "no spatial size of the filter is 0"),
    "output-not-empty": Constraint("output", "no size of the output is 0"),
    "output-size-non-negative": Constraint("output", "no size of the output is below 0", needed=True),
}
"""All constraints by name. If several are broken, the first one here is reported."""
_ORDER = {name: number for number, name in enumerate(CONSTRAINTS)}


def find_broken(signature: Signature) -> list[Violation]:
    """Return the constraints that a signature breaks, for any text: words must be of the vocabulary, types may be any."""
    found: dict[str, Breach] = {}
    for part in (_of_lists, _of_attributes, _of_operands, _of_sizes, _of_words):
        for breach in part(signature):
            found.setdefault(breach[0], breach)
    return [
        Violation(name, of, must, show_value(got))
        for name, of, must, got in sorted(found.values(), key=lambda b: _ORDER[b[0]])
    ]


def show_value(value: object) -> str:
    """Return a value as a user writes it."""
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _of_lists(signature: Signature) -> Iterator[Breach]:
    for name, (attributes, least) in _LISTS.items():
        for attribute in attributes:
            value = getattr(signature.attributes, attribute)
            if value is None:
                if name in _REQUIRED:
                    yield f"{name}-given", attribute, "must be written", "nothing"
                continue
            if len(value) != signature.rank:
                must = f"must have {_entries(signature.rank)}, one for each spatial axis"
                yield f"{name}-length", attribute, must, value
            if least is not None and min(value, default=least) < least:
                yield f"{name}-{_SIGNS[least]}", attribute, f"must have entries of at least {least}", value


def _of_attributes(signature: Signature) -> Iterator[Breach]:
    attributes, groups, mode = signature.attributes, signature.groups, signature.auto_pad
    if groups <= 0:
        yield "groups-positive", "groups", "must be at least 1", groups
    elif len(signature.x.shape) > 1 and signature.x.shape[1] % groups:
        yield "channels-divisible", "groups", f"must divide the {signature.x.shape[1]} input channels", groups
    strides, added, size = signature.per_axis("strides"), attributes.output_padding, attributes.output_shape
    larger = tuple(map(max, strides, signature.per_axis("dilations")))
    for name, what, limit, is_bounded in (
        ("output-padding-below-stride-or-dilation", "the larger of strides and dilations", larger, True),
        ("output-padding-below-stride", "strides", strides, size is None),
    ):
        if is_bounded and added is not None and len(added) == len(limit) and not all(map(lt, added, limit)):
            yield name, "output_padding", f"must be less than {what} {show_value(limit)}", added
    pads = attributes.pads_begin or attributes.pads_end
    if pads is not None and mode != AutoPad.EXPLICIT:
        yield "pads-without-auto-pad", "pads", f"must not be written together with auto_pad {mode}", pads
    kernel_shape = attributes.kernel_shape
    if kernel_shape is not None and len(kernel_shape) == len(signature.kernel) and kernel_shape != signature.kernel:
        must = f"must be the filter's spatial shape {show_value(signature.kernel)}"
        yield "kernel-shape-matches", "kernel_shape", must, kernel_shape
    if size is not None and (leads_to := _convolved(signature, size)) != signature.spatial:
        must = f"must be a shape of which a convolution makes {show_value(signature.spatial)}, and not {show_value(leads_to)}"
        yield "output-shape-leads-back", "output_shape", must, size


def _convolved(signature: Signature, size: Ints) -> Ints:
    """Return the spatial sizes that a convolution of an output gives; the data's if attributes do not allow one."""
    names = ("strides", "dilations", "pads_begin", "pads_end")
    lists = (size, signature.kernel, *map(signature.per_axis, names))
    if any(len(values) != signature.rank for values in lists) or min(lists[2], default=1) < 1:
        return signature.spatial
    axes = zip(*lists, strict=True)
    if signature.auto_pad in {AutoPad.SAME_UPPER, AutoPad.SAME_LOWER}:
        return tuple(-(-y // s) for y, _, s, *_ in axes)
    is_padded = signature.auto_pad == AutoPad.EXPLICIT
    return tuple((y + is_padded * (p + q) - (k - 1) * d - 1) // s + 1 for y, k, s, d, p, q in axes)


def _of_operands(signature: Signature) -> Iterator[Breach]:
    x, w, b, groups = signature.x, signature.w, signature.b, signature.groups
    if len(x.shape) < 2:  # noqa: PLR2004 - (N, C)
        yield "filter-channels-match", "data", "must have a batch and channels", f"rank {len(x.shape)}"
    elif w.shape[:1] != x.shape[1:2]:
        must = f"must have {show_value(x.shape[1:2])} input channels, as the data"
        yield "filter-channels-match", "filter", must, w.shape[:1]
    if len(w.shape) != len(x.shape):
        yield "filter-rank-matches", "filter", f"must have rank {len(x.shape)}, as the data", f"rank {len(w.shape)}"
    if b is not None and len(b.shape) != 1:
        yield "bias-rank", "bias", "must have one dimension", b.shape
    elif b is not None and len(w.shape) > 1 and groups > 0 and b.shape[0] != w.shape[1] * groups:
        must = f"must have {_entries(w.shape[1] * groups)}, one for each output channel"
        yield "bias-length", "bias", must, b.shape
    for name, operand in (("filter", w), ("bias", b)):
        if operand is not None and operand.dtype != x.dtype:
            yield "one-type", name, f"must have the data's type {x.dtype}", operand.dtype


def _of_sizes(signature: Signature) -> Iterator[Breach]:
    x, w, rank = signature.x.shape, signature.w.shape, signature.rank
    for name, must, holds, got in (
        ("at-least-one-spatial-axis", "must have rank 3 or greater", rank > 0, len(x)),
        ("two-spatial-axes", "must have two spatial axes", rank == 2, rank),  # noqa: PLR2004 - as it says
        ("two-or-three-spatial-axes", "must have two or three spatial axes", rank in {2, 3}, rank),
        ("at-most-three-spatial-axes", "must have rank 5 or less", rank <= 3, len(x)),  # noqa: PLR2004 - the text's 5
        ("batch-not-empty", "must have a batch that is not empty", all(x[:1]), 0),
        ("channels-not-empty", "must have channels", all(x[1:2]) and all(w[:2]), 0),
        ("spatial-not-empty", "must have no empty axis", all(x[2:]), x[2:]),
        ("kernel-not-empty", "must have no empty axis", all(w[2:]), w[2:]),
    ):
        if not holds:
            yield name, CONSTRAINTS[name].of, must, got


def _of_words(signature: Signature) -> Iterator[Breach]:
    for attribute, known in (("auto_pad", AutoPad), ("data_format", DataFormat), ("filter_format", FilterFormat)):
        word = getattr(signature.attributes, attribute)
        if word is not None and word not in set(known):
            name = f"{attribute.replace('_', '-')}-known"
            yield name, attribute, f"must be one of {', '.join(known)}", word

"""The resolver: from a signature and rules to plain integers, the same for every dialect and reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from tconv.dialects.rules import Negative, Odd, Same, Sized
from tconv.errors import Violation
from tconv.vocabulary import NEUTRAL, AutoPad, Ints

if TYPE_CHECKING:
    from tconv.dialects.rules import Rules
    from tconv.vocabulary import Signature


@dataclass(frozen=True, slots=True)
class Geometry:
    """A transposed convolution after all rules: o = i*stride + k*dilation - pads_begin, for 0 <= o < output.

    Every field except `groups` has one entry for each spatial axis. If `pads_begin` is negative, the output begins with
    points that no tap reaches.
    """

    spatial: Ints
    kernel: Ints
    strides: Ints
    dilations: Ints
    pads_begin: Ints
    output: Ints
    groups: int

    @property
    def full(self) -> Ints:
        """The size without cropping: (X-1)*s + (K-1)*d + 1."""
        return tuple(map(reach, self.spatial, self.kernel, self.strides, self.dilations))

    @property
    def pads_end(self) -> Ints:
        """The cropped elements at the end, less output_padding; it may be negative."""
        return tuple(f - begin - out for f, begin, out in zip(self.full, self.pads_begin, self.output, strict=True))


@dataclass(slots=True)
class _Inquiry:
    """A resolution in progress: the rules, and the questions that were asked so far, in their order.

    A question is asked only if its answer matters. So `resolution` knows which answers a signature depends on.
    """

    rules: Rules
    questions: dict[str, None] = field(default_factory=dict)

    def answer(self, question: str) -> Any:  # noqa: ANN401 - the type of the question's field in `Rules`
        """Note a question and return the rules' answer."""
        self.questions[question] = None
        return getattr(self.rules, question)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of resolving a signature under rules.

    Attributes:
        result: the geometry, or the constraint that is broken.
        questions: the questions of the rules whose answers it depends on, in the order in which they were asked.
    """

    result: Geometry | Violation
    questions: tuple[str, ...]


class _Axis(NamedTuple):
    """The attributes of one spatial axis, with defaults."""

    full: int
    spatial: int
    stride: int
    pad_begin: int
    pad_end: int
    output_padding: int
    output_shape: int | None

    @property
    def reachable(self) -> int:
        """The size without cropping, including output_padding."""
        return self.full + self.output_padding


def reach(spatial: int, kernel: int, stride: int, dilation: int) -> int:
    """Return (X-1)*s + (K-1)*d + 1, the size that the taps reach; for X = 0 it may be negative.

    Source: ONNX ConvTranspose-11, oneDNN and OpenVINO, the equation for output_shape[i] without pads.
    """
    return (spatial - 1) * stride + (kernel - 1) * dilation + 1


def resolve(signature: Signature, rules: Rules) -> Geometry | Violation:
    """Return the geometry of `signature` under `rules`, or the constraint that is broken; see `resolution`."""
    return resolution(signature, rules).result


def resolution(signature: Signature, rules: Rules) -> Resolution:
    """Return the geometry of `signature` under `rules`, with the questions that it depends on.

    Args:
        signature: attributes and operand types whose lists fit the rank, with positive strides and dilations.
        rules: an answer for each question.

    Returns:
        The geometry, or why there is none: a rule that refuses, or an output size below zero.
    """
    inquiry = _Inquiry(rules)
    result = _resolved(signature, inquiry)
    return Resolution(result, tuple(inquiry.questions))


def _resolved(signature: Signature, inquiry: _Inquiry) -> Geometry | Violation:
    strides, dilations = signature.per_axis("strides"), signature.per_axis("dilations")
    auto_pad = AutoPad(signature.auto_pad)
    written = zip(
        signature.spatial,
        signature.kernel,
        strides,
        dilations,
        signature.per_axis("pads_begin"),
        signature.per_axis("pads_end"),
        signature.per_axis("output_padding"),
        signature.attributes.output_shape or (None,) * signature.rank,
        strict=True,
    )
    begins, sizes = [], []
    for x, k, s, d, begin, end, op, size in written:
        axis = _Axis(reach(x, k, s, d), x, s, begin, end, op, size)
        window = _window(axis, auto_pad, inquiry)
        if isinstance(window, Violation):
            return window
        pads_begin, output = window
        if output < 0:
            return Violation("output-size-non-negative", "output", "must have no size below 0", str(output))
        begins.append(pads_begin)
        sizes.append(output)
    return Geometry(
        signature.spatial, signature.kernel, strides, dilations, tuple(begins), tuple(sizes), signature.groups
    )


def size_without_output_shape(signature: Signature, rules: Rules) -> Ints:
    """Return the sizes of a call without output_shape, for a dialect that must write it.

    An invalid signature has sizes too: lists are cut, or filled with neutral entries, and an unknown mode is ignored.
    """
    rank, mode = len(signature.spatial), signature.auto_pad
    lists = [(signature.kernel, 1), *((signature.per_axis(name), entry) for name, entry in NEUTRAL.items())]
    axes = zip(signature.spatial, *((*values, *[entry] * rank)[:rank] for values, entry in lists), strict=True)
    known = AutoPad(mode) if mode in set(AutoPad) else AutoPad.EXPLICIT
    windows = (
        _window(_Axis(reach(x, k, s, d), x, s, begin, end, op, None), known, _Inquiry(rules))
        for x, k, s, d, begin, end, op in axes
    )
    return tuple(0 if isinstance(window, Violation) else window[1] for window in windows)


def _window(axis: _Axis, auto_pad: AutoPad, inquiry: _Inquiry) -> tuple[int, int] | Violation:
    """Return (pads_begin, output size) of one axis."""
    if axis.output_shape is not None:
        return _sized(axis, axis.output_shape, auto_pad, inquiry)
    match auto_pad:
        case AutoPad.EXPLICIT:
            return axis.pad_begin, axis.reachable - axis.pad_begin - axis.pad_end
        case AutoPad.VALID:
            return 0, axis.reachable
        case AutoPad.SAME_UPPER | AutoPad.SAME_LOWER:
            return _same(axis, auto_pad, inquiry)
        case _:
            assert_never(auto_pad)


def _sized(axis: _Axis, size: int, auto_pad: AutoPad, inquiry: _Inquiry) -> tuple[int, int] | Violation:
    """Return (pads_begin, output size) if output_shape is written."""
    if auto_pad is AutoPad.VALID and inquiry.answer("sized_valid") is Sized.KEPT:
        return 0, size
    if auto_pad is AutoPad.EXPLICIT and inquiry.answer("sized_explicit") is Sized.KEPT:
        return axis.pad_begin, size
    return _distributed(axis, size, _ODD_SIZED[auto_pad], "negative_sized", inquiry)


def _same(axis: _Axis, auto_pad: AutoPad, inquiry: _Inquiry) -> tuple[int, int] | Violation:
    """Return (pads_begin, output size) under SAME_* without output_shape."""
    same: Same = inquiry.answer("same")
    match same:
        case Same.INPUT_TIMES_STRIDE:
            size = axis.spatial * axis.stride
        case Same.KERNEL_LESS_STRIDE:
            size = axis.spatial * axis.stride + axis.output_padding
        case Same.INPUT_SIZE:
            size = axis.spatial
        case Same.NO_PADDING:
            return 0, axis.reachable
        case _:
            assert_never(same)
    return _distributed(axis, size, _ODD_SAME[auto_pad], "negative_same", inquiry)


_ODD_SAME = {AutoPad.SAME_UPPER: "odd_upper", AutoPad.SAME_LOWER: "odd_lower"}
_ODD_SIZED = {
    AutoPad.EXPLICIT: "odd_sized",
    AutoPad.VALID: "odd_sized",
    AutoPad.SAME_UPPER: "odd_sized_upper",
    AutoPad.SAME_LOWER: "odd_sized_lower",
}


def _distributed(
    axis: _Axis, size: int, odd_question: str, negative_question: str, inquiry: _Inquiry
) -> tuple[int, int] | Violation:
    """Return (pads_begin, output size); the elements beyond `size` are cropped on both sides."""
    total = axis.reachable - size
    if total >= 0:
        return _begin(total, odd_question, inquiry), size
    negative: Negative = inquiry.answer(negative_question)
    match negative:
        case Negative.FLOOR:
            return _begin(total, odd_question, inquiry), size
        case Negative.TRUNCATE:
            return -_begin(-total, odd_question, inquiry), size
        case Negative.APPEND:
            return 0, size
        case Negative.SHRINK:
            return 0, axis.reachable
        case Negative.REFUSE:
            return Violation(
                "total-padding-non-negative", "output", "must need no padding below 0", f"a total padding of {total}"
            )
        case _:
            assert_never(negative)


def _begin(total: int, odd_question: str, inquiry: _Inquiry) -> int:
    """Return the padding at the beginning: half of the total, and the odd unit if the rules put it there."""
    half = total // 2
    if total == 2 * half:
        return half
    odd: Odd = inquiry.answer(odd_question)
    return half if odd is Odd.END else total - half

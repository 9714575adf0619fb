"""The catalogue of misreadings: the distinct ways to get a transposed convolution wrong that no text allows.

Each is a row: a name, one sentence, where it was seen, and a change of what is written, of the geometry, of the
operands or of the result. The reference evaluated under a misreading is the same reference: nothing here computes.
A foreign answer to a question of `rules`, one that only another text gives, is a misreading too; see `of`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.dialects import DIALECTS
from tconv.geometry import NoGeometry, resolve
from tconv.readings import AnswerOtherwise
from tconv.rules import QUESTIONS
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.dialects import Dialect
    from tconv.geometry import Geometry
    from tconv.vocabulary import Attributes, Ints, Signature

Array = np.ndarray[Any, np.dtype[Any]]
Operands = dict[str, Array]
"""x, w and perhaps b, in float64, NCX and IOX."""


@dataclass(frozen=True, slots=True)
class WrittenOtherwise:
    """Attributes are taken for others."""

    change: Callable[[Attributes], Attributes]


@dataclass(frozen=True, slots=True)
class PlacedOtherwise:
    """The geometry is another one than the rules give."""

    change: Callable[[Geometry, Signature], Geometry]


@dataclass(frozen=True, slots=True)
class OperandsOtherwise:
    """Operands are taken for others of the same shapes."""

    change: Callable[[Operands, Geometry], Operands]


@dataclass(frozen=True, slots=True)
class ResultOtherwise:
    """The output is another one of the same shape."""

    change: Callable[[Array, Geometry], Array]


Change = AnswerOtherwise | WrittenOtherwise | PlacedOtherwise | OperandsOtherwise | ResultOtherwise


@dataclass(frozen=True, slots=True)
class Misreading:
    """A way to get it wrong.

    Attributes:
        name: stable, readable; it stands in records.
        says: the misreading in one sentence, as something that the runtime does.
        seen: where it was seen in the wild; empty where that is not known.
        change: what it changes.
    """

    name: str
    says: str
    change: Change
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Imagined:
    """What a misreading makes of a call.

    Attributes:
        geometry: the geometry that would be computed.
        operands: the operands that would be taken.
        finish: what would be made of the output; None for nothing.
    """

    geometry: Geometry
    operands: Operands
    finish: Callable[[Array, Geometry], Array] | None = None


def imagined(misread: Sequence[Misreading], signature: Signature, row: Dialect, operands: Operands) -> Imagined | None:
    """Return what misreadings, together, make of a call; None where they change nothing, or leave no output."""
    changes = [one.change for one in misread]
    plain = resolve(signature, row.rules)
    geometry = _geometry(changes, signature, row)
    if isinstance(geometry, NoGeometry) or isinstance(plain, NoGeometry) or min(geometry.output, default=0) < 0:
        return None
    taken = operands
    for change in changes:
        if isinstance(change, OperandsOtherwise):
            taken = change.change(taken, geometry)
    finish = next((change.change for change in changes if isinstance(change, ResultOtherwise)), None)
    if geometry == plain and taken is operands and finish is None:
        return None
    return Imagined(geometry, taken, finish)


def _geometry(changes: Sequence[Change], signature: Signature, row: Dialect) -> Geometry | NoGeometry:
    rules, attributes = row.rules, signature.attributes
    for change in changes:
        if isinstance(change, AnswerOtherwise):
            answered: dict[str, Any] = {change.question: change.answer}
            rules = replace(rules, **answered)
        elif isinstance(change, WrittenOtherwise):
            attributes = change.change(attributes)
    geometry = resolve(replace(signature, attributes=attributes), rules)
    for change in changes:
        if isinstance(change, PlacedOtherwise) and not isinstance(geometry, NoGeometry):
            geometry = change.change(geometry, signature)
    return geometry


@cache
def of(dialect_name: str) -> tuple[Misreading, ...]:
    """Return the misreadings of a dialect: answers that its text does not allow, and those of the catalogue."""
    row = DIALECTS[dialect_name]
    allowed = {(reading.change.question, reading.change.answer) for reading in row.disputed}
    foreign = [
        Misreading(f"{question}={answer}", f"{question} is answered by {answer}", AnswerOtherwise(question, answer))
        for question in QUESTIONS
        for answer in type(getattr(row.rules, question))
        if answer != getattr(row.rules, question) and (question, answer) not in allowed
    ]
    return (*foreign, *CATALOGUE)


# What is written.


def _first(name: str) -> Callable[[Attributes], Attributes]:
    """Return what takes the first axis's value for all."""

    def change(attributes: Attributes) -> Attributes:
        value: Ints | None = getattr(attributes, name)
        first: dict[str, Any] = {name: (value[0],) * len(value)} if value else {}
        return replace(attributes, **first)

    return change


def _reversed(*names: str) -> Callable[[Attributes], Attributes]:
    """Return what takes axes in the other order."""

    def change(attributes: Attributes) -> Attributes:
        values: dict[str, Any] = {
            name: value[::-1] for name in names if (value := getattr(attributes, name)) is not None
        }
        return replace(attributes, **values)

    return change


def _without(*names: str) -> Callable[[Attributes], Attributes]:
    """Return what overlooks attributes."""
    return lambda attributes: replace(attributes, **dict.fromkeys(names))


def _exchanged(one: str, two: str) -> Callable[[Attributes], Attributes]:
    """Return what takes two attributes for each other."""
    return lambda a: replace(a, **{one: getattr(a, two), two: getattr(a, one)})


def _upper_for_lower(attributes: Attributes) -> Attributes:
    mode = attributes.auto_pad
    return attributes if mode is None else replace(attributes, auto_pad=_OTHER_MODE.get(mode, mode))


_OTHER_MODE: dict[str, str] = {
    AutoPad.SAME_UPPER: AutoPad.SAME_LOWER,
    AutoPad.SAME_LOWER: AutoPad.SAME_UPPER,
}


def _pads(attributes: Attributes) -> tuple[Ints, Ints] | None:
    begin, end = attributes.pads_begin, attributes.pads_end
    if begin is None and end is None:
        return None
    zeros = (0,) * len(begin or end or ())
    return begin or zeros, end or zeros


def _interleaved(attributes: Attributes) -> Attributes:
    if (pads := _pads(attributes)) is None:
        return attributes
    flat = (*pads[0], *pads[1])
    return replace(attributes, pads_begin=flat[::2], pads_end=flat[1::2])


def _symmetric(attributes: Attributes) -> Attributes:
    if (pads := _pads(attributes)) is None:
        return attributes
    return replace(attributes, pads_begin=pads[0], pads_end=pads[0])


# The geometry.


def _op(signature: Signature) -> Ints:
    return signature.per_axis("output_padding", 0)


def _op_at_the_beginning(geometry: Geometry, signature: Signature) -> Geometry:
    return replace(geometry, pads_begin=_minus(geometry.pads_begin, _op(signature)))


def _minus(one: Ints, two: Ints) -> Ints:
    return tuple(a - b for a, b in zip(one, two, strict=True))


def _pads_added(geometry: Geometry, signature: Signature) -> Geometry:
    begin, end = signature.per_axis("pads_begin", 0), signature.per_axis("pads_end", 0)
    if signature.auto_pad != AutoPad.EXPLICIT or signature.attributes.output_shape is not None:
        return geometry
    output = tuple(o + 2 * (p + q) for o, p, q in zip(geometry.output, begin, end, strict=True))
    return replace(geometry, pads_begin=tuple(-p for p in begin), output=output)


def _shifted(by: int) -> Callable[[Geometry, Signature], Geometry]:
    return lambda geometry, _: replace(geometry, pads_begin=tuple(p + by for p in geometry.pads_begin))


# Operands.


def _filter(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    def changed(operands: Operands, geometry: Geometry) -> Operands:
        w = change(operands["w"], geometry)
        return operands if w is None or w is operands["w"] else operands | {"w": w}

    return OperandsOtherwise(changed)


def _data(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    def changed(operands: Operands, geometry: Geometry) -> Operands:
        x = change(operands["x"], geometry)
        return operands if x is None else operands | {"x": x}

    return OperandsOtherwise(changed)


def _bias(change: Callable[[Array, Geometry], Array]) -> OperandsOtherwise:
    def changed(operands: Operands, geometry: Geometry) -> Operands:
        return operands if "b" not in operands else operands | {"b": change(operands["b"], geometry)}

    return OperandsOtherwise(changed)


def _flipped(w: Array, geometry: Geometry) -> Array | None:
    return None if prod(geometry.kernel) < _SEVERAL else np.flip(w, axis=tuple(range(2, w.ndim)))


_SEVERAL = 2


def _axes_turned(w: Array, _: Geometry) -> Array | None:
    turned = w.transpose(0, 1, *range(w.ndim - 1, 1, -1))
    return turned if w.ndim > _PLAIN + 1 and turned.shape == w.shape else None


_PLAIN = 2


def _channels_exchanged(w: Array, geometry: Geometry) -> Array | None:
    groups, inputs = geometry.groups, w.shape[0] // geometry.groups
    if inputs != w.shape[1] or inputs < _SEVERAL:
        return None
    return w.reshape(groups, inputs, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def _read_as_xoi(w: Array, geometry: Geometry) -> Array | None:
    if prod(geometry.kernel) < _SEVERAL or prod(w.shape[:2]) < _SEVERAL:
        return None
    memory = np.ascontiguousarray(w).reshape(*geometry.kernel, w.shape[1], w.shape[0])
    return np.moveaxis(memory, (-1, -2), (0, 1))


def _read_as_nxc(x: Array, geometry: Geometry) -> Array | None:
    if x.shape[1] < _SEVERAL or prod(geometry.spatial) < _SEVERAL:
        return None
    return np.moveaxis(np.ascontiguousarray(x).reshape(x.shape[0], *x.shape[2:], x.shape[1]), -1, 1)


def _of_groups(order: Callable[[int], list[int]]) -> Callable[[Array, Geometry], Array | None]:
    """Return what takes the filters of groups in another order."""

    def change(w: Array, geometry: Geometry) -> Array | None:
        if geometry.groups < _SEVERAL:
            return None
        parts = w.reshape(geometry.groups, w.shape[0] // geometry.groups, *w.shape[1:])
        return parts[order(geometry.groups)].reshape(w.shape)

    return change


def _channels_dealt(array: Array, geometry: Geometry, axis: int) -> Array | None:
    """Return channels dealt to groups one by one, as cards are."""
    count = array.shape[axis]
    if geometry.groups in {1, count}:
        return None
    return np.take(array, np.arange(count).reshape(-1, geometry.groups).T.ravel(), axis=axis)


def _tap_dropped(at: int) -> Callable[[Array, Geometry], Array | None]:
    def change(w: Array, geometry: Geometry) -> Array | None:
        if not prod(geometry.kernel):
            return None
        dropped = w.copy()
        dropped.reshape(*w.shape[:2], prod(geometry.kernel))[:, :, at] = 0
        return dropped

    return change


def _last_column_dropped(w: Array, geometry: Geometry) -> Array | None:
    if not prod(geometry.kernel):
        return None
    dropped = w.copy()
    dropped[..., -1] = 0
    return dropped


def _groups_turned(operands: Operands, geometry: Geometry) -> Operands:
    """Return data and filter with the groups in the other order, so that their outputs are; the bias stays."""
    if geometry.groups < _SEVERAL:
        return operands
    x, w, share = operands["x"], operands["w"], operands["w"].shape[0] // geometry.groups
    in_groups = (
        x.reshape(x.shape[0], geometry.groups, share, *x.shape[2:]),
        w.reshape(geometry.groups, share, *w.shape[1:]),
    )
    x, w = np.flip(in_groups[0], 1).reshape(x.shape), np.flip(in_groups[1], 0).reshape(w.shape)
    return operands | {"x": x, "w": w}


def _last_inputs_dropped(w: Array, geometry: Geometry) -> Array | None:
    inputs = w.shape[0] // geometry.groups
    if inputs < _SEVERAL:
        return None
    dropped = w.copy().reshape(geometry.groups, inputs, *w.shape[1:])
    dropped[:, -1] = 0
    return dropped.reshape(w.shape)


def _without_bias(operands: Operands, _: Geometry) -> Operands:
    return {role: array for role, array in operands.items() if role != "b"} if "b" in operands else operands


def _rounded(kind: str) -> Callable[[Operands, Geometry], Operands]:
    """Return what rounds data and filter to fewer bits, to nearest even."""
    bits = {"tf32": 11, "bf16": 8}[kind]

    def change(operands: Operands, _: Geometry) -> Operands:
        return operands | {role: _to_bits(operands[role], bits) for role in ("x", "w")}

    return change


def _to_bits(array: Array, bits: int) -> Array:
    mantissa, exponent = np.frexp(array)
    rounded: Array = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return rounded


# The result.


def _out_channels_dealt(y: Array, geometry: Geometry) -> Array:
    dealt = _channels_dealt(y, geometry, 1)
    return y if dealt is None else dealt


def _first_item_repeated(y: Array, _: Geometry) -> Array:
    return np.broadcast_to(y[:1], y.shape)


def _tail_of_channels(width: int) -> Callable[[Array, Geometry], Array]:
    """Return what leaves the channels beyond the last full block at zero, where there is a full one."""

    def change(y: Array, _: Geometry) -> Array:
        if y.shape[1] < width or y.shape[1] % width == 0:
            return y
        cut = y.copy()
        cut[:, y.shape[1] - y.shape[1] % width :] = 0
        return cut

    return change


def _tail_of_a_long_axis(y: Array, _: Geometry) -> Array:
    cut = y.copy()
    cut[..., _LONG:] = 0
    return cut


_LONG = 2048


def _turned(y: Array, _: Geometry) -> Array:
    turned = y.transpose(0, 1, *range(y.ndim - 1, 1, -1))
    return turned if turned.shape == y.shape else y


CATALOGUE: tuple[Misreading, ...] = (
    Misreading("pads-ignored", "pads are overlooked", WrittenOtherwise(_without("pads_begin", "pads_end"))),
    Misreading(
        "pads-exchanged", "pads of begin and end are exchanged", WrittenOtherwise(_exchanged("pads_begin", "pads_end"))
    ),
    Misreading(
        "pads-interleaved",
        "the list of pads is read as begin and end of each axis in turn",
        WrittenOtherwise(_interleaved),
    ),
    Misreading("pads-symmetric", "the pads of the beginning are used on both sides", WrittenOtherwise(_symmetric)),
    Misreading(
        "pads-axes-reversed",
        "pads are taken for the axes in the other order",
        WrittenOtherwise(_reversed("pads_begin", "pads_end")),
    ),
    Misreading("pads-added", "pads enlarge the output, as those of a convolution do", PlacedOtherwise(_pads_added)),
    Misreading("output-padding-ignored", "output_padding is overlooked", WrittenOtherwise(_without("output_padding"))),
    Misreading(
        "output-padding-at-the-beginning",
        "output_padding is added at the beginning",
        PlacedOtherwise(_op_at_the_beginning),
    ),
    Misreading(
        "output-padding-axes-reversed",
        "output_padding is taken for the axes in the other order",
        WrittenOtherwise(_reversed("output_padding")),
    ),
    Misreading("strides-ignored", "every stride is 1", WrittenOtherwise(_without("strides"))),
    Misreading(
        "strides-of-the-first-axis", "the first stride is used on every axis", WrittenOtherwise(_first("strides"))
    ),
    Misreading(
        "strides-axes-reversed",
        "strides are taken for the axes in the other order",
        WrittenOtherwise(_reversed("strides")),
    ),
    Misreading("dilations-ignored", "every dilation is 1", WrittenOtherwise(_without("dilations"))),
    Misreading(
        "dilations-of-the-first-axis",
        "the first dilation is used on every axis",
        WrittenOtherwise(_first("dilations")),
    ),
    Misreading(
        "dilations-axes-reversed",
        "dilations are taken for the axes in the other order",
        WrittenOtherwise(_reversed("dilations")),
    ),
    Misreading(
        "strides-for-dilations",
        "strides and dilations are exchanged",
        WrittenOtherwise(_exchanged("strides", "dilations")),
    ),
    Misreading("auto-pad-ignored", "the padding mode is overlooked", WrittenOtherwise(_without("auto_pad"))),
    Misreading("upper-for-lower", "SAME_UPPER and SAME_LOWER are exchanged", WrittenOtherwise(_upper_for_lower)),
    Misreading("output-shape-ignored", "output_shape is overlooked", WrittenOtherwise(_without("output_shape"))),
    Misreading("one-too-early", "the output begins one element too early", PlacedOtherwise(_shifted(-1))),
    Misreading("one-too-late", "the output begins one element too late", PlacedOtherwise(_shifted(1))),
    Misreading(
        "filter-flipped",
        "the filter's taps are taken in the other order, as a correlation takes them",
        _filter(_flipped),
    ),
    Misreading(
        "filter-axes-exchanged", "the filter's spatial axes are taken in the other order", _filter(_axes_turned)
    ),
    Misreading(
        "filter-channels-exchanged",
        "the filter's input and output channels are exchanged",
        _filter(_channels_exchanged),
    ),
    Misreading("filter-read-as-xoi", "the memory of an IOX filter is read as XOI", _filter(_read_as_xoi)),
    Misreading("data-read-as-nxc", "the memory of NCX data is read as NXC", _data(_read_as_nxc)),
    Misreading(
        "groups-reversed",
        "the filters of groups are taken in the other order",
        _filter(_of_groups(lambda n: list(range(n))[::-1])),
    ),
    Misreading(
        "group-outputs-reversed",
        "the outputs of groups are in the other order, the bias is not",
        OperandsOtherwise(_groups_turned),
    ),
    Misreading(
        "groups-share-the-first-filter",
        "every group uses the first one's filter",
        _filter(_of_groups(lambda n: [0] * n)),
    ),
    Misreading(
        "input-channels-dealt",
        "input channels are dealt to the groups one by one",
        _data(lambda x, g: _channels_dealt(x, g, 1)),
    ),
    Misreading(
        "output-channels-dealt", "output channels of groups are dealt one by one", ResultOtherwise(_out_channels_dealt)
    ),
    Misreading("bias-ignored", "the bias is overlooked", OperandsOtherwise(_without_bias)),
    Misreading("bias-doubled", "the bias is added twice", _bias(lambda b, _: 2 * b)),
    Misreading(
        "bias-of-the-first-channel",
        "every channel has the first one's bias",
        _bias(lambda b, _: np.broadcast_to(b[:1], b.shape)),
    ),
    Misreading(
        "bias-of-the-next-channel", "every channel has its neighbour's bias", _bias(lambda b, _: np.roll(b, -1))
    ),
    Misreading(
        "bias-of-the-first-group",
        "every group has the first one's bias",
        _bias(lambda b, g: np.tile(b[: len(b) // g.groups], g.groups)),
        "onnx ReferenceEvaluator 1.23",
    ),
    Misreading("first-tap-dropped", "the first tap is left out", _filter(_tap_dropped(0))),
    Misreading("last-tap-dropped", "the last tap is left out", _filter(_tap_dropped(-1))),
    Misreading("last-column-dropped", "the last taps along the last axis are left out", _filter(_last_column_dropped)),
    Misreading(
        "last-input-channel-dropped", "the last input channel of a group is left out", _filter(_last_inputs_dropped)
    ),
    Misreading(
        "batch-repeats-the-first", "every item of the batch is the first one's", ResultOtherwise(_first_item_repeated)
    ),
    Misreading(
        "channels-beyond-eight-are-zero",
        "channels beyond the last full block of 8 stay zero",
        ResultOtherwise(_tail_of_channels(8)),
    ),
    Misreading(
        "channels-beyond-sixteen-are-zero",
        "channels beyond the last full block of 16 stay zero",
        ResultOtherwise(_tail_of_channels(16)),
    ),
    Misreading(
        "long-axis-ends-at-2048",
        "elements beyond 2048 of the last axis stay zero",
        ResultOtherwise(_tail_of_a_long_axis),
    ),
    Misreading("output-axes-exchanged", "the output's spatial axes are in the other order", ResultOtherwise(_turned)),
    Misreading(
        "operands-rounded-to-tf32",
        "data and filter are rounded to the 11 bits of TF32",
        OperandsOtherwise(_rounded("tf32")),
    ),
    Misreading(
        "operands-rounded-to-bf16",
        "data and filter are rounded to the 8 bits of bfloat16",
        OperandsOtherwise(_rounded("bf16")),
    ),
)
"""All of them, what is written first; the simplest that explains an output is named first."""

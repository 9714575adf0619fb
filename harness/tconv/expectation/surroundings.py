"""The graph of a case in a context, with its arrays: this module writes every level of a context.

Numbers are integers times powers of two, and factors are powers of two, so that every sum is exact in f32 in any order.
Quanta of a filter are small and even, except at full range. The reason is that a processor without VNNI adds two
products of int8 in 16 bits. So libraries halve a filter, or let sums of large products saturate. With uneven scales f32
rounds, so an output is only known to one step.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.call import Input, express
from tconv.cases.case import Case, Operand
from tconv.cases.context import LIMITS, ROUNDED, SMOOTH, Grid, Quantisation
from tconv.cases.graph import OPERATOR, Graph, Node
from tconv.cases.layouts import data_shape, filter_shape
from tconv.cases.operands import NUMPY_TYPES, make_operand
from tconv.expectation.operations import evaluate
from tconv.expectation.surrounded import WIDE, Surrounded, geometry_of, output_of_another
from tconv.vocabulary import Attributes, DataFormat, DType, FilterFormat, Quantised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.call import Call
    from tconv.vocabulary import Array, Float64s, Ints

_SPANS = {"x": 7, "w": 3}
"""The largest integers of data and filter, if their values are small."""
_ROUNDED_SPANS = {"x": 99, "w": 31}
"""The same if the output is rounded to f16: most sums then have more bits than f16."""
_SPANS_OF_QUANTA = {"x": 100, "w": 31}
"""The same if scales are not simple. Two products of uint8 data and such a filter with even quanta fit into 16 bits."""
_LARGEST = {Quantised.INT8: 128, Quantised.UINT8: 256}
"""The largest value of a quantised output is at most so many steps from zero, and more than half as many: a few
saturate.
"""
_STEP = 3.0
"""A step of a quantised output is this factor times a power of two: most values are rounded, and ties stay exact."""
_END_ZERO_POINTS = {Quantised.INT8: 20, Quantised.UINT8: 128}
_DATA_SCALE = 2.0**-1
_FILTER_SCALE = 2.0**-2
_ADDED_SCALE = 2.0**-3
"""All scales differ, so that the use of a wrong one is visible."""
_CHANNEL_SCALES = (2.0**-1, 2.0**-2, 2.0**0)
_UNEVEN = Quantisation(Grid((0.0235,)), Grid((0.0071, 0.0193, 0.0437)))
"""Uneven scales; the scale of the output depends on its values."""
_UNEVEN_STEP = 1.0371
_FACTORS = (2.0, -0.5, 4.0, 1.0)
_NORMAL_FACTORS = (4.0, -0.5, 2.0, 1.0)
_SLOPES = (0.5, 0.25, 2.0)
_EPSILON = 2.0**-10
_VARIANCES = (4.0 - _EPSILON, 16.0 - _EPSILON, 1.0 - _EPSILON)
"""Each is a square of a power of two if `_EPSILON` is added."""
_EXPORTED_FACTORS = (0.03, -0.017, 0.2, 1.1)
_EXPORTED_EPSILON = float(np.float32(1e-5))
"""That of torch and TensorFlow's exporters, as ONNX stores it."""
_EXPORTED_VARIANCES = (1e-4, 5e-5, 0.02)
"""Of the first channels so small that a wrong epsilon changes a value by a part of a hundred."""


def surround(case: Case, call: Call, output: Ints) -> Surrounded:
    """Return a call in the context of its case.

    Args:
        case: the case.
        call: the call of the operator alone, in NCX and IOX.
        output: the shape of the operator's output under the primary readings, (N, O, Y...).

    Raises:
        Invalid: the dialect has no second operator like that of the context.
    """
    return _Builder(case, call, output).built()


class _Builder:
    """A graph that is built from its inputs to its output."""

    def __init__(self, case: Case, call: Call, output: Ints) -> None:
        self._case, self._call, self._output, self._context = case, call, output, case.context
        self._arrays: dict[str, Array] = {}
        self._tensors: list[Input] = []
        self._nodes: list[Node] = []
        self._also: tuple[str, ...] = ()
        is_smooth = self._context.activation in SMOOTH
        is_rounded = self._context.end == "f16" and self._context.values != "wide-filter"
        self._declared = case.quantisation or Quantisation()
        exact = _ROUNDED_SPANS if is_rounded else _SPANS
        if self._context.scales != "simple" and self._context.values != "wide-filter":
            exact = _SPANS_OF_QUANTA
        self._spans = dict.fromkeys(_SPANS, 1) if is_smooth else exact

    def built(self) -> Surrounded:
        """Return the call with its graph."""
        x, x_scale = self._data()
        w, w_scale = self._filter()
        bias = self._bias(x_scale * w_scale)
        has_input = self._context.bias != "add"
        operands = (x, w, bias) if bias is not None and has_input else (x, w)
        is_first = self._context.use == "beside-uncropped"
        point = self._channels_last(self._point(x, w, uncropped=True)) if is_first else ""
        y = operator = self._operator(self._call, *operands, sizes=self._sizes())
        if bias is not None and self._context.bias == "add":
            y = self._node("Add", y, bias)
        if self._context.filter == "shared":
            y = self._node("Add", y, self._point(x, w))
        if self._context.use == "beside":
            y = self._node("Sub", y, self._operator(self._call, x, self._beside(), *operands[2:]))
        for level in (self._arithmetic, self._activation, self._use):
            y = level(y)
        y = self._node("Add", y, point) if point else y
        y = self._end(y)
        # Readers see the name of the output, so it has its own.
        last = self._nodes[-1]
        self._nodes[-1] = replace(last, outputs=("Y",)) if last.outputs == (y,) else last
        operator = "Y" if operator == y else operator
        graph = Graph(tuple(self._nodes), "Y", self._also)
        inputs = tuple(map(self._in_layout, self._tensors))
        return Surrounded(replace(self._call, inputs=inputs, graph=graph), self._arrays, operator, self._steps)

    @property
    def _steps(self) -> int:
        """The steps by which a quantised output may be off: an operator on quanta also has factors in fixed point.

        Source: TensorFlow Lite 8-bit quantization specification, 'slight deviations [...] that are not bit-exact'.
        """
        return int(self._case.is_uneven or bool(self._call.dialect.quantised))

    def _in_layout(self, tensor: Input) -> Input:
        """Return data or filter in the layout of the call; layouts differ only if nothing else has these axes."""
        call, shape = self._call, tensor.shape
        if tensor.role == "X":
            shape = data_shape(shape, call.data_format)
        if tensor.role == "W" and call.filter_format != FilterFormat.IOX:
            shape = filter_shape(shape, call.filter_format, call.groups)
        return replace(tensor, shape=shape)

    def _tensor(self, name: str, array: Float64s, dtype: DType | Quantised = DType.F32, *, fed: bool = False) -> str:
        """Add an input of the graph, or a constant."""
        self._arrays[name] = array.astype(NUMPY_TYPES[dtype] if isinstance(dtype, DType) else np.dtype(dtype))
        self._tensors.append(Input(name, name, self._arrays[name].shape, dtype, constant=not fed))
        return name

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:  # noqa: ANN401 - as an operation has them
        """Add a node; return the name of its output."""
        name = f"t{len(self._nodes)}"
        self._nodes.append(Node(kind, inputs, (name,), attributes))
        return name

    def _operator(self, call: Call, *inputs: str, sizes: str = "") -> str:
        name = f"t{len(self._nodes)}"
        sized = (*inputs, sizes) if sizes else inputs
        self._nodes.append(Node(OPERATOR, sized, (name,), {"sizes": sizes} if sizes else {}, call))
        return name

    def _integers(self, name: str, shape: Ints, span: int) -> Float64s:
        """Return integers from -span to span without 0; they depend only on the name, the shape and the case's seed."""
        operand = Operand(shape, DType.F64, "integers", self._case.x.seed)
        return np.array(make_operand(name, operand, span))

    @property
    def _rank(self) -> int:
        return len(self._output) - 2

    def channelwise(self, values: Sequence[float]) -> Float64s:
        """Return values repeated for all output channels, in a shape that broadcasts along them."""
        channels = self._output[1]
        return np.resize(np.array(values), channels).reshape(1, channels, *[1] * self._rank)

    # The data.

    def _data(self) -> tuple[str, float]:
        """Return the operator's data, and the scale of its quanta, 1 if it has none."""
        context = self._context
        if context.data == "float":
            values = self._integers("x", self._case.x.shape, self._span("x", 127))
            return self._before(self._tensor("X", self._input(values), fed=True)), 1.0
        dtype = Quantised.UINT8 if context.data == "uint8" else Quantised.INT8
        quanta, zero_point = self._quanta(dtype)
        scale = np.float64(np.float32(self._grid("x", _DATA_SCALE)[0]))
        is_fed = context.data == "int8-input"
        values = quanta if is_fed else (quanta - zero_point) * scale
        x = self._tensor("X", self._input(values), dtype if is_fed else DType.F32, fed=True)
        scales = (self._tensor("x_scale", np.array(scale)), self._tensor("x_zero_point", zero_point, dtype))
        if is_fed:
            return self._before(self._node("Dequantize", x, *scales)), scale
        x = self._node("Quantize", self._before(x), *scales, dtype=str(dtype))
        return self._node("Dequantize", x, *scales), scale

    def _grid(self, role: str, *simple: float) -> tuple[float, ...]:
        """Return the scales of quanta: those of the case, or those of its level."""
        declared, uneven = (getattr(of, role) for of in (self._declared, _UNEVEN))
        if declared is not None:
            return tuple(declared.scale)
        return tuple(uneven.scale) if self._context.scales == "uneven" else simple

    def _zero_point(self, role: str, of_level: int) -> int:
        declared = getattr(self._declared, role)
        return of_level if declared is None or declared.zero_point is None else int(declared.zero_point)

    def _written(self, role: str) -> Float64s | None:
        """Return the quanta in the case itself; None if its levels decide them."""
        operand: Operand = getattr(self._case, role)
        return np.array(make_operand(role, operand, 1), np.float64) if operand.data == "values" else None

    def _span(self, role: str, full: int) -> int:
        return full if self._context.values == "full-range" else self._spans[role]

    def _quanta(self, dtype: Quantised) -> tuple[Float64s, Float64s]:
        """Return quantised data and its zero point."""
        low, high = LIMITS[dtype]
        zero_point = {"int8-zero-point": 3, "uint8": 128, "int8-input": -3}.get(self._context.data, 0)
        zero_point = self._zero_point("x", zero_point)
        if (written := self._written("x")) is not None:
            return written, np.array(float(zero_point))
        if self._context.values == "full-range":
            numbers = self._integers("x", self._case.x.shape, 127)
            return _full_range(numbers + (0 if low < 0 else 128), low, high), np.array(float(zero_point))
        numbers = self._integers("x", self._case.x.shape, self._spans["x"])
        if self._context.values == "zero-points-at-ends":
            # With a filter without negative numbers all results have one sign, so the output must have the same one.
            is_low = self._context.data == "int8-zero-point"
            is_low = self._context.end == "uint8" if self._context.filter == "uint8" else is_low
            zero_point = low if is_low else high
            numbers = np.abs(numbers) * (1 if zero_point == low else -1)
        return numbers + zero_point, np.array(float(zero_point))

    def _input(self, x: Float64s) -> Float64s:
        """Return the input of the graph from which the operations before the operator make its data."""
        match self._context.before:
            case "pad-begin" | "pad-both" | "pad-channels":
                index = [
                    slice(begin, size - end) for begin, end, size in zip(*self._pads(x.shape), x.shape, strict=True)
                ]
                return x[tuple(index)]
            case "concat":
                return x[:, : self._first_channels]
            case "resize":
                return x[tuple(slice(None, None, scale) for scale in self._scales(x.shape))]
        return x

    def _pads(self, shape: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of zeros before and behind the data on each axis: 0 if no data would be left."""
        axes = [1] if self._context.before == "pad-channels" else list(range(2, len(shape)))
        begin, end = [0] * len(shape), [0] * len(shape)
        for axis in axes:
            # The axes have different pads; at least one element is left.
            begin[axis] = min(1 + (axis == axes[-1]), shape[axis] - 1)
            end[axis] = int(self._context.before == "pad-both" and shape[axis] - begin[axis] > 1)
        return tuple(begin), tuple(end)

    @staticmethod
    def _scales(shape: Ints) -> Ints:
        """Return the scale of each axis: 2 for a spatial axis of an even size, and 1 for others."""
        return tuple(2 if axis > 1 and size and size % 2 == 0 else 1 for axis, size in enumerate(shape))

    @property
    def _first_channels(self) -> int:
        return -(-self._case.x.shape[1] // 2)

    def _before(self, x: str) -> str:
        """Add the operations before the operator, which make its data from the input."""
        shape, rank = self._case.x.shape, self._rank
        match self._context.before:
            case "pad-begin" | "pad-both" | "pad-channels":
                begin, end = self._pads(shape)
                return self._node("Pad", x, begin=begin, end=end)
            case "transpose":
                back = (0, rank + 1, *range(1, rank + 1))
                there = (0, *range(2, rank + 2), 1)
                return self._node("Transpose", self._node("Transpose", x, axes=there), axes=back)
            case "conv":
                channels = shape[1]
                taps = np.eye(channels) - np.roll(np.eye(channels), 1, axis=1) * (channels > 1)
                w = self._tensor("W_before", taps.reshape(channels, channels, *[1] * rank))
                return self._node("Conv", x, w, rank=rank)
            case "concat":
                others = shape[1] - self._first_channels
                more = self._integers("x/more", (shape[0], others, *shape[2:]), self._spans["x"])
                scale = 1.0 if self._context.data == "float" else self._grid("x", _DATA_SCALE)[0]
                if not others:
                    return self._node("Concat", x, axis=1)
                return self._node("Concat", x, self._tensor("X_more", more * scale, fed=True), axis=1)
            case "relu":
                return self._node("Relu", x)
            case "resize":
                return self._node("Resize", x, scales=self._scales(shape))
        return x

    # The filter and the bias.

    def _filter(self) -> tuple[str, Float64s]:
        """Return the operator's filter, and the scales of its quanta for the output channels of a group."""
        shape, level = self._case.w.shape, self._context.filter
        values = self._weights()
        if level in {"int8", "int8-per-channel", "uint8"}:
            return self._quantised_filter(values)
        one = np.ones(shape[1])
        if level == "input":
            return self._tensor("W", values, fed=True), one
        w = self._tensor("W", self._stored(values))
        match level:
            case "node":
                w = self._node("Constant", w)
            case "identity":
                w = self._node("Identity", w)
            case "reshape":
                w = self._node("Reshape", w, shape=shape)
            case "transpose":
                w = self._node("Transpose", w, axes=(1, 0, *range(2, len(shape))))
            case "cast":
                self._arrays["W"] = self._arrays["W"].astype(np.float16)
                self._tensors[-1] = replace(self._tensors[-1], dtype=DType.F16)
                w = self._node("Cast", w, to="f32")
        return w, one

    def _weights(self) -> Float64s:
        """Return the integers of the filter."""
        shape, level = self._case.w.shape, self._context.values
        values = self._integers("w", shape, self._span("w", 127))
        if level == "wide-filter":
            values[:, ::2] *= WIDE
        if level == "zero-channel":
            values[:, 0] = 0.0
        return values

    def _stored(self, values: Float64s) -> Float64s:
        """Return the filter as it is stored, before the node that gives it its shape."""
        if self._context.filter == "reshape":
            return values.reshape(-1)
        return values.swapaxes(0, 1) if self._context.filter == "transpose" else values

    def _quantised_filter(self, values: Float64s) -> tuple[str, Float64s]:
        context, outputs = self._context, values.shape[1]
        dtype = Quantised.UINT8 if context.filter == "uint8" else Quantised.INT8
        zero_point = self._zero_point("w", 128 if context.filter == "uint8" else 0)
        if (written := self._written("w")) is not None:
            quanta = written
        elif context.values == "full-range":
            low, high = LIMITS[dtype]
            # An operator on quanta has a symmetric filter.
            low = max(low, -high) if self._call.dialect.quantised else low
            quanta = _full_range(values + zero_point, low, high)
        else:
            if context.values == "zero-points-at-ends" and context.filter == "uint8":
                zero_point, values = 0, np.abs(values)
            quanta = 2 * values + zero_point
        declared = self._declared.w
        is_vector = context.filter == "int8-per-channel" or (declared is not None and len(declared.scale) > 1)
        simple = _CHANNEL_SCALES if is_vector else (_FILTER_SCALE,)
        scales = np.array(self._grid("w", *simple)).astype(np.float32).astype(np.float64)
        scale = np.resize(scales, outputs) if is_vector else np.array(scales[-1])
        names = (
            self._tensor("W", quanta, dtype),
            self._tensor("w_scale", scale),
            self._tensor("w_zero_point", np.full(scale.shape, float(zero_point)), dtype),
        )
        return self._node("Dequantize", *names, axis=1), np.broadcast_to(scale, (outputs,)).astype(np.float64)

    def _bias(self, scales: Float64s) -> str | None:
        """Return the bias; `scales` are those of sums of quanta, for the output channels of a group."""
        if self._case.b is None:
            return None
        channels, level = self._output[1], self._context.bias
        values = self._integers("b", (channels,), 3 if self._case.is_uneven else 15)
        if level == "int32":
            scale = np.resize(scales, channels).astype(np.float32).astype(np.float64)
            quanta = np.rint(values / scale) if (written := self._written("b")) is None else written
            names = (
                self._tensor("B", quanta, Quantised.INT32),
                self._tensor("b_scale", scale),
                self._tensor("b_zero_point", np.zeros(channels), Quantised.INT32),
            )
            return self._node("Dequantize", *names, axis=0)
        if level == "add":
            return self._tensor("B", values.reshape(1, channels, *[1] * self._rank))
        if level == "node":
            more = self._integers("b/more", (channels,), 7)
            return self._node("Add", self._tensor("B", values - more), self._tensor("B_more", more))
        return self._tensor("B", values)

    # The operations behind the operator.

    def _sizes(self) -> str:
        """Return output_shape, computed from the shape of another tensor; empty if it is given."""
        if self._context.sizes == "given":
            return ""
        like = self._tensor("like", np.zeros(self._output), fed=True)
        shape, rank = self._node("Shape", like), len(self._output)
        parts = [self._node("Slice", shape, axes=(0,), starts=(axis,), ends=(axis + 1,)) for axis in range(2, rank)]
        return self._node("Concat", *parts, axis=0)

    def _channels_last(self, y: str) -> str:
        return self._node("Transpose", y, axes=(0, *range(2, self._rank + 2), 1))

    def _point(self, x: str, w: str, *, uncropped: bool = False) -> str:
        """Return one point of another operator with the same data and filter, and without pads.

        Its strides are 1. With `uncropped` it has the other attributes too, so that its output is larger.
        """
        call = self._other(self._case.x.shape, self._case.w.shape, self._call.groups)
        if uncropped:
            given = self._case.attributes
            call = self._expressed(
                replace(given, pads_begin=None, pads_end=None, auto_pad=None, output_shape=None, kernel_shape=None),
                self._case.x.shape,
                self._case.w.shape,
            )
        y = self._operator(call, x, w)
        middle = [size // 2 for size in geometry_of(call, self._case.x.shape).output]
        axes = tuple(range(2, len(self._output)))
        return self._node("Slice", y, axes=axes, starts=tuple(middle), ends=tuple(at + 1 for at in middle))

    def _beside(self) -> str:
        """Return the filter of a second operator with the same data and attributes."""
        return self._tensor("W_beside", self._integers("w/beside", self._case.w.shape, self._spans["w"]))

    def _other(self, x: Ints, w: Ints, groups: int = 1, strides: int = 1) -> Call:
        """Return the call of another operator of the graph.

        Raises:
            Invalid: the dialect has no such operator.
        """
        rank = len(x) - 2
        attributes = Attributes(
            strides=(strides,) * rank,
            groups=groups if self._case.attributes.groups is not None else None,
            data_format=str(DataFormat.NCX),
            filter_format=str(FilterFormat.IOX),
        )
        return self._expressed(attributes, x, w)

    def _expressed(self, attributes: Attributes, x: Ints, w: Ints) -> Call:
        return express(Case("other", attributes, Operand(x, DType.F32), Operand(w, DType.F32)), self._call.dialect)

    def _arithmetic(self, y: str) -> str:
        level, tensor = self._context.arithmetic, self._tensor
        if level in {"add-tensor", "add-tensor-first"}:
            inputs = (y, self._other_tensor("added"))
            return self._node("Add", *(inputs if level == "add-tensor" else reversed(inputs)))
        if level in {"batch-normalization", ROUNDED}:
            channels, is_rounded = self._output[1], level == ROUNDED
            names = (
                tensor("bn_scale", np.resize(_EXPORTED_FACTORS if is_rounded else _NORMAL_FACTORS, channels)),
                tensor("bn_shift", self.channel_integers().reshape(-1)),
                tensor("bn_mean", self._integers("mean", (channels,), 4)),
                tensor("bn_variance", np.resize(_EXPORTED_VARIANCES if is_rounded else _VARIANCES, channels)),
            )
            epsilon = _EXPORTED_EPSILON if is_rounded else _EPSILON
            return self._node("BatchNormalization", y, *names, epsilon=epsilon)
        if level == "none":
            return y
        kind, constant = _ARITHMETIC[level]
        return self._node(kind, y, tensor(kind.lower(), constant(self)))

    def batch_integers(self) -> Float64s:
        """Return integers for the items of the batch, in a shape that broadcasts along them."""
        return self._integers("batch", (self._output[0], *[1] * (self._rank + 1)), 5)

    def channel_integers(self) -> Float64s:
        """Return integers for the output channels, in a shape that broadcasts along them."""
        return self.channelwise(self._integers("channels", (self._output[1],), 5).tolist())

    def _other_tensor(self, name: str) -> str:
        """Return a tensor of the output's size; it is dequantised if the data is."""
        values = self._integers(name, self._output, 9)
        if self._context.data == "float":
            return self._tensor(name, values, fed=True)
        scale, zero_point = np.array(_ADDED_SCALE), np.array(1.0)
        quanta = self._tensor(name, values / scale + zero_point, Quantised.INT8, fed=True)
        names = (self._tensor(f"{name}_scale", scale), self._tensor(f"{name}_zero_point", zero_point, Quantised.INT8))
        return self._node("Dequantize", quanta, *names)

    def _activation(self, y: str) -> str:
        level = self._context.activation
        if level == "none":
            return y
        if level == "prelu":
            slopes = np.resize(_SLOPES, self._output[1]).reshape(-1, *[1] * self._rank)
            return self._node("PRelu", y, self._tensor("slope", slopes))
        kind, attributes = _ACTIVATIONS[level]
        return self._node(kind, y, **attributes)

    def _use(self, y: str) -> str:
        shape, rank = self._output, self._rank
        match self._context.use:
            case "concat-channels" | "concat-spatial":
                other = self._tensor("skip", self._integers("skip", shape, 9), fed=True)
                return self._node("Concat", y, other, axis=1 if self._context.use == "concat-channels" else rank + 1)
            case "slice-channels":
                return self._node("Slice", y, axes=(1,), starts=(int(shape[1] > 1),), ends=(shape[1],))
            case "slice-spatial":
                starts = tuple(int(size > 1) for size in shape[2:])
                return self._node("Slice", y, axes=tuple(range(2, rank + 2)), starts=starts, ends=shape[2:])
            case "split-channels":
                sizes = (1, shape[1] - 1) if shape[1] > 1 else (1,)
                names = tuple(f"t{len(self._nodes)}_{part}" for part in range(len(sizes)))
                self._nodes.append(Node("Split", (y,), names, {"axis": 1, "sizes": sizes}))
                return self._node("Concat", *reversed(names), axis=1)
            case "fixed-shape":
                return self._node("Add", y, self._tensor("fixed", self._integers("fixed", shape, 9)))
            case "two-consumers":
                self._also = (y,)
                return self._node("Concat", y, self._node("Relu", y), axis=1)
            case "second-operator":
                w = (shape[1], 2, *[2] * rank)
                second = self._tensor("W_second", self._integers("w/second", w, 2))
                return self._operator(self._other(shape, w, strides=2), y, second)
            case "reshape":
                return self._node("Reshape", y, shape=(shape[0], -1))
            case "transpose" | "beside-uncropped":
                return self._channels_last(y)
        return y

    def _end(self, y: str) -> str:
        match self._context.end:
            case "f16":
                return self._node("Cast", self._node("Cast", y, to="f16"), to="f32")
            case "int8" | "uint8":
                dtype = Quantised(self._context.end)
                zero_point = _END_ZERO_POINTS[dtype]
                if self._context.values == "zero-points-at-ends":
                    zero_point = LIMITS[dtype][dtype is Quantised.INT8]
                zero_point = self._zero_point("y", zero_point)
                declared = self._declared.y
                scale_of_y = declared.scale[0] if declared else self._end_scale(y, dtype)
                scale = self._tensor("y_scale", np.array(scale_of_y))
                zero = self._tensor("y_zero_point", np.array(float(zero_point)), dtype)
                return self._node("Quantize", y, scale, zero, dtype=str(dtype))
        return y

    def _end_scale(self, y: str, dtype: Quantised) -> float:
        """Return the scale of a quantised output."""
        values = evaluate(Graph(tuple(self._nodes), y), self._arrays, output_of_another)[y]
        largest = float(np.abs(values).max()) if values.size else 0.0
        if self._context.scales == "uneven" and largest:
            return _UNEVEN_STEP * largest / _LARGEST[dtype]
        step = 1.0 if self._context.scales == "powers-of-two" else _STEP
        return step * 2.0 ** ceil(log2(largest / (step * _LARGEST[dtype]))) if largest else step


def _full_range(quanta: Float64s, low: int, high: int) -> Float64s:
    """Return quanta within their limits; the first two are the limits themselves."""
    quanta = np.clip(quanta, low, high)
    quanta.flat[: min(2, quanta.size)] = (low, high)[: min(2, quanta.size)]
    return quanta


_ARITHMETIC: Mapping[str, tuple[str, Callable[[_Builder], Float64s]]] = {
    "mul-channel": ("Mul", lambda graph: graph.channelwise(_FACTORS)),
    "mul": ("Mul", lambda _: np.array([0.5])),
    "div": ("Div", lambda _: np.array([4.0])),
    "add-channel": ("Add", lambda graph: graph.channel_integers()),
    "add": ("Add", lambda _: np.array([3.0])),
    "add-batch": ("Add", lambda graph: graph.batch_integers()),
    "sub": ("Sub", lambda graph: graph.channel_integers()),
    "max": ("Max", lambda graph: graph.channel_integers()),
}
"""The operation on the output and its constant, by level."""
_ACTIVATIONS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "relu": ("Relu", {}),
    "clip": ("Clip", {"min": -6.0, "max": 24.0}),
    "leaky-relu": ("LeakyRelu", {"alpha": 0.5}),
    "hard-sigmoid": ("HardSigmoid", {"alpha": 0.25, "beta": 0.5}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "elu": ("Elu", {"alpha": 1.0}),
    "hard-swish": ("HardSwish", {}),
}

"""LiteRT, the runtime of TFLite models, on the CPU: a model of one TRANSPOSE_CONV is written, read and run.

A graph of Quantize and Dequantize around the operator becomes one quantised TRANSPOSE_CONV, as TensorFlow's converter
writes it: its tensors have the scales and zero points. A QUANTIZE converts data in floating point.
"""

from __future__ import annotations

import struct
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tconv.backends import BackendInfo, Option
from tconv.backends.options import with_defaults
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.shown_texts import one_line
from tconv.vocabulary import DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_edge_litert.interpreter import OpResolverType

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call, Input
    from tconv.vocabulary import Array

_KERNELS = {"auto": "AUTO", "builtin": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "reference": "BUILTIN_REF"}
_TYPES: dict[DType | Quantised | None, str] = {
    None: "INT32",
    DType.F32: "FLOAT32",
    DType.F16: "FLOAT16",
    DType.BF16: "BFLOAT16",
    DType.F64: "FLOAT64",
    Quantised.INT8: "INT8",
    Quantised.UINT8: "UINT8",
    Quantised.INT32: "INT32",
}
_ORDER = ("output_shape", "w", "x", "b")
_UNKNOWN = 7
"""A padding that the schema does not have, for words that are not in the text."""


class LiteRt:
    """A new interpreter for each call, on one thread.

    Args:
        options: values of `OPTIONS`, by name.
    """

    DIALECTS = ("tflite/TransposeConv",)
    OPTIONS: ClassVar = (
        Option("kernels", "auto takes XNNPACK's if it has them, reference the slow ones", "auto", tuple(_KERNELS)),
    )

    def __init__(self, **options: str) -> None:
        from ai_edge_litert.interpreter import OpResolverType

        self._kernels = with_defaults(self.OPTIONS, options)["kernels"]
        self._resolver = getattr(OpResolverType, _KERNELS[self._kernels])

    def info(self) -> BackendInfo:
        """Return LiteRT's version and its kernels."""
        kernels = {"kernels": self._kernels}
        return BackendInfo("litert", version("ai-edge-litert"), self.DIALECTS, kernels, contexts=True)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Write the model, read it, feed it, run it. Any exception of the interpreter is a refusal."""
        if call.shapes == "unranked":
            return Unsupported("a tensor of a TFLite model has a rank")
        try:
            inputs, output = inputs_of(call, arrays)
            model = model_of(inputs, output, call.attributes, symbolic=call.shapes == "symbolic")
        except (OverflowError, TypeError, struct.error):
            return Unsupported("integers of a TFLite model have 32 bits")
        try:
            fed = [given.fed if given.fed is not None else given.array for given in inputs if not given.constant]
            return Produced(inferred(model, fed, self._resolver))
        except (RuntimeError, ValueError, TypeError) as error:
            return Refused(one_line(str(error)))


class Grid(NamedTuple):
    """The scales and zero points of a quantised tensor, along the first axis if there are several."""

    scales: Array
    zero_points: Array


class Given(NamedTuple):
    """A tensor of the operator.

    Attributes:
        name: its name.
        array: its numbers; empty for the output.
        data_type: the name of its element type.
        constant: whether it is a constant.
        grid: its scales and zero points; None if it is not quantised.
        fed: the data in floating point, if a QUANTIZE converts it.
    """

    name: str
    array: Array
    data_type: str
    constant: bool = False
    grid: Grid | None = None
    fed: Array | None = None


def inputs_of(call: Call, arrays: Mapping[str, Array]) -> tuple[list[Given], Given]:
    """Return the inputs of a call, in the operator's order, and its output.

    Raises:
        OverflowError: the output's shape does not fit into 32 bits.
    """
    nothing = np.empty(0)
    if call.graph is None:
        inputs = [
            Given(tensor.name, array, _TYPES[tensor.dtype], tensor.constant)
            for tensor in _in_order(call)
            for array in [_size(tensor) if tensor.dtype is None else np.ascontiguousarray(arrays[tensor.role])]
        ]
        return inputs, Given("output", nothing, inputs[2].data_type)
    made = {node.outputs[0]: node for node in call.graph.nodes}
    operator = next(node for node in call.graph.nodes if node.call is not None)
    end, types = made[call.graph.output], {tensor.name: tensor.dtype for tensor in call.inputs}
    constant = {tensor.name: tensor.constant for tensor in call.inputs}
    assert operator.call is not None  # noqa: S101 - it is one

    operands = dict(zip(("x", "w", "b"), operator.inputs, strict=False))

    def given(name: str, of: Input) -> Given:
        """Return an operand, which is the output of a Dequantize."""
        quanta, scale, zero_point = made[name].inputs
        grid = Grid(np.atleast_1d(arrays[scale]), np.atleast_1d(arrays[zero_point]))
        if of.role == "b" and arrays[made[operands["w"]].inputs[1]].ndim == 0:
            # If the filter has one scale, the bias has one too.
            grid = Grid(grid.scales[:1], grid.zero_points[:1])
        if quanta in types:
            return Given(of.name, np.ascontiguousarray(arrays[quanta]), _TYPES[types[quanta]], constant[quanta], grid)
        fed = np.ascontiguousarray(arrays[made[quanta].inputs[0]])
        return Given(of.name, fed, _TYPES[types[zero_point]], constant=False, grid=grid, fed=fed)

    inputs = [
        Given(tensor.name, _size(tensor), _TYPES[None], tensor.constant)
        if tensor.dtype is None
        else given(operands[tensor.role], tensor)
        for tensor in _in_order(operator.call)
    ]
    grid = Grid(*(np.atleast_1d(arrays[name]) for name in end.inputs[1:]))
    return inputs, Given("output", nothing, _TYPES[types[end.inputs[2]]], grid=grid)


def _in_order(call: Call) -> list[Input]:
    return sorted(call.inputs, key=lambda tensor: _ORDER.index(tensor.role))


def _size(tensor: Input) -> Array:
    return np.array(tensor.values, np.int32)


def inferred(model: bytes, fed: Sequence[Array], resolver: OpResolverType) -> Array:
    """Return the output of a model."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=model, num_threads=1, experimental_op_resolver_type=resolver)
    indices = [detail["index"] for detail in interpreter.get_input_details()]
    for index, array in zip(indices, fed, strict=True):
        interpreter.resize_tensor_input(index, array.shape)
    interpreter.allocate_tensors()
    for index, array in zip(indices, fed, strict=True):
        interpreter.set_tensor(index, array)
    interpreter.invoke()
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


def model_of(inputs: Sequence[Given], output: Given, attributes: Mapping[str, Any], *, symbolic: bool = False) -> bytes:
    """Return the model of one operator: constants in buffers, the others as inputs of its graph.

    Args:
        inputs: in the operator's order.
        output: its output.
        attributes: padding, stride_h and stride_w; a stride that is not there is 0.
        symbolic: whether no size of data, filter and bias is declared.
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT()], [graph]
    graph.tensors, graph.inputs, graph.operators, model.operatorCodes = [], [], [], []

    def declared(given: Given) -> int:
        """Add a tensor; return its number."""
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer = given.name, list(given.array.shape) if given.array.size else [], 0
        tensor.type = getattr(schema.TensorType, given.data_type)
        if given.grid is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = given.grid.scales.astype(np.float32)
            tensor.quantization.zeroPoint = given.grid.zero_points.astype(np.int64)
            # Output channels are the first axis of a filter, and the only one of a bias.
            tensor.quantization.quantizedDimension = 0
        if symbolic and given.array.size and not given.constant and given.name != "output_shape":
            tensor.shapeSignature = [-1] * given.array.ndim
        graph.tensors.append(tensor)
        return len(graph.tensors) - 1

    def operate(kind: str, version: int, inputs: list[int], output: int) -> schema.OperatorT:
        code, operator = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, kind)
        code.version = version
        model.operatorCodes.append(code)
        operator.inputs, operator.outputs = inputs, [output]
        operator.opcodeIndex = len(model.operatorCodes) - 1
        graph.operators.append(operator)
        return operator

    numbers = []
    for given in inputs:
        number = declared(given)
        numbers.append(number)
        if given.constant:
            data = schema.BufferT()
            data.data = np.frombuffer(given.array.tobytes(), np.uint8)
            model.buffers.append(data)
            graph.tensors[number].buffer = len(model.buffers) - 1
        elif given.fed is not None:
            number_of_fed = declared(Given(f"{given.name}_float", given.fed, _TYPES[DType.F32]))
            graph.inputs.append(number_of_fed)
            operate("QUANTIZE", 1, [number_of_fed], number)
        else:
            graph.inputs.append(number)
    graph.outputs = [declared(output)]
    # Version 3 has a bias.
    operator, options = operate("TRANSPOSE_CONV", 3, numbers, graph.outputs[0]), schema.TransposeConvOptionsT()
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.TransposeConvOptions, options
    options.padding = getattr(schema.Padding, attributes["padding"], _UNKNOWN)
    options.strideH, options.strideW = attributes.get("stride_h", 0), attributes.get("stride_w", 0)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())

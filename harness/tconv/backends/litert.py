"""LiteRT, the runtime of TFLite models, on the CPU: a model of one TRANSPOSE_CONV is written, read and run."""

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
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_KERNELS = {"auto": "AUTO", "builtin": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "reference": "BUILTIN_REF"}
_TYPES: dict[DType | Quantised | None, str] = {
    None: "INT32",
    DType.F32: "FLOAT32",
    DType.F16: "FLOAT16",
    DType.BF16: "BFLOAT16",
    DType.F64: "FLOAT64",
}
_ORDER = ("output_shape", "w", "x", "b")
_UNKNOWN = 7
"""A padding that the schema does not have, for words that are none of the text's."""


class LiteRt:
    """An interpreter of its own for each call, on one thread.

    Args:
        options: values of `OPTIONS`, by name.
    """

    DIALECTS = ("tflite/TransposeConv",)
    OPTIONS: ClassVar = (
        Option("kernels", "auto takes XNNPACK's where it has them, reference the slow ones", "auto", tuple(_KERNELS)),
    )

    def __init__(self, **options: str) -> None:
        from ai_edge_litert.interpreter import OpResolverType

        self._kernels = with_defaults(self.OPTIONS, options)["kernels"]
        self._resolver = getattr(OpResolverType, _KERNELS[self._kernels])

    def info(self) -> BackendInfo:
        """Return LiteRT's version and its kernels."""
        return BackendInfo("litert", version("ai-edge-litert"), self.DIALECTS, {"kernels": self._kernels})

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Write the model, read it, feed it, run it. Any exception of the interpreter's is a refusal."""
        if call.shapes == "unranked":
            return Unsupported("a tensor of a TFLite model has a rank")
        try:
            inputs = inputs_of(call, arrays)
            model = model_of(inputs, call.attributes, symbolic=call.shapes == "symbolic")
        except (OverflowError, TypeError, struct.error):
            return Unsupported("integers of a TFLite model have 32 bits")
        try:
            return Produced(inferred(model, [given.array for given in inputs if not given.constant], self._resolver))
        except (RuntimeError, ValueError, TypeError) as error:
            return Refused(one_line(str(error)))


class Given(NamedTuple):
    """An input of the operator: its name, its array, the name of its element type, and whether it is a constant."""

    name: str
    array: Array
    data_type: str
    constant: bool = False


def inputs_of(call: Call, arrays: Mapping[str, Array]) -> list[Given]:
    """Return the inputs of a call, in the operator's order.

    Raises:
        OverflowError: the output's shape does not fit into 32 bits.
    """
    return [
        Given(
            tensor.name,
            np.array(tensor.values, np.int32) if tensor.dtype is None else np.ascontiguousarray(arrays[tensor.role]),
            _TYPES[tensor.dtype],
            tensor.constant,
        )
        for tensor in sorted(call.inputs, key=lambda tensor: _ORDER.index(tensor.role))
    ]


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


def model_of(inputs: Sequence[Given], attributes: Mapping[str, Any], *, symbolic: bool = False) -> bytes:
    """Return the model of one operator: constants in buffers, the others as inputs of its graph.

    Args:
        inputs: in the operator's order.
        attributes: padding, stride_h and stride_w; a stride that is not there is 0.
        symbolic: whether no size of data, filter and bias is declared.
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    def declared(name: str, shape: tuple[int, ...], data_type: str) -> schema.TensorT:
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.buffer = name, list(shape), 0
        tensor.type = getattr(schema.TensorType, data_type)
        return tensor

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT()], [graph]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.TRANSPOSE_CONV
    # Version 3 has a bias.
    code.version = 3
    model.operatorCodes = [code]
    graph.tensors, graph.inputs = [], []
    for number, given in enumerate(inputs):
        tensor = declared(given.name, given.array.shape, given.data_type)
        if given.constant:
            data = schema.BufferT()
            data.data = np.frombuffer(given.array.tobytes(), np.uint8)
            model.buffers.append(data)
            tensor.buffer = len(model.buffers) - 1
        else:
            graph.inputs.append(number)
            if symbolic and given.data_type != _TYPES[None]:
                tensor.shapeSignature = [-1] * given.array.ndim
        graph.tensors.append(tensor)
    graph.tensors.append(declared("output", (), inputs[2].data_type))
    graph.outputs = [len(inputs)]
    operator, options = schema.OperatorT(), schema.TransposeConvOptionsT()
    operator.inputs, operator.outputs, operator.opcodeIndex = list(range(len(inputs))), graph.outputs, 0
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.TransposeConvOptions, options
    options.padding = getattr(schema.Padding, attributes["padding"], _UNKNOWN)
    options.strideH, options.strideW = attributes.get("stride_h", 0), attributes.get("stride_w", 0)
    graph.operators = [operator]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())

"""LiteRT, the runtime of TFLite models, on the CPU: a model of one TRANSPOSE_CONV is written, read and run."""

from __future__ import annotations

import struct
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tconv.backends import BackendInfo, Option
from tconv.backends.options import with_defaults
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.shown_texts import one_line
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call, Input
    from tconv.vocabulary import Array

_KERNELS = {
    "auto": OpResolverType.AUTO,
    "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "reference": OpResolverType.BUILTIN_REF,
}
_TYPES = {
    None: schema.TensorType.INT32,
    DType.F32: schema.TensorType.FLOAT32,
    DType.F16: schema.TensorType.FLOAT16,
    DType.BF16: schema.TensorType.BFLOAT16,
    DType.F64: schema.TensorType.FLOAT64,
}
_ORDER = ("output_shape", "w", "x", "b")
_PADDING = {"SAME": schema.Padding.SAME, "VALID": schema.Padding.VALID}
_UNKNOWN = 7
"""A padding that the schema does not have, for words that are none of the text's."""


class LiteRt:
    """An interpreter of its own for each call, on one thread.

    Args:
        options: values of `OPTIONS`, by name.
    """

    OPTIONS: ClassVar = (
        Option("kernels", "auto takes XNNPACK's where it has them, reference the slow ones", "auto", tuple(_KERNELS)),
    )

    def __init__(self, **options: str) -> None:
        self._kernels = with_defaults(self.OPTIONS, options)["kernels"]

    def info(self) -> BackendInfo:
        """Return LiteRT's version and its kernels."""
        return BackendInfo("litert", version("ai-edge-litert"), ("tflite/TransposeConv",), {"kernels": self._kernels})

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Write the model, read it, feed it, run it. Any exception of the interpreter's is a refusal."""
        if call.shapes == "unranked":
            return Unsupported("a tensor of a TFLite model has a rank")
        operands = {role: np.ascontiguousarray(array) for role, array in arrays.items()}
        try:
            for tensor in call.inputs:
                if tensor.role == "output_shape":
                    operands["output_shape"] = np.array(tensor.values, dtype=np.int32)
            model = _model(call, operands)
        except (OverflowError, TypeError, struct.error):
            return Unsupported("integers of a TFLite model have 32 bits")
        try:
            interpreter = Interpreter(
                model_content=model,
                num_threads=1,
                experimental_op_resolver_type=_KERNELS[self._kernels],
            )
            fed = [operands[tensor.role] for tensor in _in_order(call) if not tensor.constant]
            indices = [detail["index"] for detail in interpreter.get_input_details()]
            for index, array in zip(indices, fed, strict=True):
                interpreter.resize_tensor_input(index, array.shape)
            interpreter.allocate_tensors()
            for index, array in zip(indices, fed, strict=True):
                interpreter.set_tensor(index, array)
            interpreter.invoke()
            return Produced(np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])))
        except (RuntimeError, ValueError, TypeError) as error:
            return Refused(one_line(str(error)))


def _in_order(call: Call) -> list[Input]:
    return sorted(call.inputs, key=lambda tensor: _ORDER.index(tensor.role))


def _model(call: Call, operands: Mapping[str, Array]) -> bytes:
    """Return the model: constants in buffers, the others as inputs of its graph."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT()], [graph]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.TRANSPOSE_CONV
    # Version 3 has a bias.
    code.version = 3
    model.operatorCodes = [code]
    graph.tensors, graph.inputs = [], []
    inputs = _in_order(call)
    for number, given in enumerate(inputs):
        tensor = _tensor(given.name, operands[given.role].shape, given.dtype)
        if given.constant:
            data = schema.BufferT()
            data.data = np.frombuffer(operands[given.role].tobytes(), np.uint8)
            model.buffers.append(data)
            tensor.buffer = len(model.buffers) - 1
        else:
            graph.inputs.append(number)
            if call.shapes == "symbolic" and given.role != "output_shape":
                tensor.shapeSignature = [-1] * len(given.shape)
        graph.tensors.append(tensor)
    graph.tensors.append(_tensor("output", (), call.dtype))
    graph.outputs = [len(inputs)]
    graph.operators = [_operator(call, list(range(len(inputs))))]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(name: str, shape: tuple[int, ...], dtype: DType | None) -> schema.TensorT:
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.type, tensor.buffer = name, list(shape), _TYPES[dtype], 0
    return tensor


def _operator(call: Call, inputs: list[int]) -> schema.OperatorT:
    operator, options = schema.OperatorT(), schema.TransposeConvOptionsT()
    operator.inputs, operator.outputs, operator.opcodeIndex = inputs, [len(inputs)], 0
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.TransposeConvOptions, options
    options.padding = _PADDING.get(str(call.attributes["padding"]), _UNKNOWN)
    options.strideH, options.strideW = (call.attributes.get(f"stride_{axis}", 0) for axis in "hw")
    return operator

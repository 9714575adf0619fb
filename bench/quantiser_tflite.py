"""The models of TensorFlow's converter, and LiteRT's output for them with each of its sets of kernels."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "TF_ENABLE_ONEDNN_OPTS": "0"}

import flatbuffers
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import OpResolverType

from quantiser import Model, Tensor, declared
from tconv.backends.litert import inferred
from tconv.backends.outcome import Produced, Refused
from tconv.dialects import find_dialect

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from tconv.backends.outcome import Outcome
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

BACKEND = "litert"
DIALECT = find_dialect("tflite/TransposeConv")
KERNELS = {
    "xnnpack": OpResolverType.AUTO,
    "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "reference": OpResolverType.BUILTIN_REF,
}
LAST = 3
"""The axis of the input channels of a TFLite filter."""

warnings.simplefilter("ignore")
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def models(problem: Problem, operands: Mapping[str, Array]) -> Iterator[Model]:
    """Yield a layer with one scale for its filter, and with one for each output channel, for each set of kernels."""
    x = np.moveaxis(operands["x"], 1, -1)
    function = _function(problem, x, operands)
    for per_channel in (False, True):
        model = _converted(function, x, per_channel=per_channel)
        tensors = _tensors(model, x)
        moved = _moved(model) if tensors["w"].scale.size > 1 else None
        for kernels, resolver in KERNELS.items():
            name = f"int8{'-per-channel' * per_channel} {kernels}"
            case = declared(name, problem.case, tensors, is_fed=True)
            fed = np.moveaxis(tensors["x"].quanta, 1, -1)
            of_moved = None if moved is None else _run(moved, fed, resolver)
            yield Model(name, case, _run(model, fed, resolver), of_moved)


def notices(kinds: Counter[str]) -> bool:
    """Return whether LiteRT refuses moved scales. With as many inputs as outputs, it does not check the axis."""
    return not kinds.keys() - {"agreed", "refused-valid"}


def _function(problem: Problem, x: Array, operands: Mapping[str, Array]) -> Any:  # noqa: ANN401 - TensorFlow has no types
    attributes = problem.call.attributes
    size = next(tensor.values for tensor in problem.call.inputs if tensor.role == "output_shape")
    w = tf.constant(np.moveaxis(operands["w"], (0, 1), (-1, -2)))
    strides = attributes["stride_h"], attributes["stride_w"]

    @tf.function(input_signature=[tf.TensorSpec(x.shape, tf.float32)])
    def function(x: Any) -> Any:  # noqa: ANN401
        y = tf.nn.conv2d_transpose(x, w, size, strides, attributes["padding"])
        return tf.nn.bias_add(y, operands["b"]) if "b" in operands else y

    return function


def _converted(function: Any, x: Array, *, per_channel: bool) -> schema.ModelT:  # noqa: ANN401
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: iter([[x]])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    converter._experimental_disable_per_channel = not per_channel  # noqa: SLF001 - there is no public switch
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(converter.convert(), 0))


def _tensors(model: schema.ModelT, x: Array) -> dict[str, Tensor]:
    """Return quanta, scales and zero point of each tensor in the converter's model, and the quanta of the data."""
    (graph,) = model.subgraphs
    (operator,) = graph.operators
    of = {role: graph.tensors[number] for role, number in zip(("w", "x", "b"), operator.inputs[1:], strict=False)}
    of["y"] = graph.tensors[operator.outputs[0]]
    tensors = {}
    for role, tensor in of.items():
        scale, zero_point = (getattr(tensor.quantization, name) for name in ("scale", "zeroPoint"))
        stored = model.buffers[tensor.buffer].data
        quanta = None
        if role == "x":
            quanta = np.moveaxis(np.clip(np.rint(x / scale) + zero_point, -128, 127).astype(np.int8), -1, 1)
        elif role == "w":
            quanta = np.moveaxis(stored.view(np.int8).reshape(tensor.shape), (0, -1), (1, 0))
        elif role == "b":
            quanta = stored.view(np.int32)
        tensors[role] = Tensor(quanta, scale, zero_point)
    return tensors


def _moved(model: schema.ModelT) -> schema.ModelT:
    """Return a model with the scales of its filter along the input channels."""
    moved = schema.ModelT.InitFromObj(schema.Model.GetRootAs(_packed(model), 0))
    (graph,) = moved.subgraphs
    tensor = graph.tensors[graph.operators[0].inputs[1]]
    quantization, inputs = tensor.quantization, tensor.shape[LAST]
    quantization.quantizedDimension = LAST
    quantization.scale, quantization.zeroPoint = (
        np.resize(of, inputs) for of in (quantization.scale, quantization.zeroPoint)
    )
    return moved


def _packed(model: schema.ModelT) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _run(model: schema.ModelT, x: Array, resolver: OpResolverType) -> Outcome:
    try:
        return Produced(inferred(_packed(model), [x], resolver))
    except (RuntimeError, ValueError) as error:
        return Refused(str(error))

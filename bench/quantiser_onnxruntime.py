"""The models of onnxruntime's own quantiser, and onnxruntime's output for them.

Its QOperator format has no operator for a transposed convolution: the quantiser leaves it unchanged. onnxruntime has a
`QLinearConvTranspose` in the domain `com.ms.internal.nhwc`, but no CPU kernel for it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
from onnxruntime.quantization.registry import QLinearOpsRegistry

from quantiser import Model, Tensor, declared
from tconv.backends.onnx_model import build
from tconv.backends.outcome import Produced
from tconv.dialects import find_dialect

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

assert "ConvTranspose" not in QLinearOpsRegistry, "the format QOperator has an operator"
BACKEND = "onnxruntime"
DIALECT = find_dialect("onnx/ConvTranspose-22")
INT8, UINT8 = QuantType.QInt8, QuantType.QUInt8
FORMATS = ((INT8, INT8), (UINT8, INT8), (UINT8, UINT8))
"""Types of data and filter. The quantiser refuses int8 data with a uint8 filter."""


class _Feed(CalibrationDataReader):  # type: ignore[misc] # it has no types
    """The data for the quantiser's calibration."""

    def __init__(self, feed: dict[str, Array]) -> None:
        self._feeds = iter([feed])

    def get_next(self) -> Any:  # noqa: ANN401 - as its class has it
        """Return the next data."""
        return next(self._feeds, None)


def models(problem: Problem, operands: Mapping[str, Array]) -> Iterator[Model]:
    """Yield a layer in every format that the quantiser has for it."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        onnx.save(build(problem.call, operands), source)
        write = partial(quantize_static, source, target)
        for activation, weight in FORMATS:
            for per_channel in (False, True):
                feed = _Feed({"X": operands["x"]})
                try:
                    write(feed, activation_type=activation, weight_type=weight, per_channel=per_channel)
                except ValueError:
                    # In a layer with groups, the quantiser divides the bias of all groups by the scales of one.
                    if per_channel and "b" in operands and (problem.case.attributes.groups or 1) > 1:
                        continue
                    raise
                yield _model(problem, operands["x"], onnx.load(target))


def notices(kinds: Counter[str]) -> bool:
    """Return whether all moved models are noticed."""
    return "agreed" not in kinds


def _model(problem: Problem, x: Array, model: onnx.ModelProto) -> Model:
    chosen = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    scale, zero_point = chosen["X_scale"], chosen["X_zero_point"]
    limits = np.iinfo(zero_point.dtype)
    quanta = np.clip(np.rint(x / scale) + zero_point, limits.min, limits.max).astype(zero_point.dtype)
    tensors = {
        "x": Tensor(quanta, scale, zero_point),
        "w": Tensor(chosen["W_quantized"], chosen["W_scale"], chosen["W_zero_point"]),
        "y": Tensor(None, chosen["Y_scale"], chosen["Y_zero_point"]),
    }
    if problem.case.b is not None:
        tensors["b"] = Tensor(chosen["B_quantized"], chosen["B_quantized_scale"], chosen["B_quantized_zero_point"])
    per_channel = tensors["w"].scale.size > 1
    name = f"{zero_point.dtype}-{chosen['W_quantized'].dtype}{'-per-channel' * bool(tensors['w'].scale.ndim)}"
    case = declared(name, problem.case, tensors, is_fed=False)
    moved = _run(_moved(model, chosen), x, tensors["y"]) if per_channel else None
    return Model(name, case, _run(model, x, tensors["y"]), moved)


def _run(model: onnx.ModelProto, x: Array, y: Tensor) -> Produced:
    """Return the quanta of onnxruntime's output for a model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # onnxruntime warns about a wrong shape that it declares itself for an output with one spatial axis.
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    (real,) = session.run(None, {"X": x})
    return Produced((np.rint(real / y.scale) + y.zero_point).astype(y.zero_point.dtype))


def _moved(model: onnx.ModelProto, chosen: Mapping[str, Array]) -> onnx.ModelProto:
    """Return a model with the scales of its filter along axis 0."""
    moved = onnx.ModelProto.FromString(model.SerializeToString())
    node = next(node for node in moved.graph.node if node.input[0] == "W_quantized")
    next(of for of in node.attribute if of.name == "axis").i = 0
    for tensor in moved.graph.initializer:
        if tensor.name in node.input[1:]:
            vector = np.resize(chosen[tensor.name], len(chosen["W_quantized"]))
            tensor.CopyFrom(numpy_helper.from_array(vector, tensor.name))
    return moved

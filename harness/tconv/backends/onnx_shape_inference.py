"""ONNX's shape inference: a shape and a type, no values. Runtimes use it when they load a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from tconv.backends import BackendInfo
from tconv.backends.onnx_graph import ELEMENT_TYPES
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.outcome import Refused, ShapeOnly, Unsupported
from tconv.backends.snippet import Snippet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call

_DTYPES = {element_type: str(dtype) for dtype, element_type in ELEMENT_TYPES.items()}


class OnnxShapeInference:
    """`infer_shapes` in strict mode: an operator whose inference fails is an error."""

    DIALECTS = ONNX_DIALECT_NAMES

    def info(self) -> BackendInfo:
        """Return onnx's version."""
        return BackendInfo("onnx-shape-inference", onnx.__version__, self.DIALECTS, {"strict_mode": "True"})

    def run(self, call: Call, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Outcome:
        """Infer the output's shape, which the model does not declare."""
        model = build(call, arrays)
        model.graph.output[0].type.tensor_type.ClearField("shape")
        try:
            inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
            return Refused(str(error).strip())
        output = inferred.graph.output[0].type.tensor_type
        if not output.HasField("shape") or any(not dim.HasField("dim_value") for dim in output.shape.dim):
            return Unsupported("no shape is inferred, or not all of it")
        return ShapeOnly(tuple(dim.dim_value for dim in output.shape.dim), _DTYPES.get(output.elem_type, "unknown"))

    @staticmethod
    def snippet(_: Call) -> Snippet:
        """Return the code that infers the shape without tconv."""
        lines = (
            'model.graph.output[0].type.tensor_type.ClearField("shape")',
            "inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)",
            "output = inferred.graph.output[0].type.tensor_type",
            "dtype = onnx.helper.tensor_dtype_to_np_dtype(output.elem_type)",
            "y = np.empty([dim.dim_value for dim in output.shape.dim], dtype)",
        )
        refusals = ("ValidationError", "InferenceError")
        return Snippet(("onnx", "onnx.shape_inference"), lines, refusals, shape_only=True)

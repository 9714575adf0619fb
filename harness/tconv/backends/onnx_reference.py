"""ONNX's own ReferenceEvaluator, judged like every other backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported
from tconv.backends.snippet import Snippet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array


_WITHOUT_SHAPE = "Field 'shape' of 'type' is required"


class OnnxReference:
    """The checker, then the evaluator, which checks nothing itself."""

    DIALECTS = ONNX_DIALECT_NAMES

    def info(self) -> BackendInfo:
        """Return onnx's version."""
        return BackendInfo("onnx-reference", onnx.__version__, self.DIALECTS, {"checker": "full"}, contexts=True)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Check the model, then evaluate it; an error of the checker is a refusal."""
        from onnx.reference import ReferenceEvaluator

        model = build(call, arrays)
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            message = str(error).strip()
            return (Unsupported if message.startswith(_WITHOUT_SHAPE) else Refused)(message)
        try:
            outputs: Any = ReferenceEvaluator(model).run(None, call.feeds(arrays))
            return Produced(np.asarray(outputs[0]))
        except Exception as error:  # noqa: BLE001 - it has no own exceptions, and numpy may raise any
            return BackendError(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")

    @staticmethod
    def snippet(_: Call) -> Snippet:
        """Return the code that evaluates a model without tconv."""
        lines = (
            "onnx.checker.check_model(model, full_check=True)",
            "y = np.asarray(onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0])",
        )
        return Snippet(("onnx", "onnx.reference"), lines, ("ValidationError", "InferenceError"))

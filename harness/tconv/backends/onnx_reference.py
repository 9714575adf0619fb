"""ONNX's own ReferenceEvaluator: no oracle, a backend to be judged like the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import OPSETS, build
from tconv.backends.outcome import Broke, Produced, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array


class OnnxReference:
    """The evaluator behind the checker: it has no checks of its own."""

    def info(self) -> BackendInfo:
        """Return onnx's version."""
        dialects = tuple(sorted(OPSETS, key=OPSETS.__getitem__, reverse=True))
        return BackendInfo("onnx-reference", onnx.__version__, dialects, {"checker": "full"})

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Check the model, then evaluate it; what the checker refuses is refused."""
        model = build(call, arrays)
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            return Refused(str(error).partition("\n")[0])
        feeds = {one.name: arrays[one.role] for one in call.inputs if not one.constant}
        try:
            outputs: Any = ReferenceEvaluator(model).run(None, feeds)
            return Produced(np.asarray(outputs[0]))
        except Exception as error:  # noqa: BLE001 - it says whatever numpy says; that is its answer
            return Broke(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")

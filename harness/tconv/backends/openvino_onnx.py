"""OpenVINO on the ONNX model of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.openvino import TENSOR, OpenVino, inference
from tconv.backends.snippet import Snippet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import openvino as ov

    from tconv.cases.call import Call
    from tconv.vocabulary import Array


class OpenVinoOnnx(OpenVino):
    """The ONNX frontend, then a device."""

    name = "openvino-onnx"
    DIALECTS = ONNX_DIALECT_NAMES

    def repetitions(self, call: Call) -> int:
        """Return how often a call without declared sizes is run before: more than 0 if it may write outside memory."""
        if call.graph:
            return super().repetitions(call)
        x, w = call.written.x.shape, call.written.w.shape
        return 64 if 0 in x[2:] or x[1:2] != w[:1] else 0

    def model(self, call: Call, arrays: Mapping[str, Array]) -> ov.Model:
        """Return the frontend's model for a call's ONNX model."""
        return self.core.read_model(build(call, arrays).SerializeToString(), b"")

    @staticmethod
    def snippet(call: Call) -> Snippet:
        """Return the code that infers a model without tconv."""
        read = ("core = openvino.Core()", 'ov_model = core.read_model(model.SerializeToString(), b"")')
        return Snippet(("openvino",), (*read, *TENSOR, *inference("feeds.values()", call)), ("RuntimeError",))

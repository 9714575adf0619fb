"""OpenCV's DNN module on the ONNX model of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np

from tconv.backends import BackendInfo, Option
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.options import with_defaults
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported
from tconv.backends.snippet import Snippet
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_NO_BFLOAT16 = "numpy has no bfloat16 that cv2 takes: a blob cannot be fed"


class OpenCv:
    """A new network for each call, on the CPU.

    Args:
        options: values of `OPTIONS`, by name.
    """

    DIALECTS = ONNX_DIALECT_NAMES
    OPTIONS: ClassVar = (
        # Without ENGINE_ORT: a wheel without ONNX Runtime silently takes the classic engine instead.
        Option(
            "engine",
            "the DNN engine; auto takes the new one, and the classic one if that fails",
            "auto",
            ("auto", "new", "classic"),
        ),
        Option("threads", "threads of OpenCV", "1", range(1, 1025)),
    )

    def __init__(self, **options: str) -> None:
        import cv2

        self._cv2, self._chosen = cv2, with_defaults(self.OPTIONS, options)
        self._engine = getattr(cv2.dnn, f"ENGINE_{self._chosen['engine'].upper()}")
        cv2.setNumThreads(int(self._chosen["threads"]))

    def info(self) -> BackendInfo:
        """Return OpenCV's version and settings."""
        return BackendInfo("opencv", self._cv2.__version__, self.DIALECTS, self._chosen, contexts=True)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Read the model, feed the inputs by name, infer. The output has the type that OpenCV gives it."""
        model = np.frombuffer(build(call, arrays).SerializeToString(), np.uint8)
        feeds = call.feeds(arrays)
        if any(array.dtype == ml_dtypes.bfloat16 for array in feeds.values()):
            return Unsupported(_NO_BFLOAT16)
        try:
            network = self._cv2.dnn.readNetFromONNX(model, self._engine)
            for name, array in feeds.items():
                network.setInput(np.ascontiguousarray(array), name)
            output = network.forward()
        except self._cv2.error as error:
            message = one_line(str(error.err or error))
            return (Unsupported if error.code == self._cv2.Error.StsNotImplemented else Refused)(message)
        # OpenCV returns None for a blob without elements, so its shape is lost.
        return BackendError("forward() returned None") if output is None else Produced(np.array(output))

    @staticmethod
    def snippet(_: Call) -> Snippet:
        """Return the code that infers a model without tconv."""
        lines = (
            "network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))",
            "for name, array in feeds.items():",
            "    network.setInput(np.ascontiguousarray(array), name)",
            "y = np.array(network.forward())",
        )
        return Snippet(("cv2",), lines, ("error",))

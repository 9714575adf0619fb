"""OpenVINO reading our ONNX models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openvino as ov

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import OPSETS, build
from tconv.backends.openvino import compiled, environment, inferred, one_line, version
from tconv.outcome import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tconv.call import Call
    from tconv.outcome import Outcome


class OpenVinoOnnx:
    """The ONNX frontend, then the CPU plugin in the precision of the model."""

    def __init__(self) -> None:
        self._core = ov.Core()

    def info(self) -> BackendInfo:
        """Return OpenVINO's version and how it is set up."""
        dialects = tuple(sorted(OPSETS, key=OPSETS.__getitem__, reverse=True))
        return BackendInfo("openvino-onnx", version(), dialects, environment(self._core))

    def run(self, call: Call, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Outcome:
        """Read the model, compile it, infer."""
        model = build(call, arrays).SerializeToString()
        try:
            read = self._core.read_model(model, b"")
        except RuntimeError as error:
            return Refused(one_line(error))
        feeds = [arrays[one.role] for one in call.inputs if not one.constant]
        made = compiled(self._core, read)
        return inferred(made, feeds, call) if isinstance(made, ov.CompiledModel) else made

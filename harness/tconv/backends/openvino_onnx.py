"""OpenVINO reading our ONNX models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openvino as ov

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import OPSETS, build
from tconv.backends.openvino import compiled, environment, inferred, one_line, version
from tconv.backends.outcome import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call


_TIMES = 64


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
        if call.symbolic and _is_beyond_memory(call):
            # The process dies of these, but often in a later case that has no part in it. Asked many times, it dies in
            # this one.
            for _ in range(_TIMES):
                self._run(model, call, arrays)
        return self._run(model, call, arrays)

    def _run(self, model: bytes, call: Call, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Outcome:
        try:
            read = self._core.read_model(model, b"")
        except RuntimeError as error:
            return Refused(one_line(error))
        feeds = [arrays[one.role] for one in call.inputs if not one.constant]
        made = compiled(self._core, read)
        return inferred(made, feeds, call) if isinstance(made, ov.CompiledModel) else made


def _is_beyond_memory(call: Call) -> bool:
    """Return whether symbolic sizes turn out to be what inference writes outside its memory for."""
    x, w = call.written.x.shape, call.written.w.shape
    return 0 in x[2:] or x[1:2] != w[:1]

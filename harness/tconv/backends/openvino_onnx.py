"""OpenVINO on the ONNX model of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.openvino import outcome, said
from tconv.backends.openvino_device import Device, simd, version
from tconv.backends.outcome import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_REPETITIONS = 64


class OpenVinoOnnx:
    """The ONNX frontend, then a plugin, by default the CPU's in the precision of the model.

    Args:
        options: values of `OPTIONS`, by name.
    """

    OPTIONS = Device.OPTIONS

    def __init__(self, **options: str) -> None:
        self._device = Device(**options)

    def info(self) -> BackendInfo:
        """Return OpenVINO's version and how it is set up."""
        return BackendInfo("openvino-onnx", version(), ONNX_DIALECT_NAMES, self._device.environment, simd=simd())

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Read the model, compile it, infer."""
        model = build(call, arrays).SerializeToString()
        if call.shapes != "static" and _is_beyond_memory(call):
            # The process dies of these calls, but often during a later case, which would be blamed. Run many times,
            # it dies during this one.
            for _ in range(_REPETITIONS):
                self._run(model, call, arrays)
        return self._run(model, call, arrays)

    def _run(self, model: bytes, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        try:
            ov_model = self._device.core.read_model(model, b"")
        except RuntimeError as error:
            return Refused(said(error))
        return outcome(self._device, ov_model, call, arrays)


def _is_beyond_memory(call: Call) -> bool:
    """Return whether the sizes of a call that declares none are such that inference writes outside its memory."""
    x, w = call.written.x.shape, call.written.w.shape
    return 0 in x[2:] or x[1:2] != w[:1]

"""OpenVINO on one of its devices: a model of its own operations is compiled, fed and inferred."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np
import openvino as ov

from tconv.backends import BackendInfo, Option, onednn_isa
from tconv.backends.openvino_nodes import GROUPED, PLAIN, output_of, tensor_of
from tconv.backends.options import with_defaults
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported
from tconv.shown_texts import beginning, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_NOT_IMPLEMENTED = ("Unsupported operation of type", "CPU plug-in doesn't support")


class OpenVino:
    """A model of one operation, by default on the CPU in the precision of the operands.

    Args:
        options: values of `OPTIONS`, by name.
    """

    name = "openvino"
    dialects: tuple[str, ...] = (PLAIN, GROUPED)
    OPTIONS: ClassVar = (
        Option("device", "the device that models are compiled for", "CPU", tuple(ov.Core().available_devices)),
        # By default f32 models would be computed in bf16 on processors that have it.
        Option(
            "inference_precision",
            "the hint INFERENCE_PRECISION_HINT; dynamic gives none",
            "f32",
            ("f32", "f16", "bf16", "dynamic"),
        ),
        Option("threads", "INFERENCE_NUM_THREADS", "1", range(1, 1025)),
    )

    def __init__(self, **options: str) -> None:
        chosen = with_defaults(self.OPTIONS, options)
        self.core = ov.Core()
        self._device, hint = chosen["device"], chosen["inference_precision"]
        self._settings: dict[str, str | int] = {"NUM_STREAMS": 1}
        if self._device == "CPU":
            self._settings["INFERENCE_NUM_THREADS"] = int(chosen["threads"])
        if hint != "dynamic":
            self._settings["INFERENCE_PRECISION_HINT"] = hint

    def info(self) -> BackendInfo:
        """Return OpenVINO's version and how it is set up."""
        version = str(ov.__version__)
        device = str(self.core.get_property(self._device, "FULL_DEVICE_NAME"))
        settings = {name.lower(): str(value) for name, value in self._settings.items()}
        # It reads the variables of the oneDNN inside it (seen in 2026.4.1 with ONEDNN_VERBOSE=all), and does not tell
        # what came of them.
        simd = onednn_isa.limit(os.environ)
        environment = {"device": device, "build": version} | settings
        return BackendInfo(self.name, version.partition("-")[0], self.dialects, environment, simd=simd)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Make the model, compile it, infer. An exception while it is made or compiled is a refusal."""
        if call.shapes != "static":
            # The process dies of some of these calls, but often during a later case, which would be blamed. Run many
            # times, it dies during this one.
            for _ in range(self.repetitions(call)):
                self._run(call, arrays)
        return self._run(call, arrays)

    def repetitions(self, call: Call) -> int:
        """Return how often a call that declares no sizes is run before: more than 0 if it may write outside memory."""
        return 8 if 0 in call.inputs[0].shape else 0

    def model(self, call: Call, arrays: Mapping[str, Array]) -> ov.Model:
        """Return the model of a call.

        Raises:
            RuntimeError: the runtime refuses it.
        """
        output, parameters = output_of(call, arrays)
        return ov.Model([output], parameters, "tconv")

    def _run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        try:
            model = self.model(call, arrays)
        except RuntimeError as error:
            return Refused(_said(error))
        try:
            compiled = self.core.compile_model(model, self._device, self._settings)
        except RuntimeError as error:
            message = _said(error)
            return (Unsupported if any(words in message for words in _NOT_IMPLEMENTED) else Refused)(message)
        try:
            return Produced(_inferred(compiled, call.feeds(arrays).values()))
        except RuntimeError as error:
            # Sizes that the model does not have are not known before: what is wrong with them is refused here.
            return (BackendError if _has_sizes(call) else Refused)(_said(error))


def _has_sizes(call: Call) -> bool:
    """Return whether the model has all sizes: those that are declared, and output_shape as a constant."""
    return call.shapes == "static" and all(tensor.constant for tensor in call.inputs if tensor.role == "output_shape")


def _said(error: Exception) -> str:
    """Return the beginning of an exception's message in one line: it has the check that failed, which waivers name."""
    return beginning(one_line(str(error)), 500)


def _inferred(compiled: ov.CompiledModel, fed: Iterable[Array]) -> Array:
    """Return the output of a compiled model.

    Raises:
        RuntimeError: the runtime refuses what it is fed.
    """
    request, output = compiled.create_infer_request(), compiled.outputs[0]
    for index, array in enumerate(fed):
        request.set_input_tensor(index, tensor_of(array))
    if output.get_partial_shape().is_static:
        request.set_output_tensor(0, _nan_filled(output))
    request.infer()
    return _array(request.get_output_tensor(0))


def _nan_filled(output: ov.ConstOutput) -> ov.Tensor:
    """Return an output full of NaN, so that elements which the runtime does not write are noticed."""
    tensor = ov.Tensor(output.get_element_type(), output.get_shape())
    tensor.data.view(np.uint8)[...] = 0xFF
    return tensor


def _array(tensor: ov.Tensor) -> Array:
    if tensor.element_type == ov.Type.bf16:
        bits = np.array(tensor.data).tobytes()
        return np.frombuffer(bits, dtype=ml_dtypes.bfloat16).reshape(tuple(tensor.shape))
    return np.array(tensor.data)

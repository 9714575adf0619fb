"""A device of OpenVINO, with the settings that models are compiled with."""

from __future__ import annotations

import os
from typing import ClassVar

import openvino as ov

from tconv.backends import Option, onednn_isa
from tconv.backends.options import with_defaults


class Device:
    """A device of OpenVINO with the settings that models are compiled with.

    Args:
        options: values of `OPTIONS`, by name.

    Attributes:
        core: OpenVINO's core.
    """

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

    @property
    def environment(self) -> dict[str, str]:
        """What a result may depend on: the device, its precision, threads."""
        device = str(self.core.get_property(self._device, "FULL_DEVICE_NAME"))
        return {"device": device, "build": str(ov.__version__)} | {
            name.lower(): str(value) for name, value in self._settings.items()
        }

    def compiled(self, model: ov.Model) -> ov.CompiledModel:
        """Return a model compiled for the device.

        Raises:
            RuntimeError: the runtime refuses it.
        """
        return self.core.compile_model(model, self._device, self._settings)


def version() -> str:
    """Return the version without the build."""
    return str(ov.__version__).partition("-")[0]


def simd() -> tuple[str, ...] | None:
    """Return the vector extensions to which the oneDNN inside OpenVINO is limited; None for no limit.

    It reads the variables of oneDNN (seen in 2026.4.1 with ONEDNN_VERBOSE=all), and OpenVINO does not tell the result.
    """
    return onednn_isa.limit(os.environ)

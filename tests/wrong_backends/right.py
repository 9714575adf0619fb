"""The backend that is right, which the wrong ones change, and the calls that some of them cannot stand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv import conv_transpose
from tconv.backends import BackendInfo, Outcome, Produced, Refused
from tconv.dialects import DIALECTS
from tconv.errors import Invalid, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto

    from tconv.cases.call import Call


Array = np.ndarray[Any, np.dtype[Any]]

LOG = "WRONG_BACKENDS_LOG"
"""The environment's name for a file that takes a line for every call: process, strides, spatial size."""
TROUBLE = 7
"""The stride on which the backends that die or fall silent do so."""
SPOKEN = "<this was printed by a backend>"
FOREVER = 3600.0


class Right:
    """The reference, which does as it is asked."""

    version = "1.0"

    def info(self) -> BackendInfo:
        return BackendInfo(
            type(self).__name__, self.version, ("onnx/ConvTranspose-22", "onnx/ConvTranspose-11"), {"kind": "miniature"}
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if call.model:
            from onnx import ModelProto  # noqa: PLC0415 - every worker would wait for it, and hardly any needs it

            return Produced(self.whole(ModelProto.FromString(call.model), arrays))
        words = self.understood(dict(call.attributes))
        log(call)
        try:
            y = self.computed(call, words, dict(arrays))
        except (Invalid, UsageError) as error:
            return Refused(str(error))
        return self.answer(y.astype(arrays["x"].dtype))

    def whole(self, model: ModelProto, feeds: Mapping[str, Array]) -> Array:
        from tconv.porting.neighbourhood import evaluate  # noqa: PLC0415 - hardly any test needs it

        return evaluate(model, feeds, DIALECTS["onnx/ConvTranspose-22"])

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        pads = attributes.get("pads")
        half = len(pads or ()) // 2
        return {
            "strides": attributes.get("strides"),
            "dilations": attributes.get("dilations"),
            "pads_begin": pads and pads[:half],
            "pads_end": pads and pads[half:],
            "auto_pad": AUTO_PADS.get(attributes.get("auto_pad"), attributes.get("auto_pad")),
            "output_padding": attributes.get("output_padding"),
            "output_shape": attributes.get("output_shape"),
        }

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        return conv_transpose(
            arrays["x"],
            arrays["w"],
            arrays.get("b"),
            dialect=call.dialect,
            groups=call.groups,
            data_format=call.data_format,
            filter_format=call.filter_format,
            **words,
        )

    def answer(self, y: Array) -> Outcome:
        return Produced(y)


AUTO_PADS = {None: None, "NOTSET": "explicit", "VALID": "valid", "SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower"}


def log(call: Call) -> None:
    """Write a call to the log of a test, if it has one; each line is one write, so that processes do not mix lines."""
    if path := os.environ.get(LOG):
        line = f"{os.getpid()} {call.attributes.get('strides')} {call.inputs[0].shape}\n"
        with Path(path).open("ab", buffering=0) as file:
            file.write(line.encode())


def troubled(call: Call) -> bool:
    """Return whether the call is one that the backends below cannot stand."""
    return TROUBLE in call.attributes.get("strides", ())  # type: ignore[operator] # the corpus writes lists


class Troubled(Right):
    """Right, except for the calls that trouble it."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if troubled(call):
            log(call)
            self.end()
        return super().run(call, arrays)

    def end(self) -> None:
        """Do what is wrong."""

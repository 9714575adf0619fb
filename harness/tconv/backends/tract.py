"""tract, Sonos' inference engine in Rust, on the ONNX model of a call."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.backends.snippet import Snippet
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_NO_BFLOAT16 = "tract's Python has no bfloat16: a tensor cannot be fed"


class Tract:
    """Reads the model from a file, makes a typed model, optimises and runs it, on the CPU.

    If a model declares symbols or no shape, tract needs the sizes before it makes a typed model.
    """

    DIALECTS = ONNX_DIALECT_NAMES

    def __init__(self) -> None:
        import tract

        # Errors without a backtrace.
        os.environ["RUST_BACKTRACE"] = "0"
        self._tract, self._onnx = tract, tract.onnx()
        self._file = Path(tempfile.mkdtemp(prefix="tconv-tract-")) / "model.onnx"

    def info(self) -> BackendInfo:
        """Return tract's version."""
        return BackendInfo("tract", self._tract.version(), self.DIALECTS, contexts=True)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Read the model, infer its types and shapes, optimise it, run it. Any error of tract is a refusal."""
        self._file.write_bytes(build(call, arrays).SerializeToString())
        feeds = list(call.feeds(arrays).values())
        if any(array.dtype == ml_dtypes.bfloat16 for array in feeds):
            return Unsupported(_NO_BFLOAT16)
        try:
            model = self._onnx.load(self._file)
            if call.shapes != "static":
                for index, array in enumerate(feeds):
                    model.set_input_fact(index, _fact(array))
            return Produced(np.array(model.into_model().into_runnable().run(feeds)[0].to_numpy()))
        except self._tract.TractError as error:
            return Refused(one_line(str(error)))

    @staticmethod
    def snippet(_: Call) -> Snippet:
        """Return the code that runs a model without tconv."""
        lines = (
            'path = pathlib.Path(tempfile.mkdtemp()) / "model.onnx"',
            "path.write_bytes(model.SerializeToString())",
            "loaded = tract.onnx().load(path)",
            "for index, array in enumerate(feeds.values()):",
            '    sizes = "".join(f"{size}," for size in array.shape)',
            '    loaded.set_input_fact(index, f"{sizes}{array.dtype.kind}{8 * array.itemsize}")',
            "y = np.array(loaded.into_model().into_runnable().run(list(feeds.values()))[0].to_numpy())",
        )
        return Snippet(("tract", "pathlib", "tempfile"), lines, ("TractError",), version="tract.version()")


def _fact(array: Array) -> str:
    """Return the type and the sizes of an input in tract's words."""
    return ",".join((*map(str, array.shape), f"{array.dtype.kind}{8 * array.itemsize}"))

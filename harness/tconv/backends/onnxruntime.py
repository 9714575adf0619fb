"""ONNX Runtime on its CPU execution provider, speaking ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import OPSETS, build
from tconv.backends.outcome import Broke, Produced, Refused, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call

_FATAL = 4
_REFUSALS = (state.InvalidGraph, state.InvalidArgument, state.InvalidProtobuf, state.Fail)


class OnnxRuntime:
    """A session a call, with the default optimisations, on one thread."""

    def __init__(self) -> None:
        self._options = ort.SessionOptions()
        self._options.intra_op_num_threads = 1
        self._options.inter_op_num_threads = 1
        # Refusals come as exceptions; their logged copies would fill the worker's log.
        self._options.log_severity_level = _FATAL

    def info(self) -> BackendInfo:
        """Return the runtime's version and how it is set up."""
        return BackendInfo(
            "onnxruntime",
            ort.__version__,
            tuple(sorted(OPSETS, key=OPSETS.__getitem__, reverse=True)),
            {
                "provider": "CPUExecutionProvider",
                "build": ort.get_build_info(),
                "intra_op_num_threads": "1",
                "graph_optimization_level": self._options.graph_optimization_level.name,
            },
        )

    def run(self, call: Call, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Outcome:
        """Build the model, load it, run it. A model that is called invalid is refused, at load or at run."""
        model = build(call, arrays).SerializeToString()
        feeds = {one.name: arrays[one.role] for one in call.inputs if not one.constant}
        try:
            session = ort.InferenceSession(model, self._options, providers=["CPUExecutionProvider"])
            return Produced(session.run(None, feeds)[0])
        except state.NotImplemented as error:
            return Unsupported(_first_line(error))
        except _REFUSALS as error:
            return Refused(_first_line(error))
        except Exception as error:  # noqa: BLE001 - whatever else the runtime raises is its answer
            return Broke(f"{type(error).__name__}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

"""ONNX Runtime on its CPU execution provider, speaking ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from tconv.backends import BackendInfo
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build, build_together, fed_together, prefix
from tconv.backends.outcome import Broke, Produced, Refused, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_FATAL = 4
_REFUSALS = (state.InvalidGraph, state.InvalidArgument, state.InvalidProtobuf, state.Fail)


class OnnxRuntime:
    """One session for each call, with the default optimisations, on one thread."""

    def __init__(self) -> None:
        self._options = ort.SessionOptions()
        self._options.intra_op_num_threads = 1
        self._options.inter_op_num_threads = 1
        # Refusals come as exceptions; logged as well, they would fill the worker's log.
        self._options.log_severity_level = _FATAL

    def info(self) -> BackendInfo:
        """Return the runtime's version and how it is set up."""
        return BackendInfo(
            "onnxruntime",
            ort.__version__,
            ONNX_DIALECT_NAMES,
            {
                "provider": "CPUExecutionProvider",
                "build": ort.get_build_info(),
                "intra_op_num_threads": "1",
                "graph_optimization_level": self._options.graph_optimization_level.name,
            },
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Build the model, load it, run it. The runtime may call it invalid at load or at run: both are refusals."""
        model = build(call, arrays).SerializeToString()
        try:
            session = ort.InferenceSession(model, self._options, providers=["CPUExecutionProvider"])
            return Produced(session.run(None, call.feeds(arrays))[0])
        except state.NotImplemented as error:
            return Unsupported(_first_line(error))
        except _REFUSALS as error:
            return Refused(_first_line(error))
        except Exception as error:  # noqa: BLE001 - the runtime may raise anything
            return Broke(f"{type(error).__name__}: {_first_line(error)}")

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Run calls as nodes of one model; the node that a refusal names is refused, and the others have no answer."""
        model = build_together(calls, arrays).SerializeToString()
        outputs = [f"{prefix(place)}Y" for place in range(len(calls))]
        try:
            session = ort.InferenceSession(model, self._options, providers=["CPUExecutionProvider"])
            return [Produced(array) for array in session.run(outputs, fed_together(calls, arrays))]
        except (state.NotImplemented, *_REFUSALS) as error:
            message = _first_line(error)
            outcome = Unsupported(message) if isinstance(error, state.NotImplemented) else Refused(message)
        named = {place for place in range(len(calls)) if prefix(place) in message}
        return [outcome if place in named else None for place in range(len(calls))] if named else outcome


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

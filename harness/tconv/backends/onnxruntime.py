"""ONNX Runtime, by default on its CPU execution provider, speaking ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from tconv.backends import BackendInfo, Option
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.options import with_defaults
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_FATAL = 4
_CPU = "CPUExecutionProvider"
_LEVELS = {name.removeprefix("ORT_").lower(): level for name, level in ort.GraphOptimizationLevel.__members__.items()}
# Nodes that another provider does not take must not be answered by the CPU in its name.
_NO_FALLBACK = "session.disable_cpu_ep_fallback"
_FELL_BACK = "assigned to the default CPU EP"
_REFUSALS = (state.InvalidGraph, state.InvalidArgument, state.InvalidProtobuf, state.Fail)


class OnnxRuntime:
    """One session for each call, with the default optimisations, on one thread.

    Args:
        options: values of `OPTIONS`, by name.
    """

    OPTIONS: ClassVar = (
        Option(
            "provider",
            "the execution provider; another than the CPU's computes every node, or the call is unsupported",
            _CPU,
            tuple(ort.get_available_providers()),
        ),
        Option("graph_optimization_level", "how far graphs are optimised", "enable_all", tuple(_LEVELS)),
        Option("intra_op_num_threads", "threads of an operator", "1", range(1, 1025)),
    )

    def __init__(self, **options: str) -> None:
        chosen = with_defaults(self.OPTIONS, options)
        self._provider = chosen["provider"]
        self._options = ort.SessionOptions()
        self._options.graph_optimization_level = _LEVELS[chosen["graph_optimization_level"]]
        self._options.intra_op_num_threads = int(chosen["intra_op_num_threads"])
        if self._provider != _CPU:
            self._options.add_session_config_entry(_NO_FALLBACK, "1")
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
                "provider": self._provider,
                "build": ort.get_build_info(),
                "intra_op_num_threads": str(self._options.intra_op_num_threads),
                "graph_optimization_level": self._options.graph_optimization_level.name,
            },
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Build the model, load it, run it. The runtime may call it invalid at load or at run: both are refusals."""
        model = build(call, arrays).SerializeToString()
        try:
            session = ort.InferenceSession(model, self._options, providers=[self._provider])
            return Produced(session.run(None, call.feeds(arrays))[0])
        except (state.NotImplemented, *_REFUSALS) as error:
            message = _first_line(error)
            not_implemented = isinstance(error, state.NotImplemented) or _FELL_BACK in message
            return (Unsupported if not_implemented else Refused)(message)
        except Exception as error:  # noqa: BLE001 - the runtime may raise anything
            return BackendError(f"{type(error).__name__}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

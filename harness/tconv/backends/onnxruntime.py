"""ONNX Runtime, by default on its CPU execution provider, speaking ONNX."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import onnx

from tconv.backends import BackendInfo, Option
from tconv.backends.onnx_graph import KINDS
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES, build
from tconv.backends.options import with_defaults
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported
from tconv.backends.snippet import Snippet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_CPU = "CPUExecutionProvider"
# The CPU must not compute nodes that the chosen provider does not take.
_NO_FALLBACK = "session.disable_cpu_ep_fallback"
_FELL_BACK = "assigned to the default CPU EP"
_REFUSALS = ("InvalidGraph", "InvalidArgument", "InvalidProtobuf", "Fail")


def _options() -> tuple[Option, ...]:
    import onnxruntime as ort

    levels = tuple(name.removeprefix("ORT_").lower() for name in ort.GraphOptimizationLevel.__members__)
    return (
        Option(
            "provider",
            "the execution provider; another than the CPU's computes every node, or the call is unsupported",
            _CPU,
            tuple(ort.get_available_providers()),
        ),
        Option("graph_optimization_level", "how far graphs are optimised", "enable_all", levels, "disable_all"),
        Option(
            "disabled_optimizers",
            "graph optimisers that are left out, with commas between them",
            "",
            named_by=("log_severity_level", "0", r"GraphTransformer (\w+) modified: 1"),
        ),
        # Refusals are exceptions; in addition they would fill the worker's log.
        Option("log_severity_level", "what is logged: 0 everything, 4 fatal errors", "4", range(5)),
        Option("intra_op_num_threads", "threads of an operator", "1", range(1, 1025)),
    )


def _operations(path: str) -> tuple[str, ...]:
    """Return the operations of a model in a file, by a graph's names for them, without constants."""
    nodes = onnx.load(path).graph.node
    return tuple(KINDS.get(node.op_type, node.op_type) for node in nodes if node.op_type != "Constant")


class OnnxRuntime:
    """A new session for each call, with the default optimisations, on one thread.

    Args:
        options: values of `OPTIONS`, by name.
    """

    DIALECTS = ONNX_DIALECT_NAMES
    OPTIONS = staticmethod(_options)

    def __init__(self, **options: str) -> None:
        import onnxruntime as ort

        chosen = with_defaults(self.OPTIONS(), options)
        self._runtime, self._provider = ort, chosen["provider"]
        self._options = ort.SessionOptions()
        level = f"ORT_{chosen['graph_optimization_level'].upper()}"
        self._options.graph_optimization_level = ort.GraphOptimizationLevel.__members__[level]
        self._options.intra_op_num_threads = int(chosen["intra_op_num_threads"])
        if self._provider != _CPU:
            self._options.add_session_config_entry(_NO_FALLBACK, "1")
        self._options.inter_op_num_threads = 1
        self._options.log_severity_level = int(chosen["log_severity_level"])
        # Old releases do not have this argument.
        optimizers = chosen["disabled_optimizers"]
        self._left_out = {"disabled_optimizers": {*optimizers.split(",")}} if optimizers else {}

    def info(self) -> BackendInfo:
        """Return the runtime's version and settings."""
        return BackendInfo(
            "onnxruntime",
            self._runtime.__version__,
            self.DIALECTS,
            {
                "provider": self._provider,
                "build": self._runtime.get_build_info(),
                "intra_op_num_threads": str(self._options.intra_op_num_threads),
                "graph_optimization_level": self._options.graph_optimization_level.name,
            },
            contexts=True,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Build the model, load it, run it. An error that calls it invalid, at load or at run, is a refusal."""
        model = build(call, arrays).SerializeToString()
        if call.graph is None:
            return self._run(model, call.feeds(arrays))
        with TemporaryDirectory(prefix="tconv-onnxruntime-") as folder:
            # The runtime writes the optimised graph only to a file.
            self._options.optimized_model_filepath = path = str(Path(folder) / "optimised.onnx")
            try:
                outcome = self._run(model, call.feeds(arrays))
                return replace(outcome, executed=_operations(path)) if isinstance(outcome, Produced) else outcome
            finally:
                self._options.optimized_model_filepath = ""

    def _run(self, model: bytes, feeds: Mapping[str, Array]) -> Outcome:
        try:
            session = self._runtime.InferenceSession(model, self._options, providers=[self._provider], **self._left_out)
            return Produced(session.run(None, feeds)[0])
        except Exception as error:  # noqa: BLE001 - the runtime may raise anything
            kind, message = type(error).__name__, str(error).strip()
        if kind not in {"NotImplemented", *_REFUSALS}:
            return BackendError(f"{kind}: {message}")
        return (Unsupported if kind == "NotImplemented" or _FELL_BACK in message else Refused)(message)

    @staticmethod
    def snippet(_: Call) -> Snippet:
        """Return the code that runs a model without tconv, with the default options."""
        lines = (
            "options = onnxruntime.SessionOptions()",
            "options.log_severity_level = 4",
            'providers = ["CPUExecutionProvider"]',
            "session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)",
            "y = session.run(None, feeds)[0]",
        )
        return Snippet(("onnxruntime",), lines, _REFUSALS)

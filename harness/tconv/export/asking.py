"""How a script without tconv runs a backend: with the backend's own lines, or with lines that stand in for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.backends import shipped
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.backends.snippet import Snippet
from tconv.errors import UsageError
from tconv.reports.case_details import node_lines

if TYPE_CHECKING:
    from tconv.expectation.problem import Problem

DEFAULT = "onnxruntime"
DEFAULT_DIALECT = "onnx/ConvTranspose-22"


@dataclass(frozen=True, slots=True)
class Asked:
    """How a script runs a backend.

    Attributes:
        snippet: the Python code that runs the backend.
        hint: what a reader must replace; empty if nothing.
        stands_in: whether onnxruntime stands in for a runtime that only the reader can run.
    """

    snippet: Snippet
    hint: str = ""
    stands_in: bool = False


def usual_dialect(backend: str) -> str:
    """Return the dialect's name for a backend of which only the name is known: ONNX's, unless it speaks others."""
    spoken: tuple[str, ...] = getattr(shipped(backend), "DIALECTS", (DEFAULT_DIALECT,))
    return DEFAULT_DIALECT if DEFAULT_DIALECT in spoken else spoken[0]


def asking(problem: Problem, backend: str) -> Asked:
    """Return how to run a backend. If it does not ship, or needs tconv, the hint says what to replace.

    Args:
        problem: the case in the dialect.
        backend: an installed name, `package.module:attribute` or `exec:COMMAND`.

    Raises:
        UsageError: the backend does not speak the dialect, or cannot get the call.
    """
    call, adapter = problem.call, shipped(backend)
    if adapter is not None and problem.dialect.name not in adapter.DIALECTS:
        must = f"must be one that {backend} speaks, {', '.join(adapter.DIALECTS)}"
        raise UsageError(f"--dialect {must} (got {problem.dialect.name!r}); or name a --backend that speaks it")
    if adapter is not None and hasattr(adapter, "snippet"):
        if (snippet := adapter.snippet(call)) is None:
            must = f"must be one that {backend} can be given, with a geometry and declared sizes"
            raise UsageError(f"a case {must} (got {problem.case.id})")
        return Asked(snippet)
    if problem.dialect.opset is None:
        names = ", ".join(tensor.name for tensor in call.inputs)
        words = f"y must be the output, in {call.data_format}, for {names} and the attributes above"
        attributes = ", ".join(f"{name}={value!r}" for name, value in call.attributes.items())
        nodes = () if call.graph is None else node_lines(call.graph)
        graph = [f"# {gives} = {kind}({inputs})" for gives, kind, inputs, _ in nodes]
        lines = (f"attributes = dict({attributes})", *graph, f"raise SystemExit({f'ask the runtime here: {words}'!r})")
        return Asked(Snippet((), lines, of_model=False), f"replace the last of these lines: {words}")
    onnxruntime = OnnxRuntime.snippet(call)
    replaced = f"the {len(onnxruntime.lines)} lines below, which ask onnxruntime"
    hint = f"For another runtime replace {replaced}: they make `y`, the output, of `model` and `feeds`."
    return Asked(onnxruntime, hint, stands_in=True)

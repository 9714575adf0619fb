"""Python code that runs a case on a runtime, for a reader without tconv.

`asking` gives the lines that ask the backend, or lines that stand in for them. `snippet` is the code for a bug report;
its text is the template `snippet.py.j2`.
"""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

from tconv.backends import shipped
from tconv.backends.onnx_model import build
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.backends.snippet import Snippet
from tconv.cases.operands import NUMPY_TYPES
from tconv.errors import UsageError
from tconv.reports.case_details import node_lines
from tconv.reports.templates import environment
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

DEFAULT = "onnxruntime"
DEFAULT_DIALECT = "onnx/ConvTranspose-22"
LITERAL = 256
"""The most elements of an array that a snippet has as numbers; a larger array is packed."""
LONGEST = 30_000
"""The most characters of a snippet: forums limit the length of a report."""


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


def snippet(problem: Problem, backend: str = DEFAULT) -> str | None:
    """Return Python code that runs a case on a backend and prints the output; it needs no file.

    None if the arrays are too large for a report.

    Args:
        problem: the case in the dialect.
        backend: the backend, see `asking`.

    Raises:
        UsageError: the backend cannot get the call.
    """
    asked = asking(problem, backend)
    ask, expected = asked.snippet, problem.output
    inputs = {name: _literal(array) for name, array in problem.call.operands(problem.arrays).items()}
    constants: dict[str, str] = {}
    model: list[str] = []
    if ask.of_model:
        proto = build(problem.call, problem.arrays)
        for each in proto.graph.initializer:
            # Sizes, axes and limits are constants too, and no inputs of the call.
            array = numpy_helper.to_array(each)
            value = each.name if each.name in inputs else f"np.array({array.tolist()}, np.{array.dtype})"
            constants[each.name] = value
        del proto.graph.initializer[:]
        model = [repr(line) for line in onnx.printer.to_text(proto).splitlines(keepends=True)]
    template = environment("export").get_template("snippet.py.j2")
    body = template.render(
        inputs=inputs,
        constants=constants,
        model=model,
        feeds=list(problem.fed) if ask.of_model else [],
        hint=asked.hint,
        ask=ask,
        expected=expected,
        literal=None if expected is None else _literal(expected),
    ).rstrip("\n")
    text = "\n".join([*_imports(body, ask.modules), *ask.setup, body])
    return text if len(text) <= LONGEST else None


def _imports(body: str, modules: Sequence[str]) -> Iterator[str]:
    """Yield the imports for the names in a snippet, and for these modules."""
    for module in ("base64", "zlib", "ml_dtypes"):
        if f"{module}." in body:
            yield f"import {module}"
    yield "import numpy as np"
    yield from (f"import {module}" for module in modules)
    if re.search(r"\b(inf|nan)\b", body):
        yield "from numpy import inf, nan"
    if "parser." in body:
        yield "from onnx import numpy_helper, parser"
    yield ""


def _literal(array: Array) -> str:
    """Return an expression for the array: its numbers, or its bytes if there are many."""
    dtype = f"{'ml_dtypes' if array.dtype == NUMPY_TYPES[DType.BF16] else 'np'}.{array.dtype}"
    if array.size > LITERAL:
        packed = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
        values = f'np.frombuffer(zlib.decompress(base64.b64decode("{packed}")), {dtype})'
    else:
        values = (
            f"np.array({(array if array.dtype == np.int64 else array.astype(np.float64)).ravel().tolist()}, {dtype})"
        )
    return f"{values}.reshape({list(array.shape)})"

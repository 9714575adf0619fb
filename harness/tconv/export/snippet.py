"""A snippet for a bug report: Python code that runs a case on a runtime. Its text is the template `snippet.py.j2`."""

from __future__ import annotations

import base64
import re
import zlib
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

from tconv.backends.onnx_model import build
from tconv.cases.operands import NUMPY_TYPES
from tconv.export.asking import DEFAULT, asking
from tconv.reports.templates import environment
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

LITERAL = 256
"""The most elements of an array that a snippet has as numbers; a larger array is packed."""
LONGEST = 30_000
"""The most characters of a snippet: forums limit the length of a report."""


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

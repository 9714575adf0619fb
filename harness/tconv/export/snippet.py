"""A snippet for a bug report: Python code that runs a case on a runtime."""

from __future__ import annotations

import base64
import re
import zlib
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from tconv.backends.onnx_model import build
from tconv.cases.operands import NUMPY_TYPES
from tconv.export.asking import DEFAULT, asking
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
    ask = asked.snippet
    lines = [*_arrays(problem)]
    if ask.of_model:
        lines += _graph(problem, build(problem.call, problem.arrays))
        lines.append(f"feeds = {{{', '.join(f'{name!r}: {name}' for name in problem.fed)}}}")
    lines += [f"# {asked.hint}"] if asked.hint else []
    lines += [*ask.lines, *_comparison(problem, shape_only=ask.shape_only)]
    text = "\n".join([*_imports("\n".join(lines), ask.modules), *ask.setup, *lines])
    return text if len(text) <= LONGEST else None


def _comparison(problem: Problem, *, shape_only: bool) -> Iterator[str]:
    """Yield lines that print the output, and the element that is farthest from the expected output."""
    yield "print(y.dtype, y.shape)" if shape_only else "print(y)"
    if (expected := problem.output) is None:
        return
    if shape_only:
        yield f'print("expected", "{expected.dtype}", {expected.shape})'
        return
    yield f"expected = {_literal(expected)}"
    yield "if y.shape != expected.shape:"
    yield '    print("shape", y.shape, "expected", expected.shape)'
    yield "elif y.size:"
    yield "    distance = np.abs(y.astype(np.float64) - expected.astype(np.float64))"
    yield "    at = np.unravel_index(distance.argmax(), y.shape)"
    yield '    print("farthest at", [int(i) for i in at], "expected", expected[at], "got", y[at])'


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


def _arrays(problem: Problem) -> Iterator[str]:
    """Yield a line for each input, with its name in the dialect."""
    for tensor in problem.call.inputs:
        array = problem.arrays[tensor.role] if tensor.role in problem.arrays else np.array(tensor.values, np.int64)
        yield f"{tensor.name} = {_literal(array)}"


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


def _constant(tensor: TensorProto) -> str:
    """Return an expression for a constant of the model that is not an input of the call: sizes, axes or limits."""
    array = numpy_helper.to_array(tensor)
    return f"np.array({array.tolist()}, np.{array.dtype})"


def _graph(problem: Problem, model: onnx.ModelProto) -> Iterator[str]:
    names = {tensor.name for tensor in problem.call.inputs}
    constants = [
        f"numpy_helper.from_array({each.name if each.name in names else _constant(each)}, {each.name!r})"
        for each in model.graph.initializer
    ]
    del model.graph.initializer[:]
    yield "model = parser.parse_model("
    yield from (f"    {line!r}" for line in onnx.printer.to_text(model).splitlines(keepends=True))
    yield ")"
    yield f"model.graph.initializer.extend([{', '.join(constants)}])"

"""A snippet for a bug report: Python that asks a runtime for a case."""

from __future__ import annotations

import base64
import re
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper

from tconv.backends.onnx_model import build
from tconv.cases.operands import NUMPY_TYPES
from tconv.export.asking import DEFAULT, asking
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

LITERAL = 256
"""The most elements of an array that a snippet writes as numbers; a larger one is packed."""
LONGEST = 30_000
"""The most characters of a snippet: a forum limits the length of a report."""


def snippet(problem: Problem, backend: str = DEFAULT) -> str | None:
    """Return Python that asks a backend for a case and prints the output; it needs no file.

    None where the arrays are too large for a report.

    Args:
        problem: the case in the dialect.
        backend: whom to ask, see `asking`.

    Raises:
        UsageError: the backend cannot be given the call.
    """
    ask = asking(problem, backend)
    lines = [*_arrays(problem)]
    if ask.of_model:
        lines += _graph(problem, build(problem.call, problem.arrays))
        lines.append(f"feeds = {{{', '.join(f'{name!r}: {name}' for name in problem.fed)}}}")
    lines += [f"# {ask.hint}"] if ask.hint else []
    lines += [*ask.lines, *_comparison(problem, shape_only=ask.shape_only)]
    text = "\n".join([*_imports("\n".join(lines), ask.modules), *lines])
    return text if len(text) <= LONGEST else None


def _comparison(problem: Problem, *, shape_only: bool) -> Iterator[str]:
    """Yield lines that print the output, and where it is farthest from the expected one."""
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
    """Yield the imports of the names in a snippet, and of these modules."""
    for module in ("base64", "zlib", "ml_dtypes"):
        if f"{module}." in body:
            yield f"import {module}"
    yield "import numpy as np"
    yield from (f"import {module}" for module in modules)
    if re.search(r"\b(inf|nan)\b", body):
        yield "from numpy import inf, nan"
    mentioned = [
        name
        for name in ("AttributeProto", "TensorProto", "helper", "numpy_helper")
        if re.search(rf"(?<!\.)\b{name}\b", body)
    ]
    if mentioned:
        yield f"from onnx import {', '.join(mentioned)}"
    yield ""


def _arrays(problem: Problem) -> Iterator[str]:
    """Yield a line for each input, under its name in the dialect."""
    for tensor in problem.call.inputs:
        array = problem.arrays[tensor.role] if tensor.role in problem.arrays else np.array(tensor.values, np.int64)
        yield f"{tensor.name} = {_literal(array)}"


def _literal(array: Array) -> str:
    """Return an expression for the array: with its numbers, or where they are many with its bytes."""
    dtype = f"{'ml_dtypes' if array.dtype == NUMPY_TYPES[DType.BF16] else 'np'}.{array.dtype}"
    if array.size > LITERAL:
        packed = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
        values = f'np.frombuffer(zlib.decompress(base64.b64decode("{packed}")), {dtype})'
    else:
        values = (
            f"np.array({(array if array.dtype == np.int64 else array.astype(np.float64)).ravel().tolist()}, {dtype})"
        )
    return f"{values}.reshape({list(array.shape)})"


def _graph(problem: Problem, model: onnx.ModelProto) -> Iterator[str]:
    yield "nodes = []"
    for node in model.graph.node:
        values = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        arguments = "".join(f", {name}={_argument(value)}" for name, value in values.items() if value != [])
        yield f"nodes.append(helper.make_node({node.op_type!r}, {list(node.input)}, {list(node.output)}{arguments}))"
        for attribute in node.attribute:
            # `make_node` cannot infer the type of an empty list.
            if attribute.type == AttributeProto.INTS and not attribute.ints:
                empty = f"AttributeProto(name={attribute.name!r}, type=AttributeProto.INTS)"
                yield f"nodes[-1].attribute.append({empty})"
    yield f"fed = [{', '.join(map(_declared, model.graph.input))}]"
    yield f"output = {_declared(model.graph.output[0])}"
    names = [tensor.name for tensor in problem.call.inputs if tensor.constant]
    constants = [f"numpy_helper.from_array({name}, {name!r})" for name in names]
    constants += [_shape(tensor) for tensor in model.graph.initializer if tensor.data_type == TensorProto.INT64]
    yield f'graph = helper.make_graph(nodes, "tconv", fed, [output], [{", ".join(constants)}])'
    opset = f'[helper.make_opsetid("", {problem.dialect.opset})]'
    yield f"model = helper.make_model(graph, opset_imports={opset}, ir_version={model.ir_version})"


def _argument(value: Any) -> str:  # noqa: ANN401 - an attribute's value: integers, an integer, or bytes
    return repr(value if isinstance(value, int | bytes) else list(value))


def _declared(info: onnx.ValueInfoProto) -> str:
    element_type = TensorProto.DataType.Name(info.type.tensor_type.elem_type)
    dims = [(dim, dim.WhichOneof("value")) for dim in info.type.tensor_type.shape.dim]
    ranked = info.type.tensor_type.HasField("shape")
    sizes = [None if field is None else getattr(dim, field) for dim, field in dims] if ranked else None
    return f"helper.make_tensor_value_info({info.name!r}, TensorProto.{element_type}, {sizes})"


def _shape(tensor: TensorProto) -> str:
    sizes = list(tensor.int64_data)
    return f"helper.make_tensor({tensor.name!r}, TensorProto.INT64, [{len(sizes)}], {sizes})"

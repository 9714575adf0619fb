"""WebNN's convTranspose2d in the form of web-platform-tests: graphs with their data, in a script.

In web-platform-tests at the commit dfa296f88cac, webnn/conformance_tests/conv_transpose2d.https.any.js takes its data
from a file of JSON. Later files have it in the script, as here. The form was compared with qdq_subgraph.https.any.js
in the same folder at the commit aa470175134a, which has a conv2d.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

FILE = "conv_transpose2d.https.any.js"
_TYPES = {DType.F32: "float32", DType.F16: "float16"}


def takes(problem: Problem) -> bool:
    """Return whether the case is the operator alone: everything else, the dialect has decided."""
    return problem.case.plain


def files(problems: Sequence[Problem]) -> Iterator[tuple[str, bytes]]:
    """Yield the script."""
    text = resources.files(__package__).joinpath("webnn.js").read_text(encoding="utf-8")
    yield FILE, text.replace("TESTS", json.dumps([_test(problem) for problem in problems], indent=2)).encode()


def _test(problem: Problem) -> dict[str, Any]:
    call, dtype = problem.call, _TYPES[problem.call.dtype]
    arrays, output = call.operands(problem.arrays), problem.output
    assert output is not None  # noqa: S101 - a suite has only cases with a value
    names = {tensor.name: f"convTranspose2d{tensor.name.capitalize()}" for tensor in call.inputs}
    options = dict(call.attributes) | {name: full for name, full in names.items() if name == "bias"}
    arguments = [*({name: names[name]} for name in ("input", "filter")), {"options": options}]
    return {
        "name": f"convTranspose2d {dtype} {problem.case.id}",
        "graph": {
            "inputs": {
                names[tensor.name]: _operand(arrays[tensor.name], dtype) | {"constant": tensor.constant}
                for tensor in call.inputs
            },
            "operators": [{"name": "convTranspose2d", "arguments": arguments, "outputs": "convTranspose2dOutput"}],
            "expectedOutputs": {"convTranspose2dOutput": _operand(output, dtype)},
        },
    }


def _operand(array: Array, dtype: str) -> dict[str, Any]:
    data = [int(value) for value in array.ravel().tolist()]
    return {"data": data, "descriptor": {"shape": list(array.shape), "dataType": dtype}}

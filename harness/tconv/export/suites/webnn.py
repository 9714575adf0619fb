"""WebNN's convTranspose2d in the form of web-platform-tests: graphs with data in a script.

WebNN has only explicit padding, or output sizes that keep it. So a test has the geometry that follows from a text.

Source: https://www.w3.org/TR/webnn/#api-mlgraphbuilder-convtranspose2d. In web-platform-tests at the commit
dfa296f88cac, webnn/conformance_tests/conv_transpose2d.https.any.js takes its data from a file of JSON. Later ones have
the data in the script, as here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tconv.cases.layouts import to_ncx
from tconv.errors import writing
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

FILE = "conv_transpose2d.https.any.js"
_TYPES = {DType.F32: "float32", DType.F16: "float16"}
_RANK = 2
_HEAD = """\
// META: title=test WebNN API convTranspose2d operation
// META: global=window
// META: variant=?cpu
// META: variant=?gpu
// META: variant=?npu
// META: script=../resources/utils.js
// META: timeout=long

'use strict';

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-convtranspose2d
// Integers whose sums are exact in the type, in whatever order they are added.

const getConvTranspose2dPrecisionTolerance = () => ({metricType: 'ULP', value: 0});

const convTranspose2dTests = [
"""
_TAIL = """
];

webnn_conformance_test(
    convTranspose2dTests, buildAndExecuteGraph, getConvTranspose2dPrecisionTolerance);
"""


def takes(problem: Problem) -> bool:
    """Return whether WebNN can express it: two axes, padding of 0 or more, output padding below the stride."""
    case = problem.case
    if case.x.dtype not in _TYPES or not case.plain or len(case.x.shape) != _RANK + 2 or problem.values is None:
        return False
    geometry = _geometry(problem)
    below = all(added < stride for added, stride in zip(_added(geometry), geometry.strides, strict=True))
    return min(geometry.pads_begin) >= 0 and below


def write(problems: Sequence[Problem], folder: Path) -> int:
    """Write the script, and return the number of its tests."""
    tests = [json.dumps(_test(problem), indent=2) for problem in problems]
    with writing(folder / FILE):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_text(_HEAD + ",\n".join(tests) + _TAIL, encoding="utf-8")
    return len(tests)


def _geometry(problem: Problem) -> Geometry:
    assert problem.values is not None  # noqa: S101 - a suite has only cases with a value
    return problem.values.primary.geometry


def _added(geometry: Geometry) -> list[int]:
    return [max(0, -end) for end in geometry.pads_end]


def _test(problem: Problem) -> dict[str, Any]:
    case, geometry, output = problem.case, _geometry(problem), problem.output
    assert output is not None  # noqa: S101 - as above
    dtype = _TYPES[case.x.dtype]
    pads = zip(geometry.pads_begin, (max(0, end) for end in geometry.pads_end), strict=True)
    options: dict[str, Any] = {
        "padding": [pad for axis in pads for pad in axis],
        "strides": list(geometry.strides),
        "dilations": list(geometry.dilations),
        "outputPadding": _added(geometry),
        "groups": geometry.groups,
        "inputLayout": "nchw",
        "filterLayout": "iohw",
    }
    operands = problem.operands
    inputs = {
        "convTranspose2dInput": _operand(operands["x"], dtype),
        "convTranspose2dFilter": _operand(operands["w"], dtype) | {"constant": True},
    }
    if "b" in operands:
        inputs["convTranspose2dBias"] = _operand(operands["b"], dtype) | {"constant": True}
        options["bias"] = "convTranspose2dBias"
    arguments = [{"input": "convTranspose2dInput"}, {"filter": "convTranspose2dFilter"}, {"options": options}]
    operator = {"name": "convTranspose2d", "arguments": arguments, "outputs": "convTranspose2dOutput"}
    expected = _operand(to_ncx(output, problem.call.data_format), dtype)
    return {
        "name": f"convTranspose2d {dtype} {case.id}",
        "graph": {
            "inputs": inputs,
            "operators": [operator],
            "expectedOutputs": {"convTranspose2dOutput": expected},
        },
    }


def _operand(array: Array, dtype: str) -> dict[str, Any]:
    data = [int(value) for value in array.ravel().tolist()]
    return {"data": data, "descriptor": {"shape": list(array.shape), "dataType": dtype}}

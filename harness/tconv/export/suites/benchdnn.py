"""oneDNN's benchdnn: lines of its deconvolution driver, and graphs for its graph driver.

benchdnn makes the data and the reference itself, so a test is a geometry. Two cases with one geometry are one line.

Source: tests/benchdnn/doc (driver_conv.md, driver_graph.md, knobs_desc.md, knobs_dt.md) and the files in
tests/benchdnn/inputs of https://github.com/uxlfoundation/oneDNN at the commit 3f27bec21fdc.
"""

from __future__ import annotations

import json
import re
from math import prod
from typing import TYPE_CHECKING, Any

from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.dialects.geometry import Geometry
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Ints

FILE = "test_deconv_tconv"
_AXES = ("d", "h", "w")
_INT8 = ("u8:s8:s32", "s8:s8:s32", "u8:s8:u8", "s8:s8:f32")
"""Types of data, filter and output. benchdnn's inputs have these, but not with both stride and dilation above 1."""
_GRAPHS = 24
"""The most graphs of each type: each is a file of its own."""


def takes(problem: Problem) -> bool:
    """Return whether the driver can express it: one to three axes, no negative padding at the beginning, f32."""
    geometry = _geometry(problem)
    alone = problem.case.x.dtype == DType.F32 and problem.case.plain
    return alone and 1 <= len(geometry.output) <= len(_AXES) and min(geometry.pads_begin) >= 0


def files(problems: Sequence[Problem]) -> Iterator[tuple[str, bytes]]:
    """Yield a batch file for the driver, and graphs next to it."""
    lines = {_descriptor(problem): problem for problem in reversed(problems)}
    by_bias: dict[bool, list[str]] = {False: [], True: []}
    spaced: list[str] = []
    graphs: list[Problem] = []
    for descriptor, problem in reversed(lines.items()):
        geometry, name = _geometry(problem), re.sub(r"[^A-Za-z0-9_.+-]+", "_", problem.case.id)
        by_bias[problem.case.b is not None].append(f'{descriptor}n"{name}"')
        if max(geometry.strides) > 1 or max(geometry.dilations) > 1:
            spaced.append(f'{descriptor}n"{name}"')
            graphs.append(problem)
    blocks = [
        *_block("f32", "FWD_D", by_bias[False]),
        *_block("f32", "FWD_B", by_bias[True]),
        "# int8 with strides and dilations above 1",
        *_block(",".join(_INT8), "FWD_D", spaced),
    ]
    yield FILE, ("\n".join(blocks) + "\n").encode()
    for number, problem in enumerate(graphs[:_GRAPHS]):
        for types, int8 in (("f32", False), ("int8", True)):
            yield f"{types}_{number}.json", (json.dumps(_graph(problem, int8=int8), indent=2) + "\n").encode()


def _block(types: str, direction: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"--reset --dt={types} --dir={direction}"
        yield from lines


def _geometry(problem: Problem) -> Geometry:
    assert problem.values is not None  # noqa: S101 - a suite has only cases with a value
    return problem.values.primary.geometry


def _descriptor(problem: Problem) -> str:
    """Return the problem descriptor. Its dilation counts the elements between two taps: 0 means no dilation."""
    geometry, case = _geometry(problem), problem.case
    axes = _AXES[-len(geometry.output) :]
    outputs = case.w.shape[1] * geometry.groups
    parts = [f"g{geometry.groups}mb{case.x.shape[0]}ic{case.x.shape[1]}oc{outputs}"]
    sizes = {
        "i": geometry.spatial,
        "o": geometry.output,
        "k": geometry.kernel,
        "s": geometry.strides,
        "p": geometry.pads_begin,
        "d": tuple(dilation - 1 for dilation in geometry.dilations),
    }
    parts += [
        "".join(f"{of}{axis}{size}" for axis, size in zip(axes, values, strict=True)) for of, values in sizes.items()
    ]
    return "_".join(parts)


def _graph(problem: Problem, *, int8: bool) -> dict[str, Any]:
    """Return a graph for `--graph --case=FILE`: ConvTranspose, between Dequantize and Quantize for int8."""
    geometry, case = _geometry(problem), problem.case
    x, w = case.x.shape, case.w.shape
    y = (x[0], w[1] * geometry.groups, *geometry.output)
    attributes = {
        "strides": geometry.strides,
        "dilations": geometry.dilations,
        "pads_begin": geometry.pads_begin,
        "pads_end": tuple(max(0, end) for end in geometry.pads_end),
        "output_padding": tuple(max(0, -end) for end in geometry.pads_end),
        "auto_pad": "None",
        "data_format": "NCX",
        "weights_format": "IOX",
        "groups": geometry.groups,
    }
    data, filters, output = _tensor(0, "f32", x), _tensor(1, "f32", w), _tensor(2, "f32", y)
    nodes: list[tuple[str, dict[str, Any], list[Any], list[Any]]]
    nodes = [("ConvTranspose", attributes, [data, filters], [output])]
    if int8:
        nodes = [
            ("Dequantize", _scale(1.0), [_tensor(3, "u8", x)], [data]),
            ("Dequantize", _scale(0.5), [_tensor(4, "s8", w, "constant")], [filters]),
            *nodes,
            ("Quantize", _scale(2.0), [output], [_tensor(5, "s8", y)]),
        ]
    written = [
        {
            "id": number,
            "name": f"{kind.upper()}_{number}",
            "kind": kind,
            "attrs": {name: {"type": _type(value), "value": value} for name, value in words.items()},
            "inputs": inputs,
            "outputs": outputs,
        }
        for number, (kind, words, inputs, outputs) in enumerate(nodes)
    ]
    return {"version": "3.0.0", "engine_kind": "cpu", "fpmath_mode": "strict", "graph": written}


def _scale(scale: float) -> dict[str, Any]:
    return {"qtype": "per_tensor", "axis": 0, "scales": (scale,), "zps": (0,)}


def _type(value: object) -> str:
    """Return the type of an attribute, in the words of the graph driver."""
    if isinstance(value, tuple):
        return f"{_type(value[0])}[]"
    return {int: "s64", float: "f32", str: "string"}[type(value)]


def _tensor(number: int, dtype: str, shape: Ints, kind: str = "undef") -> dict[str, Any]:
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    layout = {"stride": strides, "layout_type": "strided", "property_type": kind}
    return {"id": number, "dtype": dtype, "shape": shape, **layout}

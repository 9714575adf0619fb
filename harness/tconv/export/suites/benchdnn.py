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

from tconv.errors import writing
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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


def write(problems: Sequence[Problem], folder: Path) -> int:
    """Write a batch file for the driver, and graphs next to it; return the number of lines and graphs."""
    lines = {_descriptor(problem): problem for problem in reversed(problems)}
    by_bias: dict[bool, list[str]] = {False: [], True: []}
    spaced: list[str] = []
    graphs: dict[str, Any] = {}
    for descriptor, problem in reversed(lines.items()):
        name = re.sub(r"[^A-Za-z0-9_.+-]+", "_", problem.case.id)
        by_bias[problem.case.b is not None].append(f'{descriptor}n"{name}"')
        geometry = _geometry(problem)
        if max(geometry.strides) > 1 or max(geometry.dilations) > 1:
            spaced.append(f'{descriptor}n"{name}"')
            if len(graphs) < 2 * _GRAPHS:
                graphs[f"f32_{len(graphs) // 2}.json"] = graph(problem, int8=False)
                graphs[f"int8_{len(graphs) // 2}.json"] = graph(problem, int8=True)
    blocks = [
        *_block("f32", "FWD_D", by_bias[False]),
        *_block("f32", "FWD_B", by_bias[True]),
        "# int8 with strides and dilations above 1",
        *_block(",".join(_INT8), "FWD_D", spaced),
    ]
    with writing(folder / FILE):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_text("\n".join(blocks) + "\n", encoding="utf-8")
        for name, content in graphs.items():
            (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return len(lines) + len(spaced) + len(graphs)


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


def graph(problem: Problem, *, int8: bool) -> dict[str, Any]:
    """Return a graph for `--graph --case=FILE`: ConvTranspose, between Dequantize and Quantize for int8.

    Args:
        problem: the problem.
        int8: whether data and filter are quanta.
    """
    geometry, case = _geometry(problem), problem.case
    x, w = case.x.shape, case.w.shape
    y = (x[0], w[1] * geometry.groups, *geometry.output)
    added = tuple(max(0, -end) for end in geometry.pads_end)
    attributes = {
        "strides": _integers(geometry.strides),
        "dilations": _integers(geometry.dilations),
        "pads_begin": _integers(geometry.pads_begin),
        "pads_end": _integers(tuple(max(0, end) for end in geometry.pads_end)),
        "output_padding": _integers(added),
        "auto_pad": _text("None"),
        "data_format": _text("NCX"),
        "weights_format": _text("IOX"),
        "groups": {"type": "s64", "value": geometry.groups},
    }
    if int8:
        nodes = [
            _node(0, "Dequantize", _scale(1.0, 0), [_tensor(0, "u8", x)], [_tensor(1, "f32", x)]),
            _node(1, "Dequantize", _scale(0.5, 0), [_tensor(2, "s8", w, "constant")], [_tensor(3, "f32", w)]),
            _node(2, "ConvTranspose", attributes, [_tensor(1, "f32", x), _tensor(3, "f32", w)], [_tensor(4, "f32", y)]),
            _node(3, "Quantize", _scale(2.0, 0), [_tensor(4, "f32", y)], [_tensor(5, "s8", y)]),
        ]
    else:
        nodes = [
            _node(0, "ConvTranspose", attributes, [_tensor(0, "f32", x), _tensor(1, "f32", w)], [_tensor(2, "f32", y)])
        ]
    return {"version": "3.0.0", "engine_kind": "cpu", "fpmath_mode": "strict", "graph": nodes}


def _integers(values: Ints) -> dict[str, Any]:
    return {"type": "s64[]", "value": list(values)}


def _text(value: str) -> dict[str, Any]:
    return {"type": "string", "value": value}


def _scale(scale: float, zero_point: int) -> dict[str, Any]:
    return {
        "qtype": _text("per_tensor"),
        "axis": {"type": "s64", "value": 0},
        "scales": {"type": "f32[]", "value": [scale]},
        "zps": {"type": "s64[]", "value": [zero_point]},
    }


def _node(number: int, kind: str, attributes: dict[str, Any], inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    name = f"{kind.upper()}_{number}"
    return {"id": number, "name": name, "kind": kind, "attrs": attributes, "inputs": inputs, "outputs": outputs}


def _tensor(number: int, dtype: str, shape: Ints, kind: str = "undef") -> dict[str, Any]:
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    layout = {"stride": strides, "layout_type": "strided", "property_type": kind}
    return {"id": number, "dtype": dtype, "shape": list(shape), **layout}

"""A runtime that gets numbers and quantises them by itself is judged by its steps, if it declares them."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from played_backends import records_of
from strategies import ONNX, every
from tconv.backends import BackendError, Grid, Produced, Quantisation
from tconv.cases.layouts import from_ncx
from tconv.corpus.building import build
from tconv.dialects import DIALECTS
from tconv.execution.asking import Asking
from tconv.execution.call import checked
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.vocabulary import Array

ROW = DIALECTS[ONNX[-1]]
CHILD = """
import json, sys
import numpy as np
for line in sys.stdin:
    message = json.loads(line)
    if "run" in message:
        np.save(message["run"]["output"], np.full((1, 1, 1), 6.9, np.float32))
        print(json.dumps({"id": message["run"]["id"], "ok": True, "quantisation": json.loads(sys.argv[1])}), flush=True)
    else:
        print(json.dumps({"name": "quantising", "version": "1", "dialect": "geometry/1"}), flush=True)
"""
"""A runtime of one answer."""


@pytest.fixture(scope="module")
def layers(gate_cases: list[Case]) -> list[Case]:
    plain = [case for case in gate_cases if not case.context and case.x.dtype == DType.F32 and case.breaks is None]
    finite = [case for case in plain if {case.x.data, case.w.data} <= {"integers", "normal"}][:: every(20)]
    problems = [Problem(case, ROW) for case in finite if 0 not in case.w.shape]
    return [
        problem.case
        for problem in problems
        if problem.values is not None and all(np.isfinite(array).all() for array in problem.operands.values())
    ]


def _rounded(a: Array, scale: Array, zero_point: float = 0.0) -> Array:
    return (np.clip(np.rint(a / scale) + zero_point, -128, 127) - zero_point) * scale


def _quantising(problem: Problem, *, declares: bool = True, drops_a_tap: bool = False) -> Produced:
    """Return what a runtime gives that computes in int8: with a zero point, and a scale for each output channel."""
    assert problem.values is not None
    operands = {role: array.astype(np.float64) for role, array in problem.operands.items()}
    x, w, b = operands["x"], operands["w"], operands.get("b")
    low, high = x.min(initial=0.0), x.max(initial=0.0)
    of_x = np.array(max(high - low, 1e-3) / 255)
    zero_point = int(np.rint(-128 - low / of_x))
    of_w = np.maximum(np.abs(w).max(axis=(0, *range(2, w.ndim)), initial=0.0), 1e-3) / 127
    along = (-1, *(1,) * (w.ndim - 2))
    w = _rounded(w, of_w.reshape(along))
    if drops_a_tap:
        w[..., -1] = 0.0
    geometry = problem.values.primary.geometry
    if b is not None:
        step = np.tile(of_w, geometry.groups) * of_x
        b = np.rint(b / step) * step
    y = definition(_rounded(x, of_x, zero_point), w, b, geometry)
    of_y = np.array(max(np.abs(y).max(initial=0.0), 1e-3) / 127)
    grids = Quantisation(Grid((float(of_x),), zero_point), Grid(tuple(of_w.tolist())), Grid((float(of_y),), 0))
    y = from_ncx(_rounded(y, of_y).astype(np.float32), problem.call.data_format)
    return Produced(y, quantisation=grids if declares else None)


def test_a_runtime_that_declares_its_steps_is_right(layers: list[Case]) -> None:
    right = [record.verdict for record in records_of(_quantising, layers)]
    assert not [verdict for verdict in right if not isinstance(verdict, ver.Allowed | ver.Inconclusive)]
    silent = records_of(lambda problem: _quantising(problem, declares=False), layers)
    assert sum(isinstance(record.verdict, ver.WrongValues) for record in silent) > len(layers) / 2


def test_its_own_mistakes_are_noticed(layers: list[Case]) -> None:
    wrong = records_of(lambda problem: _quantising(problem, drops_a_tap=True), layers)
    failed = [record for record in wrong if isinstance(record.verdict, ver.WrongValues)]
    assert len(failed) > len(layers) / 2
    assert all("half a step" in (record.tolerance or "") for record in failed)


@pytest.mark.parametrize(("x", "w", "y", "steps"), [
    (0.5, 0.25, 1.0, 3 * 0.125 + 0.25 * (2 + 0.125) + 0.5),
    (0.5, None, None, 0.25 * 2),
    (None, 0.25, None, 3 * 0.125),
    (None, None, 1.0, 0.5),
])  # fmt: skip
def test_the_bound_widens_by_exactly_its_steps(x: float | None, w: float | None, y: float | None, steps: float) -> None:
    """Data of 3 and a filter of 2: by half a step of each tensor that is rounded."""
    case = build("one", {"spatial": [1], "kernel": [1], "x": {"values": [3]}, "w": {"values": [2]}})
    grids = Quantisation(*(None if step is None else Grid((step,)) for step in (x, w, y)))
    for far, is_right in ((steps, True), (steps + 1e-4, False)):
        for sign in (1, -1):
            actual = np.full((1, 1, 1), 6 + sign * far, np.float32)
            verdict = judge(Problem(case, ROW), Produced(actual, quantisation=grids), DType.F32)
            assert isinstance(verdict, ver.Allowed) == is_right


@pytest.mark.parametrize("grid", [Grid((0.0,)), Grid(()), Grid((float("nan"),)), Grid((1.0,), 0.5), [1.0]])
def test_a_declaration_must_be_of_scales_and_zero_points(grid: Any) -> None:  # noqa: ANN401 - it may be anything
    assert isinstance(checked(Produced(np.zeros(1), quantisation=Quantisation(x=grid))), BackendError)


@pytest.mark.parametrize(("declared", "kind"), [
    ('{"x": {"scale": [0.5], "zero_point": 3}, "y": {"scale": [1.0]}}', "agreed"),
    ('{"x": {"scale": [0.5]}}', "differed"),
    ('{"x": 0.5}', "backend-error"),
])  # fmt: skip
def test_a_child_process_declares_its_steps_in_its_reply(declared: str, kind: str, tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    case = build("one", {"spatial": [1], "kernel": [1], "x": {"values": [3]}, "w": {"values": [2]}})
    with Pool(Asking(f"exec:{shlex.join([sys.executable, str(script), declared])}", isolate=False)) as pool:
        assert pool.records([case])["one"].verdict.kind == kind

"""What a case costs elsewhere: onnx's evaluator and its test runner, a loop in pytest, torch; in floors of onnxruntime.

The cases are of the gate tier, in float32. The floor is that of bench/floor.py: make
the model, load it, run it. What each way does besides:

- tconv makes operands, expectation and model, runs it, computes the value and judges by the bound, writes a record. It
  is measured inside a worker, and through a pool of one worker process.
- onnx's ReferenceEvaluator gets a model that is made as for the floor, and computes values, of a few cases. Nothing is
  compared.
- onnx's backend test runner, with onnxruntime's backend, gets models and expected values that were made before, loads,
  runs, and compares by a fixed tolerance.
- The loop in pytest makes the models as the floor does and compares with values that were made before, likewise: one
  parametrised test, less what pytest takes for a single case.
- torch computes the value, from tensors and a geometry that were made before. Nothing is compared.

Run `python bench/elsewhere.py [--cases N] [--small] [--json FILE] [--against FILE]`.
"""

# ruff: noqa: E402 - numpy's libraries read the number of threads when they are loaded

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import pickle
import sys
import tempfile
import unittest
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import onnxruntime as ort
import pytest
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator
from onnxruntime.backend.backend import OnnxRuntimeBackend

from command import run
from figures import Figure, Findings
from floor import Bench, Floor
from measure import in_turn, ratios, timed
from tconv.cases.operands import make_operands
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.expectation.problem import Problem
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array

EVALUATED = 6
"""So many cases of a chunk are asked of onnx's evaluator."""
RTOL, ATOL = 1e-3, 1e-5
"""The tolerances of onnx's node tests."""
LOOP = f"""
import pickle
from pathlib import Path
import numpy as np, onnxruntime as ort, pytest
CASES = pickle.loads(Path(__file__).with_suffix(".pickle").read_bytes())
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1

@pytest.mark.parametrize(("pieces", "expected"), CASES)
def test_conv_transpose(pieces, expected):
    model = pieces.model().SerializeToString()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, pieces.feeds)[0], expected, rtol={RTOL}, atol={ATOL})
"""


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    ort.set_default_logger_severity(4)
    bench = Bench()
    chunks = bench.chunks("gate", (), 256 if arguments.small else arguments.cases)
    in_floors: dict[str, list[float]] = {}
    floors: list[float] = []
    evaluated: list[tuple[float, float]] = []
    everything: list[tuple[Floor, Array]] = []
    with Pool(Assignment("onnxruntime", None, None, ""), 1, 60.0) as pool:
        for chunk in chunks:
            if not (cases := [case for case in chunk if case.x.dtype is DType.F32]):
                continue
            pieces = [Floor.of(case, bench.dialect) for case in cases]
            expected = [piece.run(bench.options) for piece in pieces]
            everything += zip(pieces, expected, strict=True)
            ways = ways_of(bench, cases, pieces, expected) | {
                "tconv, a worker process and its parent": lambda cases=cases: [*pool.run(cases)]
            }
            floor, *others = in_turn([*ways.values()], 0.0)
            floors += [seconds / len(cases) * 1e6 for seconds in floor]
            for name, seconds in zip([*ways][1:], others, strict=True):
                in_floors.setdefault(name, []).extend(ratios(seconds, floor))
            evaluated += by_evaluator(pieces, bench.options)
    figures = {"floor: onnxruntime": Figure.of(floors, "us")} | {
        name: Figure.of(values, band=(0.1, 4.0) if "tconv" in name else None) for name, values in in_floors.items()
    }
    evaluator, floor = zip(*evaluated, strict=True)
    figures["onnx's ReferenceEvaluator, each case"] = Figure.of(ratios(evaluator, floor))
    figures["onnx's ReferenceEvaluator, all together"] = Figure.of([sum(evaluator) / sum(floor)])
    figures["a loop in pytest over onnxruntime"] = Figure.of(in_pytest(everything, bench.options))
    return Findings(figures)


def ways_of(
    bench: Bench, cases: list[Case], pieces: list[Floor], expected: list[Array]
) -> dict[str, Callable[[], object]]:
    """Return each way to treat the cases, the floor first."""
    suite = suite_of(pieces, expected)
    ways: dict[str, Callable[[], object]] = {
        "floor": lambda: [piece.run(bench.options) for piece in pieces],
        "tconv, in a worker": bench.harness(cases),
        "onnx's backend test runner over onnxruntime": lambda: passed(suite),
    }
    if by_torch := [*torch_calls(cases, bench.dialect)]:
        # torch cannot say all of them; those that it can are asked so often that they are as many.
        repeated = (by_torch * len(cases))[: len(cases)]
        ways["torch's conv_transpose"] = lambda: [call() for call in repeated]
    return ways


def by_evaluator(pieces: list[Floor], options: ort.SessionOptions) -> Iterator[tuple[float, float]]:
    """Yield the seconds of onnx's evaluator and those of the floor, case by case, for cases that it does not refuse.

    It takes a tenth of a second and more for some cases, so that few are asked, and once each.
    """
    for piece in pieces[:: max(1, len(pieces) // EVALUATED)]:
        with suppress(Exception):  # it may raise anything
            yield (
                timed(lambda piece=piece: ReferenceEvaluator(piece.model()).run(None, piece.feeds)),
                min(in_turn([lambda piece=piece: piece.run(options)], 0.0)[0]),
            )


def suite_of(pieces: list[Floor], expected: list[Array]) -> list[unittest.TestCase]:
    """Return cases as tests of onnx's backend test runner, instead of its own; those for a GPU are left out."""
    tests = [
        TestCase(f"test_{number}", "", None, None, piece.model(), [([*piece.feeds.values()], [y])], "node", RTOL, ATOL)
        for number, (piece, y) in enumerate(zip(pieces, expected, strict=True))
    ]
    with patch("onnx.backend.test.runner.load_model_tests", lambda kind: tests if kind == "node" else []):
        return [test for test in Runner(OnnxRuntimeBackend).test_suite if test.id().endswith("_cpu")]


def passed(suite: list[unittest.TestCase]) -> None:
    """Run tests, all of which must pass."""
    result = unittest.TestResult()
    for test in suite:
        test.run(result)
    assert result.wasSuccessful(), [*result.failures, *result.errors][0]
    assert not result.skipped


def in_pytest(cases: list[tuple[Floor, Array]], options: ort.SessionOptions) -> list[float]:
    """Return what a case costs in a parametrised test, in floors; less what pytest costs with a single case."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, some in (("single", cases[:1]), ("all", cases)):
            files.append(Path(folder) / f"test_{name}.py")
            files[-1].write_text(LOOP, encoding="utf-8")
            files[-1].with_suffix(".pickle").write_bytes(pickle.dumps(some))
        quiet = ["-p", "no:terminal", "-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", folder]
        ways = [partial(pytest.main, [*quiet, str(file)]) for file in files]
        assert not any(way() for way in ways)
        single, loop, floor = in_turn([*ways, lambda: [piece.run(options) for piece, _ in cases]], 0.0)
    return [
        (whole - single_case) / (len(cases) - 1) * len(cases) / least
        for whole, single_case, least in zip(loop, single, floor, strict=True)
    ]


def torch_calls(cases: list[Case], dialect: Dialect) -> Iterator[Callable[[], object]]:
    """Yield torch's call of each case that its padding and output_padding can say; none where torch is not there."""
    try:
        import torch  # noqa: PLC0415 - it need not be there
    except ImportError:
        return
    from tconv.backends.torch import _OPERATORS, own_padding  # noqa: PLC0415

    torch.set_num_threads(1)
    for case in cases:
        geometry = Problem(case, dialect).values.primary.geometry
        added = own_padding(geometry)
        if added is not None and len(geometry.kernel) in _OPERATORS:
            x, w, b = (
                None if array is None else torch.from_numpy(array.copy())
                for array in map(make_operands(case.x, case.w, case.b).get, "xwb")
            )
            sizes = geometry.strides, geometry.pads_begin, added, geometry.groups, geometry.dilations
            call = partial(_OPERATORS[len(geometry.kernel)], x, w, b, *sizes)
            with suppress(RuntimeError):
                call()
                yield call


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a case costs elsewhere, in floors of onnxruntime.")
    parser.add_argument("--cases", type=int, default=1024, help="how many cases of the gate tier, about")
    sys.exit(run("elsewhere", measured, parser))

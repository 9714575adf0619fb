"""What a case costs through the harness, as a multiple of the floor: make_model, session and run, and nothing else.

Both are measured in this process for each case, directly after each other; which is first alternates. The harness does
what a worker does: the case from JSON, expectation, operands, model, session, run, judging, the record as JSON. The
floor builds the same graph with onnx.helper from finished operands.

Only cases that owe a value are run, and none with an empty input: onnxruntime dies of some others, and so would this
process.

Run `python bench/floor.py [--cases N]`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Any

import onnxruntime as ort
from onnx import helper, numpy_helper

from tconv.backends.onnx_model import build
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.cases.call import express, in_layouts
from tconv.cases.operands import make_operands
from tconv.corpus import Corpus
from tconv.dialects import dialect_named
from tconv.execution.evaluation import Evaluator
from tconv.execution.worker import CASES
from tconv.expectation.owed import Values, expectation
from tconv.records.record_file import record_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from onnx import ValueInfoProto

    from tconv.cases.case import Case
    from tconv.dialects import Dialect

CHUNK = 32
"""Cases that follow each other, as a worker gets them: neighbours share operands."""


@dataclass(frozen=True)
class Floor:
    """The pieces of a graph, so that building it of them is part of what is measured."""

    nodes: list[tuple[str, list[str], list[str], dict[str, Any]]]
    inputs: list[tuple[str, int, list[Any]]]
    outputs: list[tuple[str, int, list[Any]]]
    constants: list[tuple[str, np.ndarray[Any, Any]]]
    opset: int
    ir_version: int
    feeds: dict[str, np.ndarray[Any, Any]]

    @classmethod
    def of(cls, case: Case, dialect: Dialect) -> Floor:
        """Return the pieces of the model that the harness builds for a case."""
        call = express(case, dialect)
        arrays = in_layouts(make_operands(case.x, case.w, case.b), call)
        model = build(call, arrays)
        graph = model.graph
        return cls(
            [
                (n.op_type, list(n.input), list(n.output), {a.name: helper.get_attribute_value(a) for a in n.attribute})
                for n in graph.node
            ],
            [_declaration(info) for info in graph.input],
            [_declaration(info) for info in graph.output],
            [(tensor.name, numpy_helper.to_array(tensor)) for tensor in graph.initializer],
            model.opset_import[0].version,
            model.ir_version,
            call.feeds(arrays),
        )

    def run(self, options: ort.SessionOptions) -> None:
        """Make the model, load it, run it."""
        graph = helper.make_graph(
            [helper.make_node(kind, inputs, outputs, **attributes) for kind, inputs, outputs, attributes in self.nodes],
            "floor",
            [helper.make_tensor_value_info(*declaration) for declaration in self.inputs],
            [helper.make_tensor_value_info(*declaration) for declaration in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants],
        )
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=self.ir_version).SerializeToString()
        ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, self.feeds)


def _declaration(info: ValueInfoProto) -> tuple[str, int, list[Any]]:
    tensor = info.type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]
    return info.name, tensor.elem_type, sizes


def sample(cases: Sequence[Case], count: int) -> list[Case]:
    """Return about `count` cases in whole chunks, evenly spaced."""
    chunks = max(1, count // CHUNK)
    starts = range(0, len(cases), max(CHUNK, len(cases) // chunks))
    return [case for start in starts for case in cases[start : start + CHUNK]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a case costs, as a multiple of make_model + session + run.")
    parser.add_argument("--cases", type=int, default=2000, help="how many cases of the gate tier, about")
    arguments = parser.parse_args()
    backend = OnnxRuntime()
    dialect = dialect_named(backend.info().dialects[0])
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    evaluator = Evaluator(backend, "onnxruntime", dialect, {}, None)
    cases = sample(list(Corpus.load().cases("gate")), arguments.cases)
    floors, harness = measure(cases, dialect, evaluator, options)
    ratios = [whole / floor for whole, floor in zip(harness, floors, strict=True)]
    left_out = len(cases) - len(ratios)
    print(f"{len(ratios)} cases of the gate tier on {dialect.name}; {left_out} without a value left out")
    print(f"floor    median {median(floors) * 1e6:7.0f} us   p90 {quantiles(floors, n=10)[-1] * 1e6:7.0f} us")
    print(f"harness  median {median(harness) * 1e6:7.0f} us   p90 {quantiles(harness, n=10)[-1] * 1e6:7.0f} us")
    print(
        f"ratio    median {median(ratios):7.2f}      p90 {quantiles(ratios, n=10)[-1]:7.2f}      "
        f"of the sums {sum(harness) / sum(floors):.2f}"
    )


def measure(
    cases: Sequence[Case], dialect: Dialect, evaluator: Evaluator, options: ort.SessionOptions
) -> tuple[list[float], list[float]]:
    """Return seconds of the floor and of the harness, for the cases to which the runtime gives a value."""
    floors, harness = [], []
    for number, case in enumerate(cases):
        if case.breaks is not None or 0 in case.x.shape or not isinstance(expectation(case, dialect), Values):
            continue
        text, floor = CASES.dump_json([case]), Floor.of(case, dialect)

        def by_harness(text: bytes = text) -> None:
            record_line(evaluator.evaluate(*CASES.validate_json(text)))

        def by_floor(floor: Floor = floor) -> None:
            floor.run(options)

        try:
            if number == 0:
                by_floor()
            order = (by_floor, by_harness) if number % 2 else (by_harness, by_floor)
            seconds = {function: timed(function) for function in order}
        except Exception:  # noqa: BLE001, S112 - what the runtime does not do has no floor: it is left out, and counted
            continue
        floors.append(seconds[by_floor])
        harness.append(seconds[by_harness])
    return floors, harness


def timed(function: Callable[[], None]) -> float:
    """Return how many seconds a call of a function takes."""
    started = perf_counter()
    function()
    return perf_counter() - started


if __name__ == "__main__":
    main()

"""Measure a case through the harness, as a multiple of the floor: only make_model, session and run.

The harness does a worker's tasks: expectation, operands, model, session, run, judging, and the record in a journal. The
floor builds the same graphs with onnx.helper from finished operands. Both run alternately, a chunk of cases at a time,
and each case once, in the order of the tier. So caches hold what a worker's caches hold. Processor time counts.

Only cases that expect a value are run, and none with an empty input: some others crash onnxruntime.

Run `python bench/floor.py [--cases N] [--passes N] [--small]`.
"""

from __future__ import annotations

import os

from tconv.execution.zygote import ONE_THREAD

os.environ.update(ONE_THREAD)

import argparse
import gc
import sys
from dataclasses import dataclass
from itertools import islice
from time import process_time
from typing import TYPE_CHECKING, Any

import onnxruntime as ort
from onnx import helper, numpy_helper

from figures import Figure, run, timed
from tconv.backends.onnx_model import build
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.cases.call import arrange_operands, express
from tconv.cases.operands import make_operands
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.execution.evaluation import Evaluator
from tconv.execution.journal import Journal
from tconv.expectation.expected import Values, expect
from tconv.records.record import record_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from onnx import ValueInfoProto

    from tconv.cases.case import Case
    from tconv.corpus import Tier

CHUNK = 128
"""The number of consecutive cases, as a worker gets them: neighbours share operands."""
MOST = 50_000
"""The number of cases of a tier that are looked at."""
PARTS: dict[Tier, tuple[str, ...]] = {"gate": (), "exhaustive": ("exhaustive/plane/*[strides=2x1,kernel=2x3]",)}
IN_FLOORS = (0.8, 3.0)
"""A band, far wider than the measured ratio: it is left if each case costs something new."""
BACKEND = OnnxRuntime()
DIALECT = find_dialect(BACKEND.info().dialects[0])
OPTIONS = ort.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 4


@dataclass(frozen=True)
class Floor:
    """The parts of a graph; building the graph from them is part of the measurement."""

    nodes: list[tuple[str, list[str], list[str], dict[str, Any]]]
    inputs: list[tuple[str, int, list[Any]]]
    outputs: list[tuple[str, int, list[Any]]]
    constants: list[tuple[str, np.ndarray[Any, Any]]]
    opset: int
    ir_version: int
    feeds: dict[str, np.ndarray[Any, Any]]

    @classmethod
    def of(cls, case: Case) -> Floor:
        """Return the pieces of the model that the harness builds for a case."""
        call = express(case, DIALECT)
        arrays = arrange_operands(make_operands(case.x, case.w, case.b), call)
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

    def run(self) -> np.ndarray[Any, Any]:
        """Make the model, load it, and run it."""
        graph = helper.make_graph(
            [helper.make_node(kind, inputs, outputs, **attributes) for kind, inputs, outputs, attributes in self.nodes],
            "floor",
            [helper.make_tensor_value_info(*declaration) for declaration in self.inputs],
            [helper.make_tensor_value_info(*declaration) for declaration in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants],
        )
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=self.ir_version)
        session = ort.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
        output: np.ndarray[Any, Any] = session.run(None, self.feeds)[0]
        return output


def _declaration(info: ValueInfoProto) -> tuple[str, int, list[Any]]:
    tensor = info.type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]
    return info.name, tensor.elem_type, sizes


def chunks(tier: Tier, patterns: tuple[str, ...], count: int) -> list[list[Case]]:
    """Return about `count` cases of a tier that expect a value and get one, in chunks that are evenly spaced."""
    cases = [case for case in islice(Corpus.load().cases(tier, patterns), MOST) if expects_value(case)]
    every = [cases[start : start + CHUNK] for start in range(0, len(cases), CHUNK)]
    return [[*filter(is_answered, chunk)] for chunk in every[:: max(1, len(every) * CHUNK // count)]]


def expects_value(case: Case) -> bool:
    """Return whether the dialect expects a value, and no other reading disputes it."""
    expected = expect(case, DIALECT)
    has_value = isinstance(expected, Values) and not expected.disputed and not expected.refusals
    return has_value and case.breaks is None and 0 not in case.x.shape


def is_answered(case: Case) -> bool:
    """Return whether the runtime answers a case: a refused case has no floor."""
    try:
        Floor.of(case).run()
    except Exception:  # noqa: BLE001 - the runtime may raise anything
        return False
    return True


def seconds(every: Sequence[Sequence[Case]]) -> tuple[float, float]:
    """Return the seconds for a case, of the floor and of the harness.

    The first chunk is not counted: it loads what is loaded only once.
    """
    journal = Journal(os.open(os.devnull, os.O_WRONLY))
    evaluator = Evaluator(BACKEND, "onnxruntime", DIALECT, None, 1, journal)

    def harness(chunk: Sequence[Case]) -> None:
        for number, case in enumerate(chunk):
            journal.begin(number)
            journal.write("record", record_line(evaluator.evaluate(case)))

    passed = [0.0, 0.0]
    for number, chunk in enumerate(every):
        pieces = [Floor.of(case) for case in chunk]
        works = [lambda pieces=pieces: [piece.run() for piece in pieces] and None, lambda chunk=chunk: harness(chunk)]
        for which in (0, 1) if number % 2 else (1, 0):
            passed[which] += timed(works[which], process_time) if number else 0 * timed(works[which])
    counted = sum(map(len, every[1:]))
    return passed[0] / counted, passed[1] / counted


def measured(arguments: argparse.Namespace) -> dict[str, Figure]:
    """Measure."""
    count, passes = (256, 1) if arguments.small else (arguments.cases, arguments.passes)
    figures: dict[str, Figure] = {}
    for tier, patterns in PARTS.items():
        every = chunks(tier, patterns, count)
        # A worker does not hold all cases, so its garbage collector does not look at them.
        gc.freeze()
        rounds = [seconds(every) for _ in range(passes)]
        figures |= {
            f"{tier} tier": Figure([harness / floor for floor, harness in rounds], band=IN_FLOORS),
            f"{tier} tier, floor": Figure([floor * 1e6 for floor, _ in rounds], "us"),
        }
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a case costs, as a multiple of make_model + session + run.")
    parser.add_argument("--cases", type=int, default=8192, help="how many cases of a tier, about")
    parser.add_argument("--passes", type=int, default=3, help="how often they are all run")
    sys.exit(run("floor", measured, parser))

"""Measure a case through the harness, as a multiple of the floor: only make_model, session and run.

Floor and harness have a process each and run alternately, a chunk of cases at a time; the first place alternates too.
The processor time of each counts. Each process runs each case once, in the order of the tier, as a worker does. So its
caches hold what a worker's caches hold, and not what the same case left there a moment ago. The harness
does a worker's tasks: the cases from the bytes of its message, expectation, operands, model, session, run, judging,
the records in a journal. The floor builds the same graphs with onnx.helper from finished operands. All is repeated
with new processes.

bench/whole.py measures whole runs, with the parent, the gate and the page.

Only cases that expect a value are run, and none with an empty input: some others crash onnxruntime.

Run `python bench/floor.py [--cases N] [--passes N] [--small] [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import sys
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from time import process_time
from typing import TYPE_CHECKING, Any

import onnxruntime as ort
from onnx import helper, numpy_helper

from command import run
from figures import Figure, Findings
from measure import timed
from tconv.backends.onnx_model import build
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.cases.call import arrange_operands, express
from tconv.cases.operands import make_operands
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.execution.evaluation import Evaluator
from tconv.execution.journal import Journal
from tconv.execution.zygote import ONE_THREAD
from tconv.expectation.expected import Values, expect
from tconv.records.record import record_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    import numpy as np
    from onnx import ModelProto, ValueInfoProto

    from tconv.cases.case import Case
    from tconv.corpus import Tier
    from tconv.dialects import Dialect

CHUNK = 128
"""The number of consecutive cases, as a worker gets them: neighbours share operands."""
MOST = 50_000
"""The number of cases of a tier that are looked at."""
PARTS: dict[Tier, tuple[str, ...]] = {"gate": (), "exhaustive": ("exhaustive/plane/*[strides=2x1,kernel=2x3]",)}
IN_FLOORS = (0.8, 3.0)
"""A band, far wider than the measured ratio: it is left if each case costs something new."""


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
    def of(cls, case: Case, dialect: Dialect) -> Floor:
        """Return the pieces of the model that the harness builds for a case."""
        call = express(case, dialect)
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

    def model(self) -> ModelProto:
        """Make the model."""
        graph = helper.make_graph(
            [helper.make_node(kind, inputs, outputs, **attributes) for kind, inputs, outputs, attributes in self.nodes],
            "floor",
            [helper.make_tensor_value_info(*declaration) for declaration in self.inputs],
            [helper.make_tensor_value_info(*declaration) for declaration in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants],
        )
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset], ir_version=self.ir_version)

    def run(self, options: ort.SessionOptions) -> np.ndarray[Any, Any]:
        """Make the model, load it, and run it."""
        model = self.model().SerializeToString()
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        output: np.ndarray[Any, Any] = session.run(None, self.feeds)[0]
        return output


def _declaration(info: ValueInfoProto) -> tuple[str, int, list[Any]]:
    tensor = info.type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]
    return info.name, tensor.elem_type, sizes


def sample(cases: Sequence[Case], count: int) -> list[list[Case]]:
    """Return about `count` cases in whole chunks, evenly spaced."""
    chunks = [list(cases[start : start + CHUNK]) for start in range(0, len(cases), CHUNK)]
    return chunks[:: max(1, len(chunks) * CHUNK // count)]


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    count, passes = (256, 1) if arguments.small else (arguments.cases, arguments.passes)
    bench = Bench()
    figures: dict[str, Figure] = {}
    for tier, patterns in PARTS.items():
        chunks = bench.chunks(tier, patterns, count)
        rounds = [seconds(chunks) for _ in range(passes)]
        figures |= {
            f"{tier} tier": Figure.of([harness / floor for floor, harness in rounds], band=IN_FLOORS),
            f"{tier} tier, floor": Figure.of([floor * 1e6 for floor, _ in rounds], "us"),
        }
    return Findings(figures)


def seconds(chunks: Sequence[Sequence[Case]]) -> tuple[float, float]:
    """Return the seconds for a case, of the floor and of the harness, which run alternately in a process each.

    The first chunk is not counted: it loads what is loaded only once.
    """
    # As in a worker: on several threads numpy's products would use all processors, and wait for each other.
    os.environ.update(ONE_THREAD)
    spawn = get_context("spawn")
    connections, processes = [], []
    for work in (Bench.floor, Bench.harness):
        ours, theirs = spawn.Pipe()
        connections.append(ours)
        processes.append(spawn.Process(target=take_turns, args=(theirs, chunks, work)))
        processes[-1].start()
        theirs.close()
    for connection in connections:
        connection.recv()
    passed = [0.0, 0.0]
    for number in range(len(chunks)):
        for place in range(2):
            which = (place + number) % 2
            connections[which].send(None)
            of_chunk = connections[which].recv()
            passed[which] += of_chunk if number else 0.0
    for process in processes:
        process.join()
    counted = sum(map(len, chunks[1:]))
    return passed[0] / counted, passed[1] / counted


def take_turns(
    connection: Connection, chunks: Sequence[Sequence[Case]], way: Callable[[Bench, Sequence[Case]], Callable[[], None]]
) -> None:
    """Run each chunk once, when asked, and send the seconds that it took."""
    bench = Bench()
    works = [way(bench, chunk) for chunk in chunks]
    # A worker does not hold all cases, so its garbage collector does not look at them.
    gc.freeze()
    connection.send(None)
    for work in works:
        connection.recv()
        # Processor time: on a busy machine a process waits for a processor longer than a chunk takes.
        connection.send(timed(work, process_time))


class Bench:
    """onnxruntime on one thread, with and without the harness."""

    def __init__(self) -> None:
        self.backend = OnnxRuntime()
        self.dialect = find_dialect(self.backend.info().dialects[0])
        self.options = ort.SessionOptions()
        self.options.intra_op_num_threads = self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 4
        self.journal = Journal(os.open(os.devnull, os.O_WRONLY), key=1)
        self.evaluator = Evaluator(self.backend, "onnxruntime", self.dialect, None, 1, self.journal)

    def chunks(self, tier: Tier, patterns: tuple[str, ...], count: int) -> list[list[Case]]:
        """Return about `count` cases of a tier that expect a value and get one, in chunks."""
        cases = islice(Corpus.load().cases(tier, patterns), MOST)
        answerable = [case for case in cases if case.breaks is None and 0 not in case.x.shape and self.owes_value(case)]
        return [[case for case in chunk if self.answers(case)] for chunk in sample(answerable, count)]

    def owes_value(self, case: Case) -> bool:
        """Return whether the dialect expects a value, and no other reading disputes it."""
        expected = expect(case, self.dialect)
        return isinstance(expected, Values) and not expected.disputed and not expected.refusals

    def answers(self, case: Case) -> bool:
        """Return whether the runtime answers a case: a refused case has no floor."""
        try:
            Floor.of(case, self.dialect).run(self.options)
        except Exception:  # noqa: BLE001 - the runtime may raise anything
            return False
        return True

    def floor(self, chunk: Sequence[Case]) -> Callable[[], None]:
        """Return a function that only runs a chunk on the runtime."""
        pieces = [Floor.of(case, self.dialect) for case in chunk]
        return lambda: [piece.run(self.options) for piece in pieces] and None

    def harness(self, chunk: Sequence[Case]) -> Callable[[], None]:
        """Return a function that does a worker's tasks for a chunk."""
        message = pickle.dumps(chunk)

        def work() -> None:
            cases = pickle.loads(message)  # noqa: S301 - made above
            for record in self.evaluator.evaluate_all(cases):
                self.journal.write("record", record_line(record))

        return work


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a case costs, as a multiple of make_model + session + run.")
    parser.add_argument("--cases", type=int, default=8192, help="how many cases of a tier, about")
    parser.add_argument("--passes", type=int, default=3, help="how often they are all run")
    return run("floor", measured, parser)


if __name__ == "__main__":
    sys.exit(main())

"""What a case costs on each backend, as a multiple of the time that the backend itself takes.

One worker runs the smoke tier as `tconv run -j 1` does. The backend's time is in its records; the rest is expectation,
operands, judging, record and the pipe between the processes. Deaths, and the start of another worker after each, are
left out: the backend is the cause of these.

Run `python bench/backends.py [NAME...] [--small] [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from command import run
from figures import Figure, Findings
from tconv.backends import names
from tconv.corpus import Corpus
from tconv.errors import BackendMissing
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment

if TYPE_CHECKING:
    from tconv.cases.case import Case

TIMEOUT = 60.0
SMALL = ["onnx-shape-inference"]
"""What CI measures: the backend whose own time is the shortest."""
PARTS = 8
"""The run is cut into so many parts, so that there is a spread."""


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    cases = list(Corpus.load().cases("smoke"))
    figures: dict[str, Figure] = {}
    for name in arguments.backends or (SMALL if arguments.small else names()):
        try:
            with Pool(Assignment(name, None, None, ""), 1, TIMEOUT) as pool:
                answered = costs(pool, cases)
        except BackendMissing as error:
            print(f"{name} is not there: {error}")
            continue
        if len(answered) < PARTS:
            continue
        parts = [answered[part::PARTS] for part in range(PARTS)]
        figures[f"{name}, whole / backend"] = Figure.of([total(part, 0) / total(part, 1) for part in parts])
        figures[f"{name}, backend"] = Figure.of([total(part, 1) / len(part) * 1e3 for part in parts], "ms")
    return Findings(figures)


def costs(pool: Pool, cases: list[Case]) -> list[tuple[float, float]]:
    """Return the seconds of each case that the backend answered: all of them, and those inside the backend."""
    answered = []
    last, worker_lives = perf_counter(), True
    for line in pool.run(cases):
        now, record = perf_counter(), line.record
        survived = record.verdict.kind not in {"died", "timed-out"} and not record.harmed
        if worker_lives and survived and record.seconds > 0:
            answered.append((now - last, record.seconds))
        last, worker_lives = now, survived
    return answered


def total(costs: list[tuple[float, float]], which: int) -> float:
    """Return the sum of one of both costs."""
    return sum(cost[which] for cost in costs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a case costs on each backend, in the backend's own time.")
    parser.add_argument("backends", nargs="*", metavar="NAME", help="which; default: all that are there")
    sys.exit(run("backends", measured, parser))

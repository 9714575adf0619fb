"""What whole runs of tconv on onnxruntime cost: of the clock and of the processors, with one worker and with two.

Each run is a whole command: start, corpus, cases, records, gate, page. The commands take turns. Figures:

- in floors: a run less that of one case, by the cases, in units of bench/floor.py's floor, which is measured here too,
  by the same clock;
- what two workers gain: the clock of `-j 1` in units of `-j 2`. It is at most what two processes gain that have nothing
  but the machine in common, which is measured with the floor, and less on a machine that has other work, where the
  processors' time says more: what two workers cost beyond what one costs;
- the first verdict: from the start of the command until a record is in the file; the run is ended then.

Run `python bench/whole.py [--rounds N] [--small] [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, NamedTuple

from command import run
from figures import Figure, Findings
from floor import PARTS, Bench, Floor
from measure import ratios
from processes import QUIET, Cost, cost, environment
from tconv.corpus import Corpus
from tconv.execution.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Barrier

    from tconv.corpus import Tier

FLOOR_CASES = 512
LOOKED_AT_SECONDS = 0.005
"""So seldom is the record file looked at that this costs little, and so often that it is exact to a hundredth."""
SPEEDUP, IN_FLOORS, SAME_WORK = (0.5, 3.0), (0.2, 30.0), (0.5, 2.0)
"""Bands, far wider than what is measured: CI's machines may have one core, and other work."""


class Part(NamedTuple):
    """Cases that are run: of a tier, those of the patterns."""

    name: str
    tier: Tier
    patterns: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The arguments of `tconv run` for them."""
        return ("--tier", self.tier, *self.patterns)

    @property
    def cases(self) -> int:
        """How many they are."""
        return Selection(Corpus.load(), self.tier, self.patterns).count


GATE, FULL = Part("gate tier", "gate"), Part("full tier", "full")
SMALL = Part("a part of the smoke tier", "smoke", ("padding/**",))
ONE_CASE = Part("one case", "gate", ("examples/onnx/basic",))


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    parts = [SMALL] if arguments.small else [GATE, FULL]
    first = parts[0]
    commands = {f"{part.name}, -j {jobs}": (*part.options, "-j", str(jobs)) for part in parts for jobs in (1, 2)}
    one_worker, one = f"{first.name}, -j 1", ONE_CASE.name
    commands[one] = (*ONE_CASE.options, "-j", "1")
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    verdicts, floors, gains = [], [], []
    with tempfile.TemporaryDirectory() as name:
        compiled = Path(name)
        # The first command compiles the modules, and is not counted.
        run_of(commands[one], compiled)
        for _ in range(1 if arguments.small else arguments.rounds):
            floors += floors_of(1)
            gains.append(sum(floors[-1].wall / each.wall for each in floors_of(2)))
            for command, options in commands.items():
                costs[command].append(run_of(options, compiled))
            verdicts.append(first_verdict(commands[one_worker], compiled))
    figures = {
        "first verdict": Figure.of(verdicts, "s"),
        "floors of two processes at once in units of one, by the second": Figure.of(gains),
    }
    figures |= in_floors(one_worker, first.cases, costs[one_worker], costs[one], floors)
    for part in parts:
        figures |= of_two_workers(part, costs[f"{part.name}, -j 1"], costs[f"{part.name}, -j 2"])
    for command, of_command in costs.items():
        figures |= seconds(command, of_command)
    return Findings(figures)


def run_of(options: Sequence[str], compiled: Path) -> Cost:
    """Return what `tconv run` costs with these options."""
    with tempfile.TemporaryDirectory() as folder:
        return cost([sys.executable, "-m", "tconv", "run", *options, "--output", folder], compiled)


def first_verdict(options: Sequence[str], compiled: Path) -> float:
    """Return the seconds until a run has written its first record, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tconv", "run", *options, "--output", folder]
        started = perf_counter()
        with subprocess.Popen(command, env=environment(compiled), **QUIET) as process:
            # The first line is the header.
            while process.poll() is None and not any(
                path.read_bytes().count(b"\n") > 1 for path in Path(folder).glob("*.jsonl")
            ):
                sleep(LOOKED_AT_SECONDS)
            passed = perf_counter() - started
            process.terminate()
    return passed


def floors_of(count: int) -> list[Cost]:
    """Return the seconds that onnxruntime alone takes for a case of the gate tier, in so many new processes at once."""
    spawn = get_context("spawn")
    barrier, costs = spawn.Barrier(count, timeout=60), spawn.SimpleQueue()
    processes = [spawn.Process(target=put_floor, args=(barrier, costs)) for _ in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit(f"a process that measures the floor must end well (ended with {process.exitcode})")
    return [costs.get() for _ in processes]


def put_floor(barrier: Barrier, costs: SimpleQueue[Cost]) -> None:
    """Send the floor as this process sees it, while the others at the barrier measure it too."""
    bench = Bench()
    chunks = bench.chunks("gate", PARTS["gate"], FLOOR_CASES)
    floors = [Floor.of(case, bench.dialect) for chunk in chunks for case in chunk]
    # The first time is not counted.
    for _ in range(2):
        barrier.wait()
        wall, processor = perf_counter(), process_time()
        for pieces in floors:
            pieces.run(bench.options)
        wall, processor = perf_counter() - wall, process_time() - processor
    costs.put(Cost(wall / len(floors), processor / len(floors), 0.0))


def in_floors(
    command: str, cases: int, costs: Sequence[Cost], of_one: Sequence[Cost], floors: Sequence[Cost]
) -> dict[str, Figure]:
    """Return what a case of a command costs beyond the command of one case, in floors by the same clock."""
    figures = {}
    for kind in ("wall", "processor"):
        whole, one, unit = ([getattr(cost, kind) for cost in several] for several in (costs, of_one, floors))
        values = [(w - o) / (cases - 1) / u for w, o, u in zip(whole, one, unit, strict=True)]
        # Of a short run's clock, which other work may stop at any time, no band holds.
        band = IN_FLOORS if kind == "processor" else None
        figures[f"{command}, a case in floors, {kind}"] = Figure.of(values, band=band)
        figures[f"floor, {kind}"] = Figure.of([seconds * 1e6 for seconds in unit], "us")
    return figures


def of_two_workers(part: Part, one: Sequence[Cost], two: Sequence[Cost]) -> dict[str, Figure]:
    """Return how much faster two workers are than one, and how much more they take of the processors."""
    wall = ratios([cost.wall for cost in one], [cost.wall for cost in two])
    processor = ratios([cost.processor for cost in two], [cost.processor for cost in one])
    return {
        f"{part.name}, -j 1 in units of -j 2, wall": Figure.of(wall, band=SPEEDUP),
        f"{part.name}, -j 2 in units of -j 1, processor": Figure.of(processor, band=SAME_WORK),
    }


def seconds(command: str, costs: Sequence[Cost]) -> dict[str, Figure]:
    """Return the seconds of a command: the clock's, and the processors' of its own process and of its workers."""
    return {
        f"{command}, {words}": Figure.of([getattr(cost, kind) for cost in costs], "s")
        for kind, words in (("wall", "wall"), ("own", "processor of the parent"), ("others", "processor of workers"))
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What whole runs cost, with one worker and with two.")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run")
    sys.exit(run("whole", measured, parser))

"""Measure whole runs of tconv on onnxruntime: wall time and processor time, with one worker and with two.

Each run is a whole command: start, corpus, cases, records, gate, page. The commands run alternately. Ratios:

- a case in floors: the processor time of a run minus that of one case, per case, in units of bench/floor.py;
- the gain of two workers in wall time, and their extra cost in processor time.

Run `python bench/whole.py [--rounds N] [--small] [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from command import run
from figures import Figure, Findings
from floor import Bench, seconds
from measure import ratios
from processes import Cost, cost
from tconv.corpus import Corpus
from tconv.execution.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.corpus import Tier

FLOOR_CASES = 512
SPEEDUP, IN_FLOORS, SAME_WORK = (0.5, 3.0), (0.2, 30.0), (0.5, 2.0)
"""Bands, far wider than the measured ratios: CI's machines may have one core, and other load."""
ONE_CASE = ("--tier", "gate", "examples/onnx/basic")


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    parts: dict[str, tuple[Tier, tuple[str, ...]]] = {"gate tier": ("gate", ()), "full tier": ("full", ())}
    if arguments.small:
        parts = {"a part of the smoke tier": ("smoke", ("padding/**",))}
    bench = Bench()
    with tempfile.TemporaryDirectory() as name:
        compiled = Path(name)
        # The first command compiles the modules and does not count.
        run_of(ONE_CASE, 1, compiled)
        figures: dict[str, Figure] = {}
        for part, (tier, patterns) in parts.items():
            options = ("--tier", tier, *patterns)
            one, two, single, floors = [], [], [], []
            for _ in range(1 if arguments.small else arguments.rounds):
                one.append(run_of(options, 1, compiled))
                two.append(run_of(options, 2, compiled))
                single.append(run_of(ONE_CASE, 1, compiled).processor)
                floors.append(seconds(bench.chunks("gate", (), FLOOR_CASES))[0])
            cases = Selection(Corpus.load(), tier, patterns).count
            of_case = [(whole.processor - start) / (cases - 1) for whole, start in zip(one, single, strict=True)]
            processor = ratios([each.processor for each in two], [each.processor for each in one])
            figures |= {
                f"{part}, a case in floors": Figure.of(ratios(of_case, floors), band=IN_FLOORS),
                f"{part}, -j 1 in units of -j 2, wall": Figure.of(
                    ratios([each.wall for each in one], [each.wall for each in two]), band=SPEEDUP
                ),
                f"{part}, -j 2 in units of -j 1, processor": Figure.of(processor, band=SAME_WORK),
                f"{part}, -j 2, wall": Figure.of([each.wall for each in two], "s"),
                f"{part}, -j 2, processor of the parent": Figure.of([each.own for each in two], "s"),
                f"{part}, -j 2, processor of workers": Figure.of([each.others for each in two], "s"),
            }
    return Findings(figures)


def run_of(options: Sequence[str], jobs: int, compiled: Path) -> Cost:
    """Return the cost of `tconv run` with these options."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["run", *options, "--jobs", str(jobs), "--output", folder]
        return cost([sys.executable, "-m", "tconv", *command], compiled)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What whole runs cost, with one worker and with two.")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run")
    sys.exit(run("whole", measured, parser))

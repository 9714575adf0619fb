"""Peak memory of the gate tier on onnxruntime: of the parent, and of the largest worker, as Linux counts pages.

Pages of the process that workers are forked from count in each of them.

Run `python bench/memory.py [--jobs N] [--small] [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
from pathlib import Path

from command import run
from figures import Figure, Findings
from tconv.corpus import Corpus
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    workers = 0.0
    with Pool(Assignment("onnxruntime", None, None, ""), arguments.jobs, 60.0) as pool:
        for number, _ in enumerate(pool.run(Corpus.load().cases("smoke" if arguments.small else "gate"))):
            if number % 100 == 0:
                workers = max([workers, *(peak(worker.pid) for worker in multiprocessing.active_children())])
    return Findings({"parent": Figure.of([peak("self")], "MiB"), "largest worker": Figure.of([workers], "MiB")})


def peak(process: int | str | None) -> float:
    """Return the most memory that a process has had, in MiB; 0 of one that has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    match = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Peak memory of parent and workers over the gate tier.")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    sys.exit(run("memory", measured, parser))

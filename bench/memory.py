"""Peak memory of a run over the gate tier: of the parent, and of the largest worker.

Linux includes in a worker's peak what the parent had when it spawned the worker. A worker's figure that is not above
the parent's is therefore only an upper limit.

Run `python bench/memory.py [--jobs N]`.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path

from tconv.corpus import Corpus
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of the unit in which the system counts."""


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Peak memory of parent and workers over the gate tier.")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings("onnxruntime", None, arguments.jobs, 60.0, Path(folder))
        run(Selection(Corpus.load()), settings, lambda _done, _total, _line: None)
    for name, who in (("parent", resource.RUSAGE_SELF), ("largest worker", resource.RUSAGE_CHILDREN)):
        print(f"{name:15} {resource.getrusage(who).ru_maxrss * UNIT / 2**20:6.0f} MiB")


if __name__ == "__main__":
    main()

"""This machine's floors: what nothing that is measured here can go below, and what tells two machines apart.

Run `python bench/machine.py [--small] [--json FILE] [--against FILE]`.
"""

# ruff: noqa: E402 - numpy's libraries read the number of threads when they are loaded

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import json
import subprocess
import sys
from multiprocessing import Pipe
from typing import TYPE_CHECKING

import numpy as np

from command import run
from figures import Figure, Findings
from measure import in_turn

if TYPE_CHECKING:
    from collections.abc import Callable

SIDE = 512
"""Rows and columns of the matrices that are multiplied."""
MEGABYTES = 64
RECORD = {"case": "padding/pads/all[pads=1x1]", "verdict": {"kind": "agreed", "rule": "exact"}, "seconds": 0.000393}
LOOPS = 100_000
TIMES = 100


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    a, source = np.ones((SIDE, SIDE)), np.ones(MEGABYTES * 2**20 // 8)
    target, product = np.empty_like(source), np.empty_like(a)
    ours, theirs = Pipe()
    ways: dict[str, tuple[Callable[[], object], str, Callable[[float], float]]] = {
        "a Python that does nothing": (lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), "s", float),
        "product of matrices, float64, one thread": (
            lambda: np.matmul(a, a, out=product),
            "GFLOP/s",
            lambda seconds: 2 * SIDE**3 / seconds / 1e9,
        ),
        "copy in memory": (lambda: np.copyto(target, source), "GB/s", lambda seconds: source.nbytes / seconds / 1e9),
        "a turn of an empty Python loop": (lambda: _loop(LOOPS), "ns", lambda seconds: seconds / LOOPS * 1e9),
        "a record as JSON": (lambda: [json.dumps(RECORD) for _ in range(TIMES)], "us", lambda s: s / TIMES * 1e6),
        "a message through a pipe": (
            lambda: [(ours.send_bytes(b"0"), theirs.recv_bytes()) for _ in range(TIMES)],
            "us",
            lambda seconds: seconds / TIMES * 1e6,
        ),
    }
    rounds = in_turn([function for function, _, _ in ways.values()], 0.5 if arguments.small else 5.0)
    return Findings(
        {
            name: Figure.of([convert(seconds) for seconds in taken], unit)
            for (name, (_, unit, convert)), taken in zip(ways.items(), rounds, strict=True)
        }
    )


def _loop(times: int) -> None:
    for _ in range(times):
        pass


if __name__ == "__main__":
    sys.exit(run("machine", measured, argparse.ArgumentParser(description="What this machine can do at best.")))

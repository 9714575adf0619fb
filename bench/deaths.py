"""What a death costs: a backend that dies on every second case, beside the same one that does not.

Each death is confirmed in a process that asked nothing before, and each ends a worker, so that what is measured is how
fast another worker is there. One backend loads at once. Another takes a second, as a runtime with large libraries does:
either of processor time, or of waiting for a disk.

Run `python bench/deaths.py [--jobs N] [--small] [--most SECONDS]`.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from tconv.backends import BackendInfo, Produced
from tconv.corpus import Corpus
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.vocabulary import Array

TIMEOUT = 60.0
LOADING_SECONDS = 1.0


class Zeros:
    """A backend that answers anything, and wrong."""

    dies = False

    def __init__(self) -> None:
        self.load()

    def load(self) -> None:
        """Load nothing."""

    def info(self) -> BackendInfo:
        """Return a name."""
        return BackendInfo(type(self).__name__, "1", ("geometry/1",))

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Produced:
        """Return an output of no shape, or die of every second call by its operands and attributes."""
        if self.dies and crc32(repr((call.attributes, call.inputs)).encode()) % 2:
            os.abort()
        return Produced(np.zeros((), arrays["x"].dtype))


class Dies(Zeros):
    """The same, and dies of half of the calls."""

    dies = True


class _Computing(Zeros):
    """It computes while it is loaded."""

    def load(self) -> None:
        """Take a second of the processor."""
        ends = process_time() + LOADING_SECONDS
        while process_time() < ends:
            pass


class Computing(_Computing):
    """It computes while it is loaded, and lives."""


class ComputingDies(_Computing):
    """It computes while it is loaded, and dies of half of the calls."""

    dies = True


class _Reading(Zeros):
    """It waits while it is loaded."""

    def load(self) -> None:
        """Take a second without the processor."""
        sleep(LOADING_SECONDS)


class Reading(_Reading):
    """It waits while it is loaded, and lives."""


class ReadingDies(_Reading):
    """It waits while it is loaded, and dies of half of the calls."""

    dies = True


PAIRS = ((Zeros, Dies), (Reading, ReadingDies), (Computing, ComputingDies))


def main() -> None:
    """Measure and print; exit with 1 where a death costs more than is allowed."""
    parser = argparse.ArgumentParser(description="What a death costs.")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--small", action="store_true", help="few cases, for CI")
    parser.add_argument(
        "--most", type=float, default=float("inf"), help="seconds that a death may cost where loading is free"
    )
    arguments = parser.parse_args()
    # The workers import this file by its name.
    sys.path.insert(0, str(Path(__file__).parent))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    # Cases that are like others have the same arrays; those of symbolic sizes, too, are asked as any other.
    cases = list(
        islice((case for case in Corpus.load().cases("smoke") if case.breaks is None), 40 if arguments.small else 240)
    )
    worst = 0.0
    for lives, dies in PAIRS:
        without, _ = measured(lives.__name__, cases, arguments.jobs)
        seconds, deaths = measured(dies.__name__, cases, arguments.jobs)
        of_a_death = (seconds - without) / max(deaths, 1)
        worst = of_a_death if lives is Zeros else worst
        what = f"{dies.__name__:14} {len(cases):4} cases {deaths:4} deaths"
        print(f"{what} {seconds:7.2f} s, {without:6.2f} s without: {of_a_death:.3f} s a death", flush=True)
    if worst > arguments.most:
        sys.exit(f"a death must cost at most {arguments.most} s (got {worst:.3f})")


def measured(name: str, cases: list[Case], jobs: int) -> tuple[float, int]:
    """Return how long the cases take after the first worker is there, and how many of them died."""
    with Pool(Asking(f"deaths:{name}", timeout=TIMEOUT), jobs) as pool:
        started = perf_counter()
        deaths = sum(record.verdict.kind == "crashed" for record in pool.run(cases))
        return perf_counter() - started, deaths


if __name__ == "__main__":
    main()

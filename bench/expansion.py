"""What the corpus costs before a case is asked: ids, cases of a stream, validation, memory; and the commands' start.

A case of the stream is set beside the same case built alone from its settings: what it would cost without the parts
that neighbours share. Commands are started several times, in rounds, beside a Python that does nothing; the median of
each is shown, with the quartiles. Peak memory is that of a process of its own.

That some dialect can say a case is checked for a sample, or for every case with --check-all (a quarter of an hour).

Run `python bench/expansion.py [--small] [--check-all] [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import islice
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from command import run
from figures import Curve, Figure, Findings
from measure import ratios
from tconv.corpus import Corpus
from tconv.corpus.building import build, merged
from tconv.dialects import DIALECTS
from tconv.expectation.owed import Inexpressible, expectation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.corpus.sweep import Sweep

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of the unit in which the system counts memory."""
MAIN = "import sys; from tconv.cli import main; sys.argv = ['tconv', *sys.argv[1:]]; main()"
STARTS = {
    "python": ["-c", "pass"],
    "tconv --help": ["-c", MAIN, "--help"],
    "tconv list --tier smoke": ["-c", MAIN, "list", "--tier", "smoke"],
    "tconv list --tier full": ["-c", MAIN, "list", "--tier", "full"],
    "tconv show, one of a million": ["-c", MAIN, "show", "--dialect", "geometry/1"],
}
STREAM = """
import resource, sys
from itertools import islice
from tconv.corpus import Corpus
count = sum(1 for _ in islice(Corpus.load().cases("exhaustive", ["exhaustive"]), int(sys.argv[1])))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
TIER = "exhaustive", ("exhaustive",)
BLOCK, ALONE = 2_000, 40
"""Cases that are timed together, before the other ways have their turn; and of those that are built alone."""


def measured(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    corpus = Corpus.load()
    count = 10_000 if arguments.small else corpus.count(*TIER)
    costs = per_case(corpus, count)
    stream = costs["case of the stream"]
    looked_at = corpus.cases(*TIER) if arguments.check_all else sampled(corpus, 600 if arguments.small else 20_000)
    peaks = {cases: [float(peak(cases))] for cases in (count // 10, count)}
    figures = {
        "an id": Figure.of(costs["id"], "us"),
        "an id, in cases of the stream": Figure.of(ratios(costs["id"], stream), band=(0.0, 0.5)),
        "a case of the stream": Figure.of(stream, "us"),
        "a case built alone, in cases of the stream": Figure.of(
            ratios(costs["case built alone"], stream), band=(1.0, 100.0)
        ),
        "what every dialect owes it": Figure.of(expected(looked_at), "us"),
        **{f"peak memory of {cases:,} cases": Figure.of(memory, "MiB") for cases, memory in peaks.items()},
        "peak memory, ten times the cases": Figure.of(ratios(*reversed(peaks.values())), band=(0.8, 1.25)),
    }
    seconds = starts(corpus, 3 if arguments.small else 7)
    figures |= {name: Figure.of(taken, "s") for name, taken in seconds.items()}
    figures["tconv --help, in Pythons that do nothing"] = Figure.of(
        ratios(seconds["tconv --help"], seconds["python"]), band=(1.0, 10.0)
    )
    return Findings(figures, {} if arguments.small else growth(corpus))


def per_case(corpus: Corpus, count: int) -> dict[str, list[float]]:
    """Return microseconds of processor for an id, for a case of the stream, and for a sample of cases built alone.

    All three are measured in turns, block by block, so that a busy machine is as busy for each; each block is a value.
    """
    streams: tuple[Iterator[object], Iterator[object]] = corpus.ids(*TIER), corpus.cases(*TIER)
    blocks = max(count // BLOCK, 2)
    settings = alone(corpus, blocks * ALONE)
    microseconds: dict[str, list[float]] = {"id": [], "case of the stream": [], "case built alone": []}
    for number in range(blocks):
        words = settings[number * ALONE : (number + 1) * ALONE]
        ways = (islice(streams[0], BLOCK), islice(streams[1], BLOCK), (build(*each) for each in words))
        for values, way in zip(microseconds.values(), ways, strict=True):
            started = process_time()
            made = sum(1 for _ in way)
            values.append((process_time() - started) / max(made, 1) * 1e6)
    return microseconds


def growth(corpus: Corpus) -> dict[str, Curve]:
    """Return how time and memory grow with the number of cases that are streamed."""
    seconds, counts = [], [10**exponent for exponent in range(3, 7)]
    for count in counts:
        started = process_time()
        assert sum(1 for _ in islice(corpus.cases(*TIER), count)) == count
        seconds.append((float(count), process_time() - started))
    memory = [(float(count), peak(count)) for count in counts]
    return {
        "processor by the number of cases": Curve("cases streamed", "s", {"streamed": seconds}),
        "memory by the number of cases": Curve("cases streamed", "MiB at the peak", {"streamed": memory}),
    }


def sampled(corpus: Corpus, count: int) -> Iterator[Case]:
    """Yield cases evenly out of all sweeps of the tier."""
    return (sweep.case(row) for sweep, row in rows(corpus, count))


def alone(corpus: Corpus, count: int) -> list[tuple[str, dict[str, Any], dict[str, str]]]:
    """Return ids, settings and labels of cases evenly out of all sweeps of the tier."""
    return [words(sweep, row) for sweep, row in rows(corpus, count)]


def rows(corpus: Corpus, count: int) -> Iterator[tuple[Sweep, list[int]]]:
    """Yield rows evenly out of all sweeps of the tier."""
    sweeps = [sweep for sweep in corpus.sweeps.values() if sweep.exhaustive]
    return ((sweep, row) for sweep in sweeps for row in sweep.sample(count // len(sweeps)).tolist())


def words(sweep: Sweep, row: list[int]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return id, settings and labels of a row."""
    layers = (axis.layers[label] for axis, label in zip(sweep.axes, row, strict=True))
    return sweep.case_id(row), merged(sweep.layer, *layers), sweep.labels(row)


def expected(cases: Iterator[Case]) -> list[float]:
    """Return microseconds of processor to work out what every dialect owes; some must be able to say each case."""
    microseconds = []
    for case in cases:
        started = process_time()
        owed = [expectation(case, dialect) for dialect in DIALECTS.values()]
        microseconds.append((process_time() - started) * 1e6)
        assert not all(isinstance(result, Inexpressible) for result in owed), case.id
    return microseconds


def peak(count: int) -> float:
    """Return the peak memory, in MiB, of a process that streams so many cases."""
    made, memory = map(int, python("-c", STREAM, str(count)).split())
    assert made == count
    return memory * UNIT / 2**20


def starts(corpus: Corpus, rounds: int) -> dict[str, list[float]]:
    """Return seconds from start to end of each command, of some rounds."""
    last = next(reversed([sweep for sweep in corpus.sweeps.values() if sweep.exhaustive]))
    commands = {
        name: [*words, last.case_id([0] * len(last.axes))] if "show" in name else words
        for name, words in STARTS.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            started = perf_counter()
            python(*arguments)
            seconds[name].append(perf_counter() - started)
    return seconds


def python(*arguments: str) -> str:
    """Run this Python, and return what it prints."""
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What expansion, ids and validation cost, and the commands' start.")
    parser.add_argument("--check-all", action="store_true", help="check that some dialect can say each case")
    sys.exit(run("expansion", measured, parser))

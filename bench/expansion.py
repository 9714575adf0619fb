"""What the corpus costs before a case is asked: ids, cases of a stream, validation, memory; and the commands' start.

A case of the stream is set beside the same case built alone from its settings: what it would cost without the parts
that neighbours share. Commands are started several times, in rounds, beside a Python that does nothing; the median of
each is shown, and the fastest and the slowest. Peak memory is that of a process of its own.

That some dialect can say a case is checked for a sample, or for every case with --check-all (a quarter of an hour).

Run `python bench/expansion.py [--small] [--check-all] [--json FILE]`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

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
BLOCK = 2_000
"""Cases that are timed together, before the other ways have their turn."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What expansion, ids and validation cost, and the commands' start.")
    parser.add_argument("--small", action="store_true", help="some seconds' worth, for CI")
    parser.add_argument(
        "--check-all", action="store_true", help="check that some dialect can say each case of the tier"
    )
    parser.add_argument("--json", type=Path, default=None, help="write the figures to this file, too")
    arguments = parser.parse_args()
    corpus = Corpus.load()
    whole = corpus.count(*TIER)
    count = 10_000 if arguments.small else whole
    figures = {
        "cases of the tier": whole,
        "cases streamed": count,
        "us a case": per_case(corpus, count),
        "us to expect of a case in every dialect": expected(
            corpus.cases(*TIER) if arguments.check_all else sampled(corpus, 600 if arguments.small else 20_000)
        ),
        "MiB at the peak": {f"{cases:,} cases": peak(cases) for cases in (count // 10, count)},
        "seconds to start": starts(corpus, 2 if arguments.small else 7),
    }
    show(figures)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def per_case(corpus: Corpus, count: int) -> dict[str, float]:
    """Return microseconds of processor for an id, for a case of the stream, and for a sample of cases built alone.

    All three are measured in turns, block by block, so that a busy machine is as busy for each.
    """
    ids, cases = islice(corpus.ids(*TIER), count), islice(corpus.cases(*TIER), count)
    settings = alone(corpus, max(count // 50, 100))
    ways: dict[str, Iterator[object]] = {
        "id": ids,
        "case of the stream": cases,
        "case built alone": (build(*words) for words in settings),
    }
    seconds, made = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0)
    running = dict(ways)
    while running:
        for name, way in list(running.items()):
            started = process_time()
            number = sum(1 for _ in islice(way, BLOCK if name != "case built alone" else BLOCK // 50))
            seconds[name] += process_time() - started
            made[name] += number
            if not number:
                del running[name]
    return {name: seconds[name] / made[name] * 1e6 for name in ways}


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


def expected(cases: Iterator[Case]) -> float:
    """Return microseconds of processor to work out what every dialect owes; some must be able to say each case."""
    seconds, looked_at = 0.0, 0
    for case in cases:
        started = process_time()
        owed = [expectation(case, dialect) for dialect in DIALECTS.values()]
        seconds += process_time() - started
        looked_at += 1
        assert not all(isinstance(one, Inexpressible) for one in owed), case.id
    return seconds / looked_at * 1e6


def peak(count: int) -> float:
    """Return the peak memory, in MiB, of a process that streams so many cases."""
    made, memory = map(int, python("-c", STREAM, str(count)).split())
    assert made == count
    return memory * UNIT / 2**20


def starts(corpus: Corpus, rounds: int) -> dict[str, dict[str, float]]:
    """Return seconds from start to end of each command: the median, the least and the most of some rounds."""
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
    return {name: {"median": median(taken), "least": min(taken), "most": max(taken)} for name, taken in seconds.items()}


def python(*arguments: str) -> str:
    """Run this Python, and return what it prints."""
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


def show(figures: dict[str, Any]) -> None:
    """Print the figures as text."""
    whole, streamed = figures["cases of the tier"], figures["us a case"]["case of the stream"]
    print(f"{whole:,} cases of the exhaustive tier, of which {figures['cases streamed']:,} are streamed here")
    for name, cost in figures["us a case"].items():
        print(f"  {name:30} {cost:8.1f} us   {cost / streamed:5.2f} of a case of the stream")
    print(f"  {'what all dialects owe it':30} {figures['us to expect of a case in every dialect']:8.1f} us")
    print(f"  a million cases: {streamed:.0f} s of processor")
    for name, memory in figures["MiB at the peak"].items():
        print(f"  {name:30} {memory:8.0f} MiB at the peak")
    for name, taken in figures["seconds to start"].items():
        print(f"  {name:30} {taken['median']:8.2f} s    {taken['least']:.2f} to {taken['most']:.2f}")


if __name__ == "__main__":
    main()

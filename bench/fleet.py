"""What it takes to judge a fleet of runtimes in all their releases: simulated from what a case costs, not measured.

The units are arguments. These defaults were measured on onnxruntime's full tier, 45,973 cases, on two busy cores: the
seconds of a case, of the client and of the gate, the bytes of a record, deflated by gzip and on the page, and the peak
memory of `tconv report`. A runtime that compiles each case costs 20 ms more, as OpenVINO does. The others are
assumptions: installation, packages, changed records, the price, and the limits.

Every release is a run with a client of its own. The cores take shards of it, the longest first; a shard begins with the
installation of its release. A client takes so many cases a second and no more, and a run is done when its last shard
is. A record that is as in the release before needs no second place.

Run `python bench/fleet.py [--runtimes N] [--releases N] [--cases N] ... [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import heapq
import sys

from command import run
from figures import Curve, Figure, Findings

UNITS = {
    "runtimes": (10, "runtimes"),
    "compiling": (2, "how many of them compile each case"),
    "releases": (50, "releases of each"),
    "cases": (1_000_000, "cases of a run"),
    "case_ms": (2.5, "processor of a case, in all processes of the run"),
    "compiled_ms": (22.5, "the same where each case is compiled"),
    "client_ms": (0.3, "what of it the client of a cluster pays: it has one core"),
    "gate_ms": (0.65, "processor of a record at the gate"),
    "install_s": (30.0, "installation of a release and start of its runtime, for each shard"),
    "shard": (100_000, "cases of a shard"),
    "record_bytes": (400, "a record in its file"),
    "packed_bytes": (10, "the same, deflated"),
    "alone_bytes": (270, "a record that is deflated without its neighbours"),
    "changed": (0.02, "records that are not as in the release before"),
    "package_mb": (200, "packages of a release"),
    "page_bytes": (14, "a record on the page"),
    "gate_bytes": (6600, "a record in the memory of tconv report"),
    "core_hour": (0.04, "price of a core for an hour"),
    "page_limit_mb": (100, "the largest page that a browser still opens at once"),
    "memory_gb": (8, "memory of the machine that judges"),
}
CORES = (2, 8, 32, 128, 512, 2048)


def simulated(unit: argparse.Namespace) -> Findings:
    """Simulate."""
    hours = [(float(cores), makespan(unit, cores) / 3600) for cores in CORES]
    ideal = [(cores, hours[0][1] * CORES[0] / cores) for cores, _ in hours]
    figures = {name: Figure.of([value], "hours" if "hours" in name else "") for name, value in cost(unit).items()}
    figures |= {f"{name}, storage": Figure.of([value], "GB") for name, value in storage(unit).items()}
    figures |= {f"{cores:.0f} cores, until all is run": Figure.of([lasting], "hours") for cores, lasting in hours}
    for number, (cases, what) in enumerate(breaks(unit), start=1):
        figures[f"breaks, {number}: {what}"] = Figure.of([cases], "cases")
    curve = Curve("cores", "hours until all is run", {"simulated": hours, "all cores busy": ideal})
    return Findings(figures, {"hours by the number of cores": curve})


def seconds(unit: argparse.Namespace, runtime: int) -> float:
    """Return the processor's seconds of a case on a runtime."""
    return float(unit.compiled_ms if runtime < unit.compiling else unit.case_ms) / 1e3


def cost(unit: argparse.Namespace) -> dict[str, float]:
    """Return core hours and their price: of all releases, and of one more release of every runtime."""
    shards = -(-unit.cases // unit.shard)
    of_releases = [
        unit.cases * (seconds(unit, n) + unit.gate_ms / 1e3) + shards * unit.install_s for n in range(unit.runtimes)
    ]
    of_all = sum(of_releases) / 3600
    return {
        "core hours": of_all * unit.releases,
        "price": of_all * unit.releases * unit.core_hour,
        "core hours of one more release of every runtime": of_all,
        "share of the slowest runtime": max(of_releases) / sum(of_releases),
    }


def storage(unit: argparse.Namespace) -> dict[str, float]:
    """Return gigabytes: of records as they are, deflated, and where only changed ones are stored anew; of packages."""
    runs, records = unit.runtimes * unit.releases, unit.runtimes * unit.releases * unit.cases
    # The first release has all records, each further one those that are not as in the one before.
    different = unit.runtimes * unit.cases * (1 + (unit.releases - 1) * unit.changed)
    return {
        "records": records * unit.record_bytes / 1e9,
        "records, deflated": records * unit.packed_bytes / 1e9,
        "records, only changed ones anew": different * unit.alone_bytes / 1e9,
        "packages": runs * unit.package_mb / 1e3,
    }


def makespan(unit: argparse.Namespace, cores: int) -> float:
    """Return the seconds until the last run is done: shards on cores, no faster than the clients of their runs."""
    shards = [min(unit.shard, unit.cases - start) for start in range(0, unit.cases, unit.shard)]
    work = sorted(
        (
            (unit.install_s + size * seconds(unit, runtime), release, size)
            for release in range(unit.releases)
            for runtime in range(unit.runtimes)
            for size in shards
        ),
        reverse=True,
    )
    free = [0.0] * cores
    heapq.heapify(free)
    for lasting, _, _ in work:
        heapq.heappush(free, heapq.heappop(free) + lasting)
    alone = unit.cases * unit.client_ms / 1e3 + unit.cases * unit.gate_ms / 1e3
    return max(*free, alone)


def breaks(unit: argparse.Namespace) -> list[tuple[float, str]]:
    """Return at how many cases of a run something is too large, the first first."""
    return sorted(
        [
            (unit.page_limit_mb * 1e6 / unit.page_bytes, f"the page of a run has {unit.page_limit_mb} MB"),
            (unit.memory_gb * 1e9 / unit.gate_bytes, f"the report of a run takes {unit.memory_gb} GB of memory"),
            (3600 / unit.gate_ms * 1e3, "the gate of a run, which is one process, takes an hour"),
            (24 * 3600 / unit.client_ms * 1e3, "a client with any number of workers takes a day"),
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Cost, storage and growth of a fleet of runtimes and releases.")
    for name, (value, text) in UNITS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help=f"{text} ({value})")
    sys.exit(run("fleet", simulated, parser))

"""What a run on a dask cluster costs, as a multiple of the same run on two local workers.

A scheduler and two dask workers of a thread each are started here, as processes of their own. Then `tconv run --dask`
and `tconv run -j 2` take turns, as whole commands. Counted are the wall clock, and the processor's time of all
processes: of the cluster what they used meanwhile. On two cores the cluster's processes are in each other's way, so
that the processor's time says more than the clock.

dask's processes have clocks that cost something also where nothing is to do; it is printed as `idle`. With
--slow-clocks they tick once a second, and dask's profiler and its nanny are off.

Run `python bench/cluster.py [--tier T] [--rounds N] [--slow-clocks] [--small] [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import psutil

from command import run
from figures import Figure, Findings
from measure import ratios
from processes import QUIET, Cost, cost, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORKERS = 2
SLOW = {"DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
IDLE_SECONDS = 5


def figures(arguments: argparse.Namespace) -> Findings:
    """Measure."""
    what = ["dtypes/**", "--tier", "smoke"] if arguments.small else ["--tier", arguments.tier]
    local, cluster = [], []
    with tempfile.TemporaryDirectory() as name, dask(Path(name), slow=arguments.slow_clocks) as (address, processes):
        # The first run is not counted: it reads files, and the workers import what stays.
        measured(["dtypes/**", "--tier", "smoke", "--dask", address], processes, Path(name))
        idle = idling(processes)
        for _ in range(1 if arguments.small else arguments.rounds):
            local.append(measured([*what, "-j", str(WORKERS)], [], Path(name)))
            cluster.append(measured([*what, "--dask", address], processes, Path(name)))
    found = {}
    for kind in ("processor", "wall"):
        here, there = ([getattr(cost, kind) for cost in costs] for costs in (local, cluster))
        found[f"--dask in units of -j {WORKERS}, {kind}"] = Figure.of(ratios(there, here))
        found[f"-j {WORKERS}, {kind}"] = Figure.of(here, "s")
    return Findings(found | {"the idle cluster, processor a second": Figure.of([idle], "s")})


@contextmanager
def dask(folder: Path, *, slow: bool) -> Iterator[tuple[str, list[psutil.Process]]]:
    """Start a scheduler and its workers, and yield its address and their processes; end them afterwards."""
    file = folder / "scheduler.json"
    own = [sys.executable, "-m", "dask"]
    where = ["--scheduler-file", str(file), "--no-dashboard"]
    variables = environment(folder) | (SLOW if slow else {})
    started: list[subprocess.Popen[bytes]] = []
    try:
        scheduler = [*own, "scheduler", "--host", "127.0.0.1", "--port", "0", *where]
        started.append(subprocess.Popen(scheduler, cwd=folder, env=variables, **QUIET))
        while not file.exists() or not file.read_text(encoding="utf-8"):
            sleep(0.1)
        worker = [*own, "worker", "--nthreads", "1", "--nworkers", "1", *where, *["--no-nanny"] * slow]
        started += [subprocess.Popen(worker, cwd=folder, env=variables, **QUIET) for _ in range(WORKERS)]
        yield json.loads(file.read_text(encoding="utf-8"))["address"], [psutil.Process(one.pid) for one in started]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def measured(arguments: Sequence[str], others: Sequence[psutil.Process], compiled: Path) -> Cost:
    """Run tconv and return what it cost, with what other processes took meanwhile."""
    before = sum(map(seconds, others))
    with tempfile.TemporaryDirectory() as folder:
        of_run = cost([sys.executable, "-m", "tconv", "run", *arguments, "--output", folder], compiled)
    return replace(of_run, others=of_run.others + sum(map(seconds, others)) - before)


def idling(processes: Sequence[psutil.Process]) -> float:
    """Return the seconds of processor that processes take in a second without work."""
    before = sum(map(seconds, processes))
    sleep(IDLE_SECONDS)
    return (sum(map(seconds, processes)) - before) / IDLE_SECONDS


def seconds(process: psutil.Process) -> float:
    """Return the processor's time of a process, of all below it, and of those of them that have ended."""
    times = [member.cpu_times() for member in (process, *process.children(recursive=True))]
    return sum(time.user + time.system + time.children_user + time.children_system for time in times)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A run on two dask workers, as a multiple of one with -j 2.")
    parser.add_argument("--tier", default="full", help="the tier that is run")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run")
    parser.add_argument("--slow-clocks", action="store_true", help="dask's clocks tick once a second; no nanny")
    sys.exit(run("cluster", figures, parser))

"""A cluster's worker or its scheduler is killed at a random moment of a run."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from campaign import ROOT, Surroundings, Tally
from processes import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN = ("run", "--cases", "cases.yaml", "--tier", "full", "--waivers", "none", "--backend", "wrong_backends:Slow")
_PER_FAULT = 25
"""A cluster takes so many times as long as another fault."""


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies of both: none where dask is not installed."""
    chance = random.Random(seed)
    lost_worker, lost_scheduler = (
        Tally("a cluster's worker killed"),
        Tally("a cluster's scheduler killed, then resumed"),
    )
    if find_spec("distributed") is None:
        return
    sys.path.append(str(ROOT / "tests"))
    with Surroundings() as whole:
        whole.run(*RUN, "-j", "2")
        expected = verdicts(whole)
    for _ in range(max(1, count // _PER_FAULT)):
        after = chance.uniform(0.5, 4)
        lost_worker.count(f"after {after:.2f} s", _without_worker(after, expected))
        after = chance.uniform(0.5, 4)
        lost_scheduler.count(f"after {after:.2f} s", _without_scheduler(after, expected))
    yield lost_worker
    yield lost_scheduler


def _without_worker(after: float, expected: dict[str, str]) -> str | None:
    from made_cluster import processes  # noqa: PLC0415 - it imports tconv

    with Surroundings() as surroundings:
        with processes(surroundings.folder / "cluster", 2, "--no-nanny") as cluster:
            run = surroundings.start(*RUN, "--dask", cluster.address)
            time.sleep(after)
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
            code = surroundings.ended(run)
            wrong = surroundings.wrong(code, frozenset({0}), killed=True)
        return wrong or (None if verdicts(surroundings) == expected else "other records")


def _without_scheduler(after: float, expected: dict[str, str]) -> str | None:
    """A run that is over before stays green; any other ends with 3, and a cluster of another address resumes it."""
    from made_cluster import processes  # noqa: PLC0415 - it imports tconv

    with Surroundings() as surroundings:
        with processes(surroundings.folder / "cluster", 1, "--no-nanny") as cluster:
            run = surroundings.start(*RUN, "--dask", cluster.address)
            time.sleep(after)
            cluster.scheduler.kill()
            wrong = surroundings.wrong(surroundings.ended(run), frozenset({0, 3}), killed=True)
        if not wrong and verdicts(surroundings) != expected:
            with processes(surroundings.folder / "again", 1, "--no-nanny") as cluster:
                resume = ("--resume",) if verdicts(surroundings) else ()
                code = surroundings.run(*RUN, "--dask", cluster.address, *resume)
                wrong = surroundings.wrong(code, frozenset({0}), killed=True)
        return wrong or (None if verdicts(surroundings) == expected else "other records")

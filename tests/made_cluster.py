"""Clusters for tests: one of processes, and a client that answers by itself, without any."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, Self

from distributed import KilledWorker

from small_corpus import environment
from tconv import __version__
from tconv.execution.cluster_messages import Introduction, Order, Reply, cases_of
from tconv.execution.versions import versions
from tconv.records.headers import BackendHeader
from tconv.records.record import Line, Record
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tconv.cases.case import Case

DIALECT = "onnx/ConvTranspose-22"
NAME = "acme"


def introduction(version: str = "1.0", **machine: str) -> Introduction:
    """Return what a worker on such a machine says of itself."""
    backend = BackendHeader(name=NAME, version=version, machine=machine)
    return Introduction(tconv=__version__, platform=versions(), dialect=DIALECT, backend=backend)


def agreed(cases: Sequence[Case]) -> Reply:
    """Return the reply of a worker whose backend agrees in all cases."""
    return Reply(lines=tuple((c.id, Line.of(Record(c.id, NAME, DIALECT, ver.Agreed("exact"))).text) for c in cases))


class Client:
    """dask's client, as far as `Cluster` calls it, whose workers are functions.

    Attributes:
        introductions: what each worker says of itself; an exception where it says nothing.
        answer: what comes of a chunk.
        deadly: ids of cases that end the dask worker.
        chunks: the chunks that were submitted.
        waiting: how many of them have not been fetched.
        most: the largest number of these.
    """

    introductions: dict[str, Introduction | Exception]
    answer: Callable[[Sequence[Case]], Reply]
    deadly: frozenset[str]

    def __init__(self, *_: object, **__: object) -> None:
        self.chunks: list[list[str]] = []
        self.waiting = self.most = 0
        type(self).last = self

    last: Self

    def wait_for_workers(self, *_: object, **__: object) -> None:
        """Have all workers at once."""

    def nthreads(self) -> dict[str, int]:
        """Return a thread for each worker."""
        return dict.fromkeys(self.introductions, 1)

    def run(self, function: Callable[..., Any], *_: object, **__: object) -> dict[str, bytes | Exception]:
        """Return the introductions."""
        if function.__name__ != "introduce":
            return {}
        return {
            worker: said if isinstance(said, Exception) else Reply(introduction=said).model_dump_json().encode()
            for worker, said in self.introductions.items()
        }

    def submit(self, _: object, order: bytes, __: bytes, cases: bytes, *, key: object, pure: bool) -> Future:
        """Return a future that has ended."""
        Order.model_validate_json(order)
        assert not pure
        chunk = cases_of(cases)
        self.chunks.append([case.id for case in chunk])
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        return Future(self, key, chunk)

    def cancel(self, futures: object) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Future:
    """What came of a chunk."""

    def __init__(self, client: Client, key: object, chunk: list[Case]) -> None:
        self.key, self._client, self._chunk = key, client, chunk

    def add_done_callback(self, function: Callable[[Future], None]) -> None:
        """Call it at once."""
        function(self)

    def result(self) -> bytes:
        """Return the reply, or raise what dask raises of a task that has ended its workers."""
        self._client.waiting -= 1
        if self._client.deadly & {case.id for case in self._chunk}:
            raise KilledWorker("task", None, 3)  # type: ignore[arg-type] # nobody reads the worker
        return type(self._client).answer(self._chunk).model_dump_json().encode()


class Processes:
    """A scheduler and dask workers as processes.

    Attributes:
        address: the scheduler's.
        scheduler: its process.
        workers: the workers' processes; with a nanny, the nanny's.
    """

    def __init__(self, folder: Path, **more: str) -> None:
        self._folder, self._more = folder, more
        self._file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._started("scheduler", "--host", "127.0.0.1", "--port", "0")
        while not self._file.exists() or not self._file.read_text(encoding="utf-8"):
            assert self.scheduler.poll() is None, self.log("scheduler")
            sleep(0.05)
        self.address: str = json.loads(self._file.read_text(encoding="utf-8"))["address"]

    def worker(self, *options: str, **more: str) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        self.workers.append(self._started("worker", "--nthreads", "1", "--nworkers", "1", *options, **more))
        return self.workers[-1]

    def _started(self, what: str, *options: str, **more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self._file), "--no-dashboard", *options]
        with (self._folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=environment(TMPDIR=str(self._folder), **self._more, **more),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def await_workers(self) -> None:
        """Wait until the scheduler knows all workers that were started."""
        while self.log("scheduler").count("Register worker") < len(self.workers):
            sleep(0.05)

    def log(self, what: str) -> str:
        """Return what the scheduler or the workers have printed."""
        return (self._folder / f"{what}.log").read_text(encoding="utf-8")

    def close(self) -> None:
        """End all of them, the scheduler last."""
        for process in (*self.workers, self.scheduler):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                # A dask worker whose peers end at the same time may wait for them for ever.
                process.kill()
                process.wait()


@contextmanager
def processes(folder: Path, workers: int = 2, *options: str, **more: str) -> Iterator[Processes]:
    """Start a cluster and yield it; end it afterwards."""
    folder.mkdir(exist_ok=True)
    cluster = Processes(folder, **more)
    try:
        for _ in range(workers):
            cluster.worker(*options)
        cluster.await_workers()
        yield cluster
    finally:
        cluster.close()


def pools_below(folder: Path) -> list[int]:
    """Return the workers of pools whose logs, where what they print goes, are below a folder."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                log = (process / "fd" / "1").readlink()
            except OSError:
                # It has ended since, or is another user's.
                continue
            if log.is_relative_to(folder) and re.fullmatch(r"worker-\d+\.log", log.name):
                found.append(int(process.name))
    return found


def answered(coroutine: Any) -> Reply:  # noqa: ANN401 - a coroutine of any kind
    """Run a coroutine of a dask worker, and return its reply."""
    return Reply.model_validate_json(asyncio.run(coroutine))


def are_there(folder: Path, count: int) -> bool:
    """Return whether so many workers of pools are below a folder within a while: one that died may be replaced."""
    for _ in range(500):
        if len(pools_below(folder)) >= count:
            return True
        sleep(0.02)
    return False


def none_is_left(folder: Path) -> bool:
    """Return whether all workers of pools below a folder end within a while."""
    for _ in range(500):
        if not pools_below(folder):
            return True
        sleep(0.02)
    return False

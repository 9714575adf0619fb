"""A run on a dask cluster: each chunk of cases is a future, and a pool on the machine of a dask worker runs it.

If a runtime crashes, it ends a process of the pool, not the dask worker. dask runs the chunk of a lost worker again.
Only the process of the command writes records and artifacts.
"""

from __future__ import annotations

import logging
import platform
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import TYPE_CHECKING
from uuid import uuid4

from distributed import CancelledError, Client, Future, as_completed
from distributed.scheduler import KilledWorker, NoWorkerError

from tconv import __version__
from tconv.dialects import find_dialect
from tconv.errors import ClusterError, FileError, TconvError
from tconv.execution.pool import Pool
from tconv.records import artifacts, machine_facts
from tconv.records.headers import flat, versions
from tconv.records.record import Record, record_line, record_of
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tconv.cases.case import Case
    from tconv.execution.again import WaitingFailures
    from tconv.execution.asking import Asking
    from tconv.records.headers import BackendHeader

    Reply = tuple[BackendHeader, dict[str, str], list[str], dict[str, bytes]]
    """The backend, facts that must be equal on all machines, the record line of each case, artifacts by file name."""

_CHUNK = 64
"""Cases of a future. A lost worker costs at most so many; more cases share the cost of dask and the network."""
_AHEAD = 256
"""Chunks that are submitted at a time: all workers have work, and memory is bounded."""
_CONNECT_SECONDS, _WORKER_SECONDS, _IDLE_SECONDS = 10, 30, 5
_MAY_DIFFER = {*(f"machine.{fact}" for fact in machine_facts.MAY_DIFFER), f"environment.{machine_facts.CONFINEMENT}"}


@contextmanager
def joined(address: str, asking: Asking, folder: Path) -> Iterator[Cluster]:
    """Connect to a scheduler for one run.

    At the end dask drops chunks that have not begun, and a pool without a case ends after some seconds.

    Args:
        address: the address of the scheduler.
        asking: how the backend is asked.
        folder: the folder of artifacts on this machine.

    Raises:
        ClusterError: there is no scheduler or no worker, or the worker would not judge as this process does.
        BackendMissing: the backend is not there or does not start.
    """
    # dask logs tracebacks of a lost scheduler; the error that we raise says it in one line.
    for name in ("distributed", "distributed.client", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with _reaching(address):
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    with client:
        yield Cluster(client, address, asking, folder)


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    """Raise a `ClusterError` if the scheduler cannot be reached, a worker lacks tconv, or dask gave up."""
    try:
        yield
    except (OSError, ValueError, ImportError, CancelledError, KilledWorker, NoWorkerError) as error:
        got = one_line(f"{type(error).__name__}: {error}")
        must = "must be a dask scheduler with workers that have tconv and stay"
        raise ClusterError(f"{address} {must} (got: {got}); go on with --resume if there are records") from None


class Cluster:
    """The dask workers of a cluster; they run cases as a `Pool` does.

    Attributes:
        backend: the header of the backend, from the first worker.
        dialect: the dialect of the calls.
    """

    def __init__(self, client: Client, address: str, asking: Asking, folder: Path) -> None:
        self._client, self._address, self._asking, self._folder = client, address, asking, folder
        self._facts: dict[str, str] = {}
        with _reaching(address):
            client.wait_for_workers(1, timeout=_WORKER_SECONDS)
            self.backend, said, *_ = self._submitted([]).result()
        self.dialect = asking.dialect or find_dialect(said["dialect"])
        self._facts = _facts(self)
        _compare(said, self._facts)

    def run(self, cases: Iterable[Case], failures: WaitingFailures | None = None) -> Iterator[Record]:
        """Yield a record for every case, in the order in which they are done; no failure is asked again.

        Raises:
            ClusterError: the scheduler is lost, dask gives a chunk up, or a worker judges differently.
            BackendLost: a process of a pool died, and the backend does not start again.
        """
        del failures
        remaining = iter(cases)
        chunks = iter(lambda: list(islice(remaining, _CHUNK)), [])
        futures = as_completed(map(self._submitted, islice(chunks, _AHEAD)), loop=self._client.loop)
        for future in futures:
            with _reaching(self._address):
                _, _, lines, arrays = future.result()
            futures.update(map(self._submitted, islice(chunks, 1)))
            for name, data in arrays.items():
                artifacts.moved_in(self._folder, name, data)
            yield from map(record_of, lines)

    def _submitted(self, chunk: list[Case]) -> Future[Reply]:
        # If dask gives up a chunk, its error shows this name.
        name = f"{chunk[0].id if chunk else 'introduction'} {uuid4().hex}"
        return self._client.submit(run_chunk, self._asking, self._facts, chunk, key=name)


def run_chunk(asking: Asking, expected: Mapping[str, str], cases: list[Case]) -> Reply:
    """Run cases on a dask worker.

    Args:
        asking: how the backend is asked.
        expected: the facts that must be equal on this machine; empty for the first one.
        cases: the cases.
    """
    try:
        with _taken(asking) as pool:
            facts = _facts(pool)
            _compare(facts, expected or facts)
            lines = [record_line(record) for record in pool.run(cases)]
            return pool.backend, facts, lines, dict(artifacts.moved_out(pool.folder))
    except TconvError as error:
        # dask passes on only the first argument of an error; the text names the machine.
        kind = ClusterError if isinstance(error, FileError) else type(error)
        raise kind(f"{platform.node()}: {error}") from None


class LocalPool(Pool):
    """A pool with one worker process, for a thread of a dask worker; after a chunk it waits for another chunk.

    Attributes:
        purpose: how the backend is asked.
        folder: the folder of artifacts, until they are sent to the command.
    """

    def __init__(self, asking: Asking) -> None:
        self._work = TemporaryDirectory(prefix="tconv-run-", ignore_cleanup_errors=True)
        self.purpose, self.folder = asking, Path(self._work.name)
        own = replace(asking, folder=self._work.name)
        super().__init__(own)

    def __exit__(self, *error: object) -> None:
        if any(error):
            self.close()
            return
        timer = _idle[self] = Timer(_IDLE_SECONDS, _end_idle, [self])
        timer.start()

    def close(self) -> None:
        """End the worker process, and remove the folder."""
        super().close()
        self._work.cleanup()


_idle: dict[LocalPool, Timer] = {}
"""On a dask worker: the pools that wait for a chunk, each with the timer that ends it. A thread that removes a pool
from here owns it."""


def _taken(asking: Asking) -> LocalPool:
    """Return a pool that no other thread uses."""
    for pool in list(_idle):
        if pool.purpose == asking and (timer := _idle.pop(pool, None)):
            timer.cancel()
            return pool
    return LocalPool(asking)


def _end_idle(pool: LocalPool) -> None:
    if _idle.pop(pool, None):
        pool.close()


def _facts(judge: Pool | Cluster) -> dict[str, str]:
    """Return the facts that must be equal on all machines, by name; a digest stands for the dialect."""
    digest = blake2b(repr(judge.dialect).encode(), digest_size=8).hexdigest()
    said = {name: str(value) for name, value in flat(judge.backend.model_dump()) if name not in _MAY_DIFFER}
    return said | versions() | {"tconv": __version__, "dialect": judge.dialect.name, "digest of the dialect": digest}


def _compare(said: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Refuse a machine that would judge differently."""
    names = sorted({name for name, _ in said.items() ^ expected.items()})
    if names:
        texts = (f"{name} must be {expected.get(name, '')!r}, got {said.get(name, '')!r}" for name in names)
        raise ClusterError(f"every dask worker must judge alike ({'; '.join(texts)})")

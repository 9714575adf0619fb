"""A run on a dask cluster: the same chunks, judged by the same pools, on other machines. Only this process writes.

dask runs a chunk again whose worker was lost. Lost often, a chunk is run with nothing beside it, in halves, until the
case is alone that ends the dask worker itself: its verdict is `died`.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import contextmanager, suppress
from itertools import islice
from math import inf
from operator import length_hint
from pathlib import Path
from queue import Empty, SimpleQueue
from sys import maxsize
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from distributed import CancelledError, Client, KilledWorker

from tconv import __version__
from tconv.dialects import dialect_named
from tconv.errors import ClusterError, TconvError, writing
from tconv.execution import dask_worker
from tconv.execution.cluster_messages import CASES, Introduction, Reply, checked, differences, joined, order_of
from tconv.execution.versions import versions
from tconv.records import artifacts
from tconv.records.record import Line, Record
from tconv.shown_texts import one_line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distributed import Future

    from tconv.cases.case import Case
    from tconv.execution.worker import Assignment

    Chunk = list[Case]

# Of a lost scheduler dask logs tracebacks; what there is to say is in the error that we raise.
for _name in ("distributed", "distributed.client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

LARGEST_CHUNK = 256
"""Cases of a task at most: what dask and the network cost is paid per task."""
LEAST_CHUNKS = 4
"""How many tasks a thread has at least, so that all end at about the same time."""
FEWEST_AHEAD = 16
"""Chunks that are on their way at least, so that a cluster that grows finds work waiting."""
_CONNECT_SECONDS = 10
_WORKER_SECONDS = 30.0
"""How long no dask worker may be there."""
_COUNT_SECONDS = 5.0


class Cluster:
    """The dask workers of a cluster, each with a pool for every thread; it is used as a `Pool` is.

    Args:
        address: the scheduler's.
        assignment: what the workers are started for; its folder is here, where artifacts are brought.
        timeout: seconds that a case may take.

    Attributes:
        backend: what the backend says of itself.
        dialect: the dialect that it speaks.

    Raises:
        ClusterError: there is no scheduler or no worker, or the workers would not judge alike.
        BackendMissing: the backend is not there or does not start, on any of the workers.
    """

    def __init__(self, address: str, assignment: Assignment, timeout: float) -> None:
        self._address, self._folder = address, assignment.folder
        self._order = order_of(assignment, timeout)
        self._ordered = self._order.model_dump_json().encode()
        self._tasks = 0
        self._counted, self._threads = -inf, 1
        with self._reaching():
            self._client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        try:
            agreed = self._agreement()
        except BaseException:
            self.close()
            raise
        self._agreed = agreed.model_dump_json().encode()
        self.backend, self.dialect = agreed.backend, dialect_named(agreed.dialect)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the pools of this run, and leave the cluster."""
        # A scheduler that is gone cannot be told, and its workers end with it.
        with suppress(Exception):
            self._client.run(dask_worker.end, self._order.run, on_error="ignore")
        with suppress(Exception):
            self._client.close()

    def run(self, cases: Iterable[Case]) -> Iterator[Line]:
        """Yield a line for every case, in the order in which they are done.

        Raises:
            ClusterError: the scheduler or all workers are lost.
            BackendLost: a worker died, and the backend does not start again.
        """
        size = min(LARGEST_CHUNK, max(1, length_hint(cases, maxsize) // (LEAST_CHUNKS * self._count())))
        remaining = iter(cases)
        suspects: list[Chunk] = []
        yield from self._through(iter(lambda: list(islice(remaining, size)), []), suspects)
        while suspects:
            # Which of the chunks on a worker ended it can only be seen of a chunk that has no other beside it.
            lost: list[Chunk] = []
            yield from self._through(iter([suspects.pop()]), lost)
            for chunk in lost:
                if len(chunk) == 1:
                    yield self._died(chunk[0])
                else:
                    suspects += chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]

    def _agreement(self) -> Introduction:
        """Return what all workers say of themselves, after it was checked that they judge alike."""
        with self._reaching():
            self._client.wait_for_workers(1, timeout=_WORKER_SECONDS)
            replies = self._client.run(dask_worker.introduce, self._ordered, on_error="return")
        introductions: dict[str, Introduction] = {}
        for worker, reply in replies.items():
            if not isinstance(reply, bytes):
                text = one_line(f"{type(reply).__name__}: {reply}")
                raise ClusterError(f"every dask worker must have tconv {__version__} ({worker} answers {text})")
            introduction = checked(reply, worker).introduction
            if introduction is not None:
                introductions[worker] = introduction
        if not introductions:
            raise ClusterError(f"{self._address} must have a dask worker (the last one is lost)")
        agreed = joined(list(introductions.values()))
        own = agreed.model_copy(update={"tconv": __version__, "platform": versions()})
        if differing := differences(introductions) or differences({"this machine": own, "the workers": agreed}):
            raise ClusterError(f"every dask worker must judge alike ({'; '.join(differing)})")
        return agreed

    def _through(self, chunks: Iterator[Chunk], lost: list[Chunk]) -> Iterator[Line]:
        """Yield the lines of chunks, with a bounded number of them on the cluster.

        Args:
            chunks: the chunks.
            lost: takes the chunks whose workers were lost often.
        """
        finished: SimpleQueue[Future[bytes]] = SimpleQueue()
        running: dict[Any, tuple[Future[bytes], Chunk]] = {}
        again: deque[Chunk] = deque()
        try:
            while True:
                while len(running) < self._most() and (chunk := again.popleft() if again else next(chunks, None)):
                    future = self._submitted(chunk)
                    running[future.key] = future, chunk
                    future.add_done_callback(finished.put)
                if not running:
                    return
                future = self._next(finished)
                _, chunk = running.pop(future.key)
                try:
                    reply = self._result(future)
                except KilledWorker:
                    lost.append(chunk)
                    continue
                yield from self._lines(reply, chunk)
                answered = {case for case, _ in reply.lines}
                if rest := [case for case in chunk if case.id not in answered]:
                    again.append(rest)
        finally:
            with suppress(Exception):
                self._client.cancel([future for future, _ in running.values()])

    def _submitted(self, chunk: Chunk) -> Future[bytes]:
        self._tasks += 1
        return self._client.submit(
            dask_worker.run_chunk,
            self._ordered,
            self._agreed,
            CASES.dump_json(chunk),
            # A key's first part names its group; dask gives out tasks of large groups one after another.
            key=(f"tconv-{self._order.run}", self._tasks),
            pure=False,
        )

    def _next(self, finished: SimpleQueue[Future[bytes]]) -> Future[bytes]:
        """Wait for a task that has ended, as long as there are workers."""
        while True:
            with suppress(Empty):
                return finished.get(timeout=_WORKER_SECONDS)
            with self._reaching():
                if not self._client.nthreads():
                    raise ClusterError(f"{self._address} must have a dask worker (the last one is lost)")

    def _result(self, future: Future[bytes]) -> Reply:
        with self._reaching():
            data = future.result()
        return checked(data, self._address)

    def _lines(self, reply: Reply, chunk: Chunk) -> Iterator[Line]:
        """Write the artifacts of a reply, and yield its lines."""
        identities = {case.id: (self.backend.name, self.dialect.name, case.id, *self.backend.chosen) for case in chunk}
        answered = {case for case, _ in reply.lines}
        if not answered or len(answered) < len(reply.lines) or not answered <= identities.keys():
            raise TconvError("a dask worker must answer cases that it was sent, each once (got others, or none)")
        if self._folder is not None:
            folder = Path(self._folder)
            for identity in identities.values() if reply.artifacts else ():
                if (data := reply.artifacts.get(artifacts.file_name(identity))) is not None:
                    with writing(folder / artifacts.FOLDER, "folder"):
                        artifacts.moved_in(folder, identity, data)
        for case, text in reply.lines:
            yield Line(case, text)

    def _died(self, case: Case) -> Line:
        verdict = ver.Died("the dask worker is lost whenever it runs this case", "")
        return Line.of(Record(case.id, self.backend.name, self.dialect.name, verdict))

    def _most(self) -> int:
        """Return how many chunks may be on their way."""
        return max(FEWEST_AHEAD, 2 * self._count())

    def _count(self) -> int:
        """Return how many threads the workers have, counted anew now and then: workers come and go."""
        if monotonic() > self._counted + _COUNT_SECONDS:
            with self._reaching():
                self._threads = max(1, sum(self._client.nthreads().values()))
            self._counted = monotonic()
        return self._threads

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Report in words that the scheduler cannot be reached."""
        try:
            yield
        except (OSError, ValueError, CancelledError) as error:
            text = one_line(f"{type(error).__name__}: {error}")
            raise ClusterError(f"{self._address} must be a dask scheduler with workers (got: {text})") from None

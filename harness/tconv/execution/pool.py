"""The pool: workers that die or fall silent are replaced, and what they died of becomes one case's verdict."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from tconv.backends.ending import ending, tail
from tconv.errors import BackendLost, BackendMissing, DialectError, TconvError, one_line
from tconv.execution.probe import PROBED
from tconv.execution.signals import undisturbed
from tconv.execution.worker import CASES, Assignment, serve
from tconv.records.record_file import BackendHeader, Line, Record
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.context import SpawnProcess

    from tconv.cases.case import Case

CHUNK = 32
"""Cases a message; few enough that the last chunks of several workers end together."""
HARNESS_SECONDS = 600.0
"""How long what is ours may take for one case: operands, reference and judgement. The backend has its own limit."""
START_SECONDS = 120.0
"""How long a backend may take to load."""
_GRACE_SECONDS = 5.0
_QUESTIONS = 2
_PROBE_SECONDS = 10.0


@dataclass(slots=True)
class _Worker:
    """A worker process and what it is doing.

    Attributes:
        first: the case that it prepared first; whatever it dies of while it is at this one, no other case has a part.
        prepared: the case that it is at, from its operands to its record.
        asked: whether the backend has been asked about that case, and has not answered.
        held: the case before and what came of it, kept until the worker goes on: a runtime may die of a case while it
            cleans up after it.
    """

    process: SpawnProcess
    connection: Connection
    log: Path
    deadline: float
    pending: deque[Case]
    introduced: bool = False
    first: str | None = None
    prepared: str | None = None
    asked: bool = False
    held: tuple[Case, Line] | None = None

    @property
    def busy(self) -> bool:
        """Whether an answer is awaited."""
        return bool(self.pending) or self.held is not None or not self.introduced

    def released(self) -> Iterator[Line]:
        """Yield the line that was held back, if there is one."""
        if self.held:
            yield self.held[1]
        self.held = None

    @property
    def ended(self) -> bool:
        """Whether the process has ended, though a child of its may hold the connection."""
        return not self.process.is_alive()

    def heard(self, seconds: float) -> list[Any] | None:
        """Return the next message, or None where the worker ends or says nothing for so long."""
        with suppress(EOFError, OSError):
            if self.connection.poll(seconds):
                message: list[Any] = json.loads(self.connection.recv_bytes())
                return message
        return None

    def kill(self) -> None:
        """End the worker and whatever it started."""
        if hasattr(os, "killpg") and self.process.pid:
            with suppress(ProcessLookupError, PermissionError):
                # Only a worker that leads its own group is reached this way, never the caller's group. One that has
                # introduced itself does so even after its end, as long as something that it started is there.
                if self.introduced or os.getpgid(self.process.pid) == self.process.pid:
                    os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()


class Pool:
    """Workers of one backend in one dialect.

    Args:
        assignment: what each worker is started for; its log is replaced by a file of the worker's own.
        jobs: how many workers.
        timeout: seconds that one case may take.

    Attributes:
        backend: what the backend says of itself.
        dialect: the dialect that is spoken.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """

    def __init__(self, assignment: Assignment, jobs: int, timeout: float) -> None:
        self._assignment = assignment
        self._timeout = timeout
        self._jobs = jobs
        self._context = multiprocessing.get_context("spawn")
        self._logs = tempfile.TemporaryDirectory(prefix="tconv-")
        self._started = 0
        self._workers: list[_Worker] = []
        self._suspected: dict[str, str] = {}
        try:
            self.dialect, self.backend = self._acquainted()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        self._logs.cleanup()

    def run(self, cases: Sequence[Case]) -> Iterator[Line]:
        """Yield a line for every case, in the order in which they are done.

        Raises:
            BackendLost: a worker died, and the backend does not start again.
        """
        waiting, left = deque(cases), len(cases)
        while len(self._workers) < min(self._jobs, ceil(left / CHUNK)):
            self._start()
        for worker in self._workers:
            if worker.introduced:
                self._feed(worker, waiting)
        while left:
            for line in self._heard(waiting):
                left -= 1
                yield line

    def _heard(self, waiting: deque[Case]) -> Iterator[Line]:
        """Wait, and yield what the workers have said or failed to say."""
        for worker in self._ready():
            yield from self._answers(worker, waiting)
        # An answer that lies unread, because whoever takes our lines was slow, is in time.
        for worker in [w for w in self._workers if w.busy and monotonic() > w.deadline and not w.connection.poll()]:
            if not worker.introduced:
                raise BackendLost(f"backend {self._assignment.backend!r} must start again within {START_SECONDS:g} s")
            if worker.ended:
                yield from self._died(worker, waiting)
            else:
                yield from self._silent(worker, waiting)

    def _acquainted(self) -> tuple[str, BackendHeader]:
        """Start the first worker, and learn who its backend is and what it accumulates in.

        Later workers are told the latter: a run is judged by one measure. A backend that dies or falls silent when it
        is asked about a type is started again and not asked; the cases of that type will tell.
        """
        worker = self._start()
        dialect, backend = self._introduced(worker)
        known: dict[str, str | None] = {}
        for dtype in PROBED:
            answer = worker.heard(max(_PROBE_SECONDS, _QUESTIONS * self._timeout))
            known[dtype] = answer[1] if answer else None
            if answer is None:
                worker.kill()
                self._workers.remove(worker)
                self._assignment = replace(self._assignment, accumulates=dict(known))
                worker = self._start()
                self._introduced(worker)
        self._assignment = replace(self._assignment, accumulates=known)
        found = {dtype: sums for dtype, sums in known.items() if sums}
        return dialect, backend.model_copy(update={"accumulates": found})

    def _start(self, pending: Iterable[Case] = ()) -> _Worker:
        log = Path(self._logs.name) / f"worker-{self._started}.log"
        self._started += 1
        ours, theirs = self._context.Pipe()
        assignment = replace(self._assignment, log=str(log))
        process = self._context.Process(target=serve, args=(theirs, assignment), daemon=True)
        worker = _Worker(process, ours, log, monotonic() + START_SECONDS, deque(pending))
        with undisturbed():
            process.start()
            self._workers.append(worker)
        theirs.close()
        return worker

    def _introduced(self, worker: _Worker) -> tuple[str, BackendHeader]:
        """Take a worker's first reply, which says who its backend is.

        Raises:
            BackendMissing: there is no backend, or it ended before it answered.
        """
        message = worker.heard(max(0.0, worker.deadline - monotonic()))
        if message is None:
            said = tail(worker.log)
            printed = f"; it printed: {one_line(said.splitlines()[-1])}" if said else ""
            raise BackendMissing(
                f"backend {self._assignment.backend!r} must start (it ended before it answered){printed}"
            )
        match message:
            case ["info", dialect, header]:
                worker.introduced = True
                return dialect, BackendHeader.model_validate(header | {"spec": self._assignment.backend})
            case ["missing", text]:
                raise BackendMissing(text)
            case ["wrong", text]:
                raise DialectError(text)
            case _:
                raise TconvError(f"a worker must introduce itself (got {message!r})")

    def _feed(self, worker: _Worker, waiting: deque[Case]) -> None:
        """Send a worker its unfinished cases, or a new chunk; no message when there is none."""
        if not worker.pending:
            worker.pending = _chunk(waiting)
        if worker.pending:
            worker.deadline = monotonic() + HARNESS_SECONDS
            # A worker that has just ended is noticed when its answer is awaited.
            with suppress(OSError):
                worker.connection.send_bytes(CASES.dump_json(list(worker.pending)))

    def _ready(self) -> list[_Worker]:
        """Wait until a worker says something, ends, or is late."""
        busy = [worker for worker in self._workers if worker.busy]
        left = max(0.0, min(worker.deadline for worker in busy) - monotonic())
        ready = set(wait([worker.connection for worker in busy], timeout=left + 0.001))
        return [worker for worker in busy if worker.connection in ready]

    def _answers(self, worker: _Worker, waiting: deque[Case]) -> Iterator[Line]:
        """Take what a worker has said so far."""
        if not worker.introduced:
            try:
                self._introduced(worker)
            except BackendMissing as error:
                raise BackendLost(str(error)) from None
            self._feed(worker, waiting)
            return
        try:
            while worker.busy and worker.connection.poll():
                yield from self._answer(worker, json.loads(worker.connection.recv_bytes()), waiting)
        except (EOFError, OSError):
            yield from self._died(worker, waiting)

    def _answer(self, worker: _Worker, message: list[Any], waiting: deque[Case]) -> Iterator[Line]:
        worker.deadline = monotonic() + HARNESS_SECONDS
        match message:
            case ["prepare", case_id]:
                yield from worker.released()
                worker.first, worker.prepared = worker.first or case_id, case_id
            case ["begin", _]:
                worker.asked, worker.deadline = True, monotonic() + self._timeout
            case ["answered", _]:
                worker.asked = False
            case ["record", case_id, text]:
                worker.prepared = None
                worker.held = worker.pending.popleft(), self._answered(Line(case_id, text))
            case ["idle"]:
                yield from worker.released()
                self._feed(worker, waiting)
            case ["failed", case_id, trace]:
                raise RuntimeError(f"judging {case_id} failed:\n{trace}")
            case _:
                raise TconvError(f"a worker must answer in the protocol (got {message!r})")

    def _died(self, worker: _Worker, waiting: deque[Case]) -> Iterator[Line]:
        """Give the case that a worker ended of its verdict: where others had a part, after it was asked alone.

        It is the case that the worker was at, the one that it had just told, or, where it said nothing, the next.
        """
        worker.process.join(timeout=_GRACE_SECONDS)
        cause = ending(worker.process.exitcode) if worker.ended else "closed its connection and went on"
        suspect = worker.held[0] if worker.held else worker.pending.popleft()
        if suspect.id == worker.first or (worker.first is None and suspect.id in self._suspected):
            verdict = ver.Died(cause, tail(worker.log))
            self._replace(worker, waiting)
            yield self._unanswered(suspect, verdict)
            return
        self._suspected[suspect.id] = cause
        self._replace(worker, waiting, suspect)

    def _silent(self, worker: _Worker, waiting: deque[Case]) -> Iterator[Line]:
        """End a worker that says nothing; what it was asked about has timed out, what it has told is told."""
        yield from worker.released()
        seconds = self._timeout if worker.asked else HARNESS_SECONDS
        late = worker.pending.popleft() if worker.prepared or worker.first is None else None
        self._replace(worker, waiting)
        if late is not None:
            yield self._unanswered(late, ver.TimedOut(seconds))

    def _replace(self, worker: _Worker, waiting: deque[Case], alone: Case | None = None) -> None:
        """Start another worker, for one case alone where that is wanted, and give back what the old one left."""
        worker.kill()
        self._workers.remove(worker)
        waiting.extendleft(reversed(worker.pending))
        if left := _chunk(waiting) if alone is None else deque([alone]):
            self._start(left)

    def _unanswered(self, case: Case, verdict: ver.Died | ver.TimedOut) -> Line:
        """Return the line of a case that its worker died of, or fell silent on."""
        self._suspected.pop(case.id, None)
        return Line.of(Record(case.id, self.backend.name, self.dialect, verdict))

    def _answered(self, line: Line) -> Line:
        """Return a case's line; of one that died in company and not alone, it says so."""
        if (cause := self._suspected.pop(line.case, None)) is None:
            return line
        return Line.of(replace(line.record, harmed=cause))


def _chunk(waiting: deque[Case]) -> deque[Case]:
    return deque(waiting.popleft() for _ in range(min(CHUNK, len(waiting))))


def asking(pool: Pool) -> Callable[[Case], Record]:
    """Return what runs one case in a pool and returns its record."""
    return lambda case: answered(pool, [case])[case.id]


def answered(pool: Pool, cases: Sequence[Case]) -> dict[str, Record]:
    """Return the records of cases that a pool runs, by id."""
    return {line.case: line.record for line in pool.run(list(cases))}

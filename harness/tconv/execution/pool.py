"""The pool: workers that die or hang are replaced, and the death or the hang becomes the verdict of one case."""

from __future__ import annotations

import json
import multiprocessing
import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import replace
from math import ceil
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from tconv.backends.process_end import ending, tail
from tconv.dialects import dialect_named
from tconv.errors import BackendLost, BackendMissing, TconvError
from tconv.execution.accumulation import CASES_PER_TYPE, PROBED
from tconv.execution.process import WorkerProcess
from tconv.execution.signals import undisturbed
from tconv.execution.worker import CASES, Assignment, serve
from tconv.records.record_file import Line, Record
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.records.record_file import BackendHeader

CHUNK = 32
"""Cases in a message; so few that the last chunks of several workers end at about the same time."""
HARNESS_SECONDS = 600.0
"""How long tconv itself may take for a case: operands, reference and judgement. The backend has its own limit."""
START_SECONDS = 120.0
"""How long a backend may take to load."""
_GRACE_SECONDS = 5.0
_PROBE_SECONDS = 10.0


class Pool:
    """Workers of one backend in one dialect.

    Args:
        assignment: what each worker is started for; its log is replaced by a file of the worker's own.
        jobs: how many workers.
        timeout: seconds that a case may take.

    Attributes:
        backend: what the backend says of itself.
        dialect: the dialect that it speaks.

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
        self._workers: list[WorkerProcess] = []
        # How a worker died at a case of which it is not known yet whether it is the cause, by the case's id.
        self._suspected: dict[str, str] = {}
        try:
            self.dialect, self.backend = self._start_first()
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
        waiting, remaining = deque(cases), len(cases)
        while len(self._workers) < min(self._jobs, ceil(remaining / CHUNK)):
            self._start()
        for worker in self._workers:
            if worker.introduced:
                self._feed(worker, waiting)
        while remaining:
            for line in self._lines(waiting):
                remaining -= 1
                yield line

    def records(self, cases: Sequence[Case]) -> dict[str, Record]:
        """Run cases, and return their records by id."""
        return {line.case: line.record for line in self.run(cases)}

    def record(self, case: Case) -> Record:
        """Run a case, and return its record."""
        return self.records([case])[case.id]

    def _lines(self, waiting: deque[Case]) -> Iterator[Line]:
        """Wait for messages, deaths and deadlines, and yield the lines that come of them."""
        for worker in self._ready():
            yield from self._receive(worker, waiting)
        # A message that arrived in time is not late because the reader of our lines was slow.
        for worker in [w for w in self._workers if w.busy and monotonic() > w.deadline and not w.connection.poll()]:
            if not worker.introduced:
                raise BackendLost(f"backend {self._assignment.backend!r} must start again within {START_SECONDS:g} s")
            if worker.ended:
                yield from self._after_death(worker, waiting)
            else:
                yield from self._after_silence(worker, waiting)

    def _start_first(self) -> tuple[Dialect, BackendHeader]:
        """Start the first worker, and return the dialect and the header, with the types that sums are kept in.

        The first worker probes these types, and later ones are given the result: all cases of a run are judged by the
        same bound. A backend that dies or hangs in a probe is started again and that type is not probed; its cases
        will show the death.
        """
        worker = self._start()
        dialect_name, backend = worker.introduction(self._assignment.backend)
        accumulates = dict(self._assignment.accumulates)
        for dtype in (dtype for dtype in PROBED if dtype not in self._assignment.accumulates):
            message = worker.receive(max(_PROBE_SECONDS, CASES_PER_TYPE * self._timeout))
            accumulates[dtype] = message[1] if message else None
            if message is None:
                worker.kill()
                self._workers.remove(worker)
                self._assignment = replace(self._assignment, accumulates=dict(accumulates))
                worker = self._start()
                worker.introduction(self._assignment.backend)
        self._assignment = replace(self._assignment, accumulates=accumulates)
        known = {dtype: accumulator for dtype, accumulator in accumulates.items() if accumulator}
        dialect = self._assignment.dialect or dialect_named(dialect_name)
        return dialect, backend.model_copy(update={"accumulates": known})

    def _start(self, pending: Iterable[Case] = ()) -> WorkerProcess:
        log = Path(self._logs.name) / f"worker-{self._started}.log"
        self._started += 1
        ours, theirs = self._context.Pipe()
        assignment = replace(self._assignment, log=str(log))
        process = self._context.Process(target=serve, args=(theirs, assignment), daemon=True)
        worker = WorkerProcess(process, ours, log, monotonic() + START_SECONDS, deque(pending))
        with undisturbed():
            process.start()
            self._workers.append(worker)
        theirs.close()
        return worker

    def _feed(self, worker: WorkerProcess, waiting: deque[Case]) -> None:
        """Send a worker its unfinished cases, or a new chunk; no message where there is none."""
        if not worker.pending:
            worker.pending = _chunk(waiting)
        if worker.pending:
            worker.deadline = monotonic() + HARNESS_SECONDS
            # That a worker has just ended is noticed when its next message is awaited.
            with suppress(OSError):
                worker.connection.send_bytes(CASES.dump_json(list(worker.pending)))

    def _ready(self) -> list[WorkerProcess]:
        """Wait until workers send a message, end, or are late; return those that can be read."""
        busy = [worker for worker in self._workers if worker.busy]
        seconds = max(0.0, min(worker.deadline for worker in busy) - monotonic())
        ready = set(wait([worker.connection for worker in busy], timeout=seconds + 0.001))
        return [worker for worker in busy if worker.connection in ready]

    def _receive(self, worker: WorkerProcess, waiting: deque[Case]) -> Iterator[Line]:
        """Receive the messages that a worker has sent so far, and yield the lines that come of them."""
        if not worker.introduced:
            try:
                worker.introduction(self._assignment.backend)
            except BackendMissing as error:
                raise BackendLost(str(error)) from None
            self._feed(worker, waiting)
            return
        try:
            while worker.busy and worker.connection.poll():
                yield from self._handle(worker, json.loads(worker.connection.recv_bytes()), waiting)
        except (EOFError, OSError):
            yield from self._after_death(worker, waiting)

    def _handle(self, worker: WorkerProcess, message: list[Any], waiting: deque[Case]) -> Iterator[Line]:
        worker.deadline = monotonic() + HARNESS_SECONDS
        match message:
            case ["prepare", case_id]:
                yield from worker.confirmed()
                worker.first, worker.prepared = worker.first or case_id, case_id
            case ["begin", _]:
                worker.calling, worker.deadline = True, monotonic() + self._timeout
            case ["answered", _]:
                worker.calling = False
            case ["record", case_id, text]:
                worker.prepared = None
                worker.unconfirmed = worker.pending.popleft(), self._with_harm(Line(case_id, text))
            case ["idle"]:
                yield from worker.confirmed()
                self._feed(worker, waiting)
            case ["failed", case_id, trace]:
                raise RuntimeError(f"judging {case_id} failed:\n{trace}")
            case _:
                raise TconvError(f"a worker must answer in the protocol (got {message!r})")

    def _after_death(self, worker: WorkerProcess, waiting: deque[Case]) -> Iterator[Line]:
        """Give the verdict to the case that a worker died of; if another case may be the cause, run it alone first.

        The suspect is the case that the worker was at, or the one whose record it had just sent; of a worker that sent
        nothing, the next one.
        """
        worker.process.join(timeout=_GRACE_SECONDS)
        cause = ending(worker.process.exitcode) if worker.ended else "closed its connection and went on"
        suspect = worker.unconfirmed[0] if worker.unconfirmed else worker.pending.popleft()
        if suspect.id == worker.first or (worker.first is None and suspect.id in self._suspected):
            verdict = ver.Died(cause, tail(worker.log))
            self._replace(worker, waiting)
            yield self._without_answer(suspect, verdict)
            return
        self._suspected[suspect.id] = cause
        self._replace(worker, waiting, suspect)

    def _after_silence(self, worker: WorkerProcess, waiting: deque[Case]) -> Iterator[Line]:
        """End a worker that sends nothing: the case that it is at has timed out, a record that it sent counts."""
        yield from worker.confirmed()
        seconds = self._timeout if worker.calling else HARNESS_SECONDS
        late = worker.pending.popleft() if worker.prepared or worker.first is None else None
        self._replace(worker, waiting)
        if late is not None:
            yield self._without_answer(late, ver.TimedOut(seconds))

    def _replace(self, worker: WorkerProcess, waiting: deque[Case], alone: Case | None = None) -> None:
        """Put back the cases that a worker has not run, and start another one; where given, for a case alone."""
        worker.kill()
        self._workers.remove(worker)
        waiting.extendleft(reversed(worker.pending))
        if chunk := _chunk(waiting) if alone is None else deque([alone]):
            self._start(chunk)

    def _without_answer(self, case: Case, verdict: ver.Died | ver.TimedOut) -> Line:
        """Return the line of a case at which its worker died or hung."""
        self._suspected.pop(case.id, None)
        return Line.of(Record(case.id, self.backend.name, self.dialect.name, verdict))

    def _with_harm(self, line: Line) -> Line:
        """Return a line; of a case at which a worker died after others but not when it ran alone, with the cause."""
        if (cause := self._suspected.pop(line.case, None)) is None:
            return line
        return Line.of(replace(line.record, harmed=cause))


def _chunk(waiting: deque[Case]) -> deque[Case]:
    return deque(waiting.popleft() for _ in range(min(CHUNK, len(waiting))))

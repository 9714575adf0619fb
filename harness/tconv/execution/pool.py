"""The pool: a worker that dies or hangs is replaced, and its death becomes the verdict of the case that it was at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from tconv.backends.process_end import ending, last_words
from tconv.errors import BackendLost, BackendMissing
from tconv.execution.process import START_SECONDS, Chunk, WorkerProcess
from tconv.execution.suspects import EarlierCases, Suspects
from tconv.execution.waiting import Waiting
from tconv.execution.worker_messages import EndedWhileLoading, raise_for
from tconv.execution.workers import STARTS, Spares, Workers
from tconv.records.record import Line, Record
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.execution.accumulation import SumPath
    from tconv.execution.worker import Assignment

_GRACE_SECONDS = 5.0
_SERVER_ENDED = 255
_UNASKED = 3
"""So many copies of a worker may end one after another before they are asked anything; then the backend is given up."""


class Pool:
    """Workers of one backend in one dialect.

    Args:
        assignment: what each worker is started for; its log is replaced by a file of the worker's own.
        jobs: how many workers.
        timeout: seconds that a case may take.

    Attributes:
        backend: what the backend says of itself.
        dialect: the dialect that it speaks.
        options: its options, each as name, meaning, default and what it may be.

    Raises:
        BackendMissing: the backend is not there or does not start.
        OptionError: it does not have an option that it was given, or not with that value.
    """

    def __init__(self, assignment: Assignment, jobs: int, timeout: float) -> None:
        self._workers = Workers(replace(assignment, timeout=timeout))
        self._spec = assignment.backend
        self._timeout = timeout
        self._jobs = jobs
        self._suspects = Suspects()
        self._unprobed: frozenset[SumPath] = frozenset()
        self._spares = Spares(self._workers.processes, self._workers.start, jobs)
        self._failed_starts = 0
        try:
            self.dialect, self.backend, self.options = self._workers.start_first()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        self._workers.close()

    def run(self, cases: Iterable[Case]) -> Iterator[Line]:
        """Yield a line for every case, in the order in which they are done.

        Args:
            cases: read as the workers need them, one chunk ahead.

        Raises:
            BackendLost: a worker died, and the backend does not start again.
        """
        waiting = Waiting(cases)
        for worker in self._workers:
            if worker.introduced and not worker.spare:
                self._feed(worker, waiting)
        while sum(not worker.spare for worker in self._workers) < self._jobs and (chunk := waiting.next()):
            self._employ(chunk)
        while any(worker.chunk for worker in self._workers):
            yield from self._lines(waiting)

    def records(self, cases: Sequence[Case]) -> dict[str, Record]:
        """Run cases, and return their records by id."""
        return {line.case: line.record for line in self.run(cases)}

    def record(self, case: Case) -> Record:
        """Run a case, and return its record."""
        return self.records([case])[case.id]

    def _lines(self, waiting: Waiting) -> Iterator[Line]:
        """Wait for messages, deaths and deadlines, and yield the lines that come of them."""
        waiting.prepare()
        for worker in self._workers.ready():
            yield from self._receive(worker, waiting)
        for worker in self._workers.late():
            if not worker.introduced:
                seconds = START_SECONDS + self._timeout
                raise BackendLost(f"backend {self._spec!r} must start again within {seconds:g} s")
            # Killed first: while it runs, the case that it is at may change.
            worker.kill()
            late = self._workers.is_late(worker)
            yield from self._suspects.confirmed(worker.lines())
            if worker.overwritten and not worker.alone:
                self._ask_one_by_one(worker, waiting)
            elif late and (path := worker.probed):
                self._after_probe(worker, path, waiting)
            elif late and (case := worker.take_asked()):
                yield from self._without_answer(worker, case, ver.TimedOut(worker.seconds(self._timeout)), waiting)
            else:
                self._replace(worker, waiting)

    def _employ(self, chunk: Chunk) -> None:
        """Give cases to a spare worker, or start a worker for them."""
        worker = self._spares.take()
        if worker is None:
            self._workers.start(chunk)
        elif worker.introduced:
            worker.feed(chunk, self._unprobed)
        else:
            worker.chunk = chunk

    def _feed(self, worker: WorkerProcess, waiting: Waiting) -> None:
        """Send a worker the chunk that it was started for, or the next; no message where there is none."""
        if chunk := worker.chunk or waiting.next():
            worker.feed(chunk, self._unprobed)

    def _receive(self, worker: WorkerProcess, waiting: Waiting) -> Iterator[Line]:
        """Receive the messages that a worker has sent so far, and yield the lines that come of them."""
        if not worker.introduced:
            try:
                worker.introduction(self._spec, self._timeout)
            except EndedWhileLoading as error:
                self._start_again(worker, waiting, error)
                return
            except BackendMissing as error:
                raise BackendLost(str(error)) from None
            self._failed_starts = 0
            if not worker.spare:
                self._feed(worker, waiting)
            return
        try:
            while worker.busy and worker.connection.poll():
                yield from self._handle(worker, worker.message(), waiting)
            ended = worker.busy and worker.ended and not worker.connection.poll()
        except (EOFError, OSError):
            ended = True
        if ended:
            yield from self._after_death(worker, waiting)

    def _start_again(self, worker: WorkerProcess, waiting: Waiting, error: EndedWhileLoading) -> None:
        """Start another worker for one that ended while it loaded; after several in turn the backend is lost."""
        self._failed_starts += 1
        if self._failed_starts == STARTS:
            raise BackendLost(f"{error}; so it did {STARTS} times in turn") from None
        self._workers.remove(worker)
        if worker.chunk is not None:
            waiting.put_back(worker.chunk)
        if not worker.spare and (chunk := waiting.next()):
            self._employ(chunk)
        self._spares.start()

    def _handle(self, worker: WorkerProcess, message: list[Any], waiting: Waiting) -> Iterator[Line]:
        match message:
            case ["records"]:
                yield from self._suspects.confirmed(worker.lines())
            case ["done"]:
                lines = worker.lines(whole=True)
                if worker.pending:
                    yield from self._suspects.confirmed(lines)
                    yield from self._without_records(worker, waiting)
                    return
                worker.chunk, worker.unasked = None, 0
                self._feed(worker, waiting)
                yield from self._suspects.confirmed(lines)
            case ["ended", code, message] if message != worker.messages - 1:
                # It had received the last message; any other number is one that a runtime has written over it.
                worker.is_copy, worker.unasked = True, 0
                yield from self._after_end(worker, ending(code), waiting)
            case ["ended", code, _]:
                # It had not received the last message; its successor will.
                worker.unasked += 1
                if worker.unasked == _UNASKED:
                    raise BackendLost(
                        f"a fork of the loaded backend {self._spec!r} must wait for calls (got"
                        f" {_UNASKED} in turn that ended before any: {ending(code)}); look at what it does at a fork"
                    )
            case _:
                raise_for(message, worker.pending[worker.asked].id if worker.asked is not None else "no case")

    def _without_records(self, worker: WorkerProcess, waiting: Waiting) -> Iterator[Line]:
        """Ask cases again, each alone, whose records have gone: a runtime has written into or over its worker's file.

        A case that was alone in its message has done that itself.
        """
        if not worker.alone:
            self._ask_one_by_one(worker, waiting)
            return
        (case,) = worker.pending.values()
        worker.pending = {}
        self._replace(worker, waiting)
        outcome = ver.Broke("must leave the files of its worker alone (got a file without its record)")
        yield from self._verdict(case, outcome)

    def _ask_one_by_one(self, worker: WorkerProcess, waiting: Waiting) -> None:
        """Ask cases again, each in a message of its own, where it is not known which of them harmed the worker."""
        for case in reversed(worker.pending.values()):
            waiting.put_back(Chunk([case]))
        worker.pending = {}
        self._replace(worker, waiting)

    def _after_death(self, worker: WorkerProcess, waiting: Waiting) -> Iterator[Line]:
        """Find out how a worker died. Its case is asked again first, in a worker that was asked nothing before."""
        worker.process.join(timeout=_GRACE_SECONDS)
        code = worker.process.exitcode
        cause = ending(code) if worker.ended else "closed its connection, or wrote into it, and went on"
        # The end of the process that workers are forked from reads as this code for all of them.
        yield from self._after_end(worker, cause, waiting, may_be_backend=code != _SERVER_ENDED)

    def _after_end(
        self, worker: WorkerProcess, cause: str, waiting: Waiting, *, may_be_backend: bool = True
    ) -> Iterator[Line]:
        """Give the verdict where it is certain what a worker died of, or ask again what it was at.

        Args:
            worker: a worker that ended.
            cause: how.
            waiting: the cases that wait.
            may_be_backend: whether the cause may be the backend's.
        """
        yield from self._suspects.confirmed(worker.lines())
        if worker.overwritten and not worker.alone:
            self._ask_one_by_one(worker, waiting)
            return
        if path := worker.probed:
            self._after_probe(worker, path, waiting)
            return
        earlier = worker.earlier_ids
        if (case := worker.take_asked()) is None:
            self._replace(worker, waiting)
            return
        certain = worker.begun and worker.position.fresh and may_be_backend
        if certain or case in self._suspects:
            yield from self._without_answer(worker, case, ver.Died(cause, last_words(worker.log)), waiting)
            return
        self._suspects.add(case, cause, earlier)
        self._replace(worker, waiting, case)

    def _after_probe(self, worker: WorkerProcess, path: SumPath, waiting: Waiting) -> None:
        """Let the cases of a worker that ended or hung in a probe be asked again, and that path not be probed again."""
        self._unprobed |= {path}
        self._replace(worker, waiting)

    def _without_answer(
        self, worker: WorkerProcess, case: Case, outcome: ver.Died | ver.TimedOut, waiting: Waiting
    ) -> Iterator[Line]:
        """Give the verdict to the case at which a worker died or hung."""
        self._suspects.discard(case)
        self._replace(worker, waiting)
        yield from self._verdict(case, outcome)

    def _verdict(self, case: Case, verdict: ver.Verdict) -> Iterator[Line]:
        """Yield the line of a case that no worker has answered."""
        record = Record(case.id, self.backend.name, self.dialect.name, verdict)
        yield from self._suspects.confirmed([Line.of(record)])

    def _replace(self, worker: WorkerProcess, waiting: Waiting, first: Case | None = None) -> None:
        """Start another worker for the cases that a worker has not run; if one is given, for that one before them."""
        waiting.spread(Chunk(list(worker.pending.values()), staged=False))
        if first is not None:
            waiting.put_back(Chunk([first], staged=False))
        if worker.is_copy:
            worker.chunk, worker.pending, worker.is_copy = None, {}, False
            worker.earlier = EarlierCases()
            self._feed(worker, waiting)
            return
        self._workers.remove(worker)
        worker.chunk = None
        self._workers.leave_copies()
        self._spares.miss()
        if chunk := waiting.next():
            self._employ(chunk)
        for idle in [w for w in self._workers if not w.busy and not w.spare]:
            self._feed(idle, waiting)
        self._spares.start()

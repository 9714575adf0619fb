"""The pool: workers of one backend, and a record for every case, even if the runtime ends its process."""

from __future__ import annotations

import select
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Self

from tconv.backends.environments import engine_of
from tconv.backends.outcome import Crashed, TimedOut
from tconv.dialects import find_dialect
from tconv.errors import BackendLost, BackendMissing
from tconv.execution.again import WaitingFailures
from tconv.execution.queue import CHUNK, Queue
from tconv.execution.supervisor import EndedWhileLoading, WorkerProcess
from tconv.execution.zygote import LOST
from tconv.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.execution.accumulation import SumPath
    from tconv.execution.asking import Asking
    from tconv.execution.supervisor import Introduction

STARTS = 3
"""If so many workers in a row end while they load, the backend is reported as missing."""
_REFILL = CHUNK // 2
"""A worker with at most so many cases is given more, so that it never waits."""
_LONGEST_WAIT = 1.0
_STOPPED_SECONDS = 1.0
"""If a wait takes so much longer than planned, this process was stopped: Ctrl-Z, a paused container, a batch system."""


class Pool:
    """Workers of one backend in one dialect.

    Args:
        asking: how the backend is asked.
        jobs: how many workers.

    Attributes:
        backend: the header of the backend.
        dialect: the dialect of the calls.
        options: the backend's options, as `supervisor.OfferedOption`.

    Raises:
        BackendMissing: the backend is not there or does not start.
        OptionError: an option or its value is unknown to the backend.
    """

    def __init__(self, asking: Asking, jobs: int = 1) -> None:
        self._asking = asking
        self._jobs = jobs
        self._folder = TemporaryDirectory(prefix="tconv-run-", ignore_cleanup_errors=True)
        self._numbers = count()
        self._workers: list[WorkerProcess] = []
        self._unprobed: frozenset[SumPath] = frozenset()
        self._failed_starts = 0
        self._lost_zygote: int | None = None
        self._introduction: Introduction | None = None
        self._last_end = ""
        try:
            if (engine := engine_of(asking.backend)) is not None:
                # To make an environment takes minutes, which do not count as the start of a worker.
                engine.environment()
            self._start()
            while not (first := self._workers[0]).introduction:
                self._wait()
                self._read_loading(first)
        except BaseException:
            self.close()
            raise
        dialect_name, self.backend, self.options = self._introduction = first.introduction
        self.dialect = asking.dialect or find_dialect(dialect_name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def log(self) -> str:
        """What all workers have printed."""
        return "".join(path.read_text(errors="replace") for path in Path(self._folder.name).glob("worker-*.log"))

    def close(self) -> None:
        """End all workers."""
        try:
            while self._workers:
                self._remove(self._workers[-1])
        finally:
            self._folder.cleanup()

    def run(self, cases: Iterable[Case], failures: WaitingFailures | None = None) -> Iterator[Record]:
        """Yield a record for every case, in the order in which they are done.

        Args:
            cases: read as the workers need them, one chunk ahead.
            failures: takes failures, some of which are asked again; records that it still has at the end are not
                yielded.

        Raises:
            BackendLost: a worker crashed, and the backend does not start again, or is a different one then.
        """
        queue = Queue(cases, failures or WaitingFailures())
        try:
            while self._employ(queue):
                self._wait()
                for worker in [*self._workers]:
                    yield from self._read(worker, queue)
        finally:
            # If the caller stops early, workers still have cases.
            for worker in [worker for worker in self._workers if worker.pending]:
                self._remove(worker)

    def records(self, cases: Sequence[Case]) -> dict[str, Record]:
        """Run cases, and return their records by id."""
        return {record.case: record for record in self.run(cases)}

    def record(self, case: Case) -> Record:
        """Run a case, and return its record."""
        return self.records([case])[case.id]

    def _employ(self, queue: Queue) -> bool:
        """Give cases to workers, and start those that are missing; return whether any case is left."""
        for worker in self._workers:
            if worker.pending and not worker.alone and len(worker.pending) <= _REFILL and queue.has_others:
                worker.give(queue.take(), self._unprobed)
        for worker in self._idle():
            if queue.alone and worker.is_fresh:
                case = queue.alone.popleft()
                worker.give([case], self._unprobed, alone=True, again=queue.has_answer(case))
            elif queue.has_others:
                worker.give(queue.take(), self._unprobed)
        if not (queue.alone or queue.has_others or self._busy()):
            queue.ask_failures_again(self._jobs)
        is_left = bool(queue.alone or queue.has_others)
        if queue.alone and self._idle() and not any(worker.is_fresh for worker in self._workers):
            self._remove(self._idle()[0])
        while is_left and len(self._workers) < self._jobs:
            self._start()
        return is_left or self._busy() > 0

    def _idle(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if worker.introduction and not worker.pending]

    def _busy(self) -> int:
        return sum(bool(worker.pending) for worker in self._workers)

    def _start(self) -> None:
        log = Path(self._folder.name) / f"worker-{next(self._numbers)}.log"
        self._workers.append(WorkerProcess(self._asking, log))

    def _wait(self) -> None:
        """Wait until a worker has written something, has ended, or is late."""
        due = min((worker.deadline for worker in self._workers if worker.deadline is not None), default=monotonic())
        seconds = max(0.0, min(due - monotonic(), _LONGEST_WAIT))
        for worker in self._workers:
            worker.send()
        began = monotonic()
        written = [end for worker in self._workers for end in worker.descriptors]
        unsent = [end for worker in self._workers for end in worker.unsent]
        select.select(written, unsent, [], seconds)
        waited = monotonic() - began
        if waited > seconds + _STOPPED_SECONDS:
            # This process was stopped for a while, perhaps together with the workers: they are not late.
            for worker in self._workers:
                worker.excuse(waited)

    def _read(self, worker: WorkerProcess, queue: Queue) -> Iterator[Record]:
        """Yield the records that a worker has written; if it ended or is late, also what follows from that."""
        if worker.introduction is None:
            self._read_loading(worker)
            return
        yield from self._answers(worker, queue)
        code = worker.end
        # If it has written since, it may have waited for us: it is not late.
        late = worker.deadline is not None and monotonic() > worker.deadline and not worker.has_gone_on
        if code is None and not late:
            return
        # Killed first: while it runs, it may go on to another case.
        worker.kill()
        yield from self._answers(worker, queue)
        if code is not None:
            yield from self._after(worker, queue, Crashed(worker.cause(code), worker.last_words), code)
        elif worker.deadline is not None and monotonic() > worker.deadline:
            yield from self._after(worker, queue, TimedOut(worker.seconds), 0)
        else:
            queue.put_back(worker.pending.values())
            self._remove(worker)

    def _answers(self, worker: WorkerProcess, queue: Queue) -> Iterator[Record]:
        """Yield the records that a worker has written."""
        for answer in worker.read():
            yield from queue.answered(*answer)

    def _read_loading(self, worker: WorkerProcess) -> None:
        """Read the introduction of a worker; if it ended instead, start another one, a few times.

        Raises:
            BackendMissing: it ended too often, is late, or has no backend.
            BackendLost: the same of a later worker, or its backend differs from the first worker's.
        """
        try:
            for _ in worker.read():
                pass
            late = worker.deadline is not None and monotonic() > worker.deadline
            if worker.introduction is None and (worker.end is not None or late):
                # Several workers end with one zygote: that counts once.
                self._failed_starts += worker.end != LOST or worker.zygote != self._lost_zygote
                self._lost_zygote = worker.zygote if worker.end == LOST else None
                error = worker.silence()
                if not isinstance(error, EndedWhileLoading) or self._failed_starts == STARTS:
                    raise error
                self._remove(worker)
                self._start()
        except BackendMissing as error:
            if self._introduction is None:
                raise
            times = f"; so it did {STARTS} times in turn" if isinstance(error, EndedWhileLoading) else ""
            raise BackendLost(f"{error}{times}") from None
        if worker.introduction is not None:
            self._failed_starts = 0
            if self._introduction is not None:
                self._compare(worker.introduction)

    def _compare(self, introduction: Introduction) -> None:
        """Refuse a backend that differs in a later process."""
        for name, value in introduction.backend.model_dump().items():
            before = getattr(self.backend, name)
            if value != before:
                raise BackendLost(
                    f"backend {self._asking.backend!r} must say the same of itself in every process"
                    f" (got {name} {value!r}{self._last_end}, and {before!r} before)"
                )

    def _after(self, worker: WorkerProcess, queue: Queue, outcome: Crashed | TimedOut, code: int) -> Iterator[Record]:
        """Yield the record of the case at which a worker ended, if that is certain; put the other cases back."""
        number, earlier, path = worker.number, worker.earlier, worker.probed
        case = None if number is None or path is not None else worker.pending.pop(number)
        self._last_end = f" after a worker had ended at {case.id}" if case else self._last_end
        if path is not None and code != LOST:
            self._unprobed |= {path}
        is_known = code != LOST and worker.has_begun
        if case is not None and (is_known or not queue.asked_in_vain(case)):
            record = Record(case.id, self.backend.name, self.dialect.name, outcome)
            yield from queue.answered(case, record, earlier)
        queue.put_back(worker.pending.values())
        self._remove(worker)

    def _remove(self, worker: WorkerProcess) -> None:
        with suppress(ValueError):
            self._workers.remove(worker)
        worker.close()

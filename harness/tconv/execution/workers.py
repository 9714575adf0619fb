"""The worker processes of a pool: how they are started, what the first finds out, when they are late, how they end.

Spare workers are started before others die, so that none waits while a backend is loaded.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from shutil import rmtree
from time import monotonic
from typing import TYPE_CHECKING

from tconv.dialects import dialect_named
from tconv.execution.position import Position
from tconv.execution.process import Chunk, WorkerProcess
from tconv.execution.signals import undisturbed
from tconv.execution.starting import start_method, started
from tconv.execution.threads import limited
from tconv.execution.work_folder import WorkFolder
from tconv.execution.worker import Assignment, serve
from tconv.execution.worker_files import records_file, temporary_folder
from tconv.execution.worker_messages import EndedWhileLoading, Introduced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tconv.dialects import Dialect
    from tconv.records.headers import BackendHeader

STARTS = 3
"""After this number of workers that end in turn while they load, the backend does not start."""
_MOST_SPARES = 4
"""How many spare workers there are at most, beyond one for each job."""
_STOPPED_SECONDS = 1.0
"""A process that waits so much longer than it wanted to was stopped: by Ctrl-Z, a container's pause, a batch system."""


class Workers:
    """The worker processes of a pool.

    Args:
        assignment: what each is started for; its log is replaced by a file of the worker's own.

    Attributes:
        assignment: the same.
        processes: those that are there, spare ones included.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.processes: list[WorkerProcess] = []
        self._timeout = assignment.timeout
        self._context = start_method()
        self._logs = WorkFolder()
        self._started = 0

    def __iter__(self) -> Iterator[WorkerProcess]:
        return iter(self.processes)

    def close(self) -> None:
        """End all of them."""
        for worker in self.processes:
            worker.kill()
        self.processes.clear()
        self._logs.cleanup()

    def start(self, chunk: Chunk | None = None) -> WorkerProcess:
        """Start a worker.

        Args:
            chunk: the cases that it is to be sent when it has introduced itself.
        """
        log = Path(self._logs.name) / f"worker-{self._started}.log"
        self._started += 1
        ours, theirs = self._context.Pipe()
        position, assignment = Position(), replace(self.assignment, log=str(log))
        process = self._context.Process(target=serve, args=(theirs, position, assignment), daemon=True)
        worker = WorkerProcess(process, ours, position, log, chunk)
        with undisturbed(), limited():
            started(process)
            self.processes.append(worker)
        theirs.close()
        return worker

    def start_first(self) -> tuple[Dialect, BackendHeader, list[tuple[str, str, str, str]]]:
        """Start the first worker, and return the dialect, what records say of the backend, and the options.

        Raises:
            BackendMissing: the backend is not there or does not start.
            OptionError: it does not have an option that it was given, or not with that value.
        """
        dialect_name, backend, options = self._introduced()
        return self.assignment.dialect or dialect_named(dialect_name), backend, options

    def _introduced(self) -> Introduced:
        """Start a worker that has loaded its backend, in several tries where it ends before."""
        for _ in range(STARTS - 1):
            worker = self.start()
            with suppress(EndedWhileLoading):
                return worker.introduction(self.assignment.backend, self._timeout)
            self.remove(worker)
        return self.start().introduction(self.assignment.backend, self._timeout)

    def remove(self, worker: WorkerProcess) -> None:
        """End a worker, and remove its files."""
        worker.kill()
        self.processes.remove(worker)
        for file in (worker.log, records_file(str(worker.log))):
            file.unlink(missing_ok=True)
        rmtree(temporary_folder(str(worker.log)), ignore_errors=True)

    def leave_copies(self) -> None:
        """Let those that are started from now on leave copies of themselves for the time after their deaths."""
        self.assignment = replace(self.assignment, leaves_copies=True)

    def ready(self) -> list[WorkerProcess]:
        """Wait until workers send a message, end, or are late; return those that sent a message or ended."""
        busy = [worker for worker in self.processes if worker.busy]
        due = min(worker.deadline(self._timeout) for worker in busy)
        # A call that begins while we wait is not due before its whole time has passed.
        seconds = min(max(0.0, due - monotonic()), self._timeout)
        began = monotonic()
        ready = set(wait([end for worker in busy for end in worker.ends], timeout=seconds + 0.001))
        if monotonic() - began > seconds + _STOPPED_SECONDS:
            # This process was stopped for a while, perhaps with all others: what they had no time for is not late.
            for worker in busy:
                worker.started = monotonic()
        return [worker for worker in busy if not ready.isdisjoint(worker.ends)]

    def late(self) -> list[WorkerProcess]:
        """Return those whose time is over, and which have sent nothing.

        A message that arrived in time is not late because the reader of our lines was slow.
        """
        return [worker for worker in self.processes if worker.busy and self.is_late(worker) and not worker.has_message]

    def is_late(self, worker: WorkerProcess) -> bool:
        """Return whether a worker's time is over."""
        return monotonic() > worker.deadline(self._timeout)


class Spares:
    """The spare workers among those of a pool; a backend that never dies has none.

    Args:
        workers: the workers of the pool, which it changes.
        begin: starts a worker.
        jobs: how many workers have cases.
    """

    def __init__(self, workers: Sequence[WorkerProcess], begin: Callable[[], WorkerProcess], jobs: int) -> None:
        self._workers = workers
        self._begin = begin
        self._most = jobs + _MOST_SPARES
        self._wanted = 0

    def take(self) -> WorkerProcess | None:
        """Return a spare worker for cases, if possible one that has loaded its backend; None where there is none."""
        spares = sorted(self._all(), key=lambda spare: not spare.introduced)
        if not spares:
            return None
        spares[0].spare = False
        return spares[0]

    def miss(self) -> None:
        """Note that a worker has died: a spare is wanted the first time, and one more each time that none is ready."""
        ready = any(spare.introduced for spare in self._all())
        self._wanted = min(self._wanted + (not ready), self._most)

    def start(self) -> None:
        """Start the spare workers that are wanted and missing."""
        for _ in range(self._wanted - len(self._all())):
            self._begin().spare = True

    def _all(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if worker.spare]

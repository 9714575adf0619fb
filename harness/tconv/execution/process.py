"""A worker process as its parent sees it: its connection, its deadline, the cases that it has not answered."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from tconv.backends.process_end import tail
from tconv.errors import BackendMissing, DialectError, TconvError, one_line
from tconv.records.record_file import BackendHeader

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.records.record_file import Line


@dataclass(slots=True)
class WorkerProcess:
    """A worker process and what it is doing.

    Attributes:
        process: the process.
        connection: the parent's end of the connection.
        log: the file with what the process prints.
        deadline: when its next message is due, by the monotonic clock.
        pending: the cases that it was sent and has no record of yet.
        introduced: whether it has said which backend it runs.
        first: the case that it prepared first; if it dies at this one, no other case can be the cause.
        prepared: the case that it is at, from the operands to the record.
        calling: whether the backend is being called for that case.
        unconfirmed: the case before and its line, held back until the worker goes on: a runtime may die of a case while
            it cleans up after it.
    """

    process: SpawnProcess
    connection: Connection
    log: Path
    deadline: float
    pending: deque[Case]
    introduced: bool = False
    first: str | None = None
    prepared: str | None = None
    calling: bool = False
    unconfirmed: tuple[Case, Line] | None = None

    @property
    def busy(self) -> bool:
        """Whether a message is awaited."""
        return bool(self.pending) or self.unconfirmed is not None or not self.introduced

    @property
    def ended(self) -> bool:
        """Whether the process has ended, though a child of its may hold the connection."""
        return not self.process.is_alive()

    def confirmed(self) -> Iterator[Line]:
        """Yield the line that was held back, if there is one."""
        if self.unconfirmed:
            yield self.unconfirmed[1]
        self.unconfirmed = None

    def receive(self, seconds: float) -> list[Any] | None:
        """Return the next message, or None where the worker ends or sends nothing for so many seconds."""
        with suppress(EOFError, OSError):
            if self.connection.poll(seconds):
                message: list[Any] = json.loads(self.connection.recv_bytes())
                return message
        return None

    def introduction(self, spec: str) -> tuple[str, BackendHeader]:
        """Receive the first message, and return the dialect's name and the backend's header.

        Args:
            spec: how the user named the backend.

        Raises:
            BackendMissing: there is no backend, or it ended before it answered.
            DialectError: the backend does not speak the dialect.
        """
        match self.receive(max(0.0, self.deadline - monotonic())):
            case None:
                output = tail(self.log)
                printed = f"; it printed: {one_line(output.splitlines()[-1])}" if output else ""
                raise BackendMissing(f"backend {spec!r} must start (it ended before it answered){printed}")
            case ["info", dialect_name, header]:
                self.introduced = True
                return dialect_name, BackendHeader.model_validate(header | {"spec": spec})
            case ["missing", text]:
                raise BackendMissing(text)
            case ["wrong", text]:
                raise DialectError(text)
            case message:
                raise TconvError(f"a worker must introduce itself (got {message!r})")

    def kill(self) -> None:
        """End the worker and whatever it started."""
        if hasattr(os, "killpg") and self.process.pid:
            with suppress(ProcessLookupError, PermissionError):
                # Only a worker that leads its own group is killed by its group, never the caller's group. A worker that
                # has introduced itself leads one, and the group outlives it as long as a process that it started runs.
                if self.introduced or os.getpgid(self.process.pid) == self.process.pid:
                    os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()

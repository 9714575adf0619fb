"""A worker process as its parent sees it: its connection, its deadline, the cases that it has not answered."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EBADMSG
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tconv.backends.process_end import last_words
from tconv.errors import BackendMissing
from tconv.execution.accumulation import path_of
from tconv.execution.position import NOWHERE
from tconv.execution.suspects import EarlierCases
from tconv.execution.worker_files import WorkerRecords, records_file
from tconv.execution.worker_messages import EndedWhileLoading, Introduced, introduction_of
from tconv.records.record import Line, begin
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerProcess, SpawnProcess
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.execution.accumulation import SumPath
    from tconv.execution.position import Position

HARNESS_SECONDS = 600.0
"""How long tconv itself may take for a case: operands, reference, verdict, diagnosis. The backend has its own limit."""
_ENDING_SECONDS = 1.0
START_SECONDS = 120.0
"""How long a backend may take to load."""
_LONGEST_MESSAGE = 2**24


class Chunk(NamedTuple):
    """Cases of one message.

    Attributes:
        cases: the cases.
        staged: whether they are judged a few together, see `stages`. Not those that a worker left which ended: answers
            that were not judged yet ended with it, and would again.
    """

    cases: list[Case]
    staged: bool = True


@dataclass(slots=True)
class WorkerProcess:
    """A worker process and what it is doing.

    Attributes:
        process: the process.
        connection: the parent's end of the connection.
        position: where the worker says it is.
        log: the file with what the process prints.
        started: when it was started, by the monotonic clock.
        chunk: the cases that it was sent, or is to be sent when it has introduced itself; None for none.
        pending: those of them that have no record yet, by their index.
        introduced: whether it has said which backend it runs.
        messages: how many it was sent.
        spare: whether it waits for another worker to die, and is given no cases before.
        is_copy: whether it has died and a copy of it, which was asked nothing, waits for cases.
        unasked: how many such copies have ended in turn before they were asked anything.
        earlier: the cases that its process was asked and that have a record.
        unprobed: the paths that it was told not to probe.
    """

    process: SpawnProcess | ForkServerProcess
    connection: Connection
    position: Position
    log: Path
    chunk: Chunk | None = None
    started: float = field(default_factory=monotonic)
    pending: dict[int, Case] = field(default_factory=dict)
    introduced: bool = False
    messages: int = 0
    spare: bool = False
    is_copy: bool = False
    unasked: int = 0
    earlier: EarlierCases = field(default_factory=EarlierCases)
    unprobed: frozenset[SumPath] = frozenset()
    _records: WorkerRecords = field(init=False)

    def __post_init__(self) -> None:
        self._records = WorkerRecords(records_file(str(self.log)))

    @property
    def busy(self) -> bool:
        """Whether a message is awaited."""
        return self.chunk is not None or not self.introduced

    @property
    def ends(self) -> set[Connection | int]:
        """What can be read when it has sent a message, or has ended though a child of its may hold the connection."""
        return {self.connection, self.process.sentinel}

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return not self.process.is_alive()

    @property
    def has_message(self) -> bool:
        """Whether a message, or the end of the connection, can be read."""
        return self.connection.poll()

    @property
    def asked(self) -> int | None:
        """The index of the case that it is at; if that is not known, of the first; None if no case is pending."""
        return self._at if self._at in self.pending else next(iter(self.pending), None)

    @property
    def earlier_ids(self) -> tuple[str, ...]:
        """The ids of the cases that its process was asked before what it is at, without those that agreed.

        An answer that was not judged yet has no record. Cases are asked in order.
        """
        at = self.asked or 0
        return (*self.earlier.ids, *(case.id for index, case in self.pending.items() if index < at))

    @property
    def begun(self) -> bool:
        """Whether it has begun with a case of its message."""
        return self._at not in {None, NOWHERE}

    @property
    def overwritten(self) -> bool:
        """Whether a runtime wrote over its worker's position, so that it is not known which case it was at."""
        return self._at is None

    @property
    def probed(self) -> SumPath | None:
        """The path that it probes; None if it asks no probe."""
        if not self.position.in_probe or self.asked is None:
            return None
        path = path_of(self.pending[self.asked])
        return None if path in self.unprobed else path

    @property
    def alone(self) -> bool:
        """Whether it was sent a single case."""
        return self.chunk is not None and len(self.chunk.cases) == 1

    @property
    def _at(self) -> int | None:
        """The index of the case that it is at, or `NOWHERE`; None if that is not known."""
        index = self.position.at(self.messages)
        return index if index in range(NOWHERE, len(self.chunk.cases) if self.chunk else 0) else None

    def lines(self, *, whole: bool = False) -> list[Line]:
        """Return the lines of the cases that have a record since it was asked last, and are not pending any more.

        The record of a case that the worker is at still stays where it is: a runtime may die of it while it cleans up.
        Where it is not known which case that is, all stay.

        Args:
            whole: whether the worker has gone on from the last case of its chunk.
        """
        if self.overwritten and not whole:
            return []
        # Read before the position is: a record that is written in between is left for the next time.
        unread = self._records.unread()
        at_work, lines = self.asked if self.begun and not whole else None, []
        for line in unread:
            index, _, text = line.decode("utf-8", "replace").partition(" ")
            number = int(index) if index.isascii() and index.isdecimal() else -1
            case = self.pending.get(number)
            # A runtime may have written into the file. Then nothing from here on is read, and the cases have no record.
            if number == at_work or case is None or not text.startswith(begin(case.id)):
                break
            self._records.consume(line)
            lines.append(self.earlier.passed(Line(self.pending.pop(number).id, text.rstrip("\n"))))
        return lines

    def take_asked(self) -> Case | None:
        """Return the case that it is at, which is not pending any more; None if no case is pending."""
        return None if self.asked is None else self.pending.pop(self.asked)

    def deadline(self, timeout: float) -> float:
        """Return when its next message is due, by the monotonic clock.

        Args:
            timeout: seconds that the backend may take for a call.
        """
        if not self.introduced:
            return self.started + START_SECONDS + timeout
        # Read first, so that a call which begins meanwhile is given its time.
        seconds = self.seconds(timeout)
        return max(self.position.since, self.started) + seconds

    def seconds(self, timeout: float) -> float:
        """Return how long it may take for what it is doing."""
        return timeout if self.position.calling else HARNESS_SECONDS

    def feed(self, chunk: Chunk, unprobed: frozenset[SumPath] = frozenset()) -> None:
        """Send it cases, and the paths that it must not probe."""
        self.unprobed = unprobed
        self.chunk, self.pending = chunk, dict(enumerate(chunk.cases))
        self.started = monotonic()
        self.messages += 1
        try:
            self._records.skip_written()
        except OSError:
            # Its file was removed or replaced, so that no record could be read any more.
            self.process.kill()
        # A worker that has just ended is noticed when its next message is awaited.
        with suppress(OSError):
            self.connection.send((self.messages, *chunk, unprobed))

    def receive(self, seconds: float) -> list[Any] | None:
        """Return the next message, or None where the worker ends or sends nothing for so many seconds."""
        with suppress(EOFError, OSError):
            # A while for which all processes are stopped counts as a second at most.
            while not self.connection.poll(min(seconds, 1.0)):
                if (seconds := seconds - 1.0) <= 0:
                    return None
            return self.message()
        return None

    def message(self) -> list[Any]:
        """Return the message that can be read.

        Raises:
            EOFError: the connection has ended.
            OSError: what is there is no message: something else has written into the connection.
        """
        # The first bytes of a message are its length. Those of anything else are a length that is not awaited.
        data = self.connection.recv_bytes(_LONGEST_MESSAGE)
        with suppress(ValueError):
            message: object = json.loads(data)
            if isinstance(message, list):
                return message
        raise OSError(EBADMSG, "something else has written into the connection")

    def introduction(self, spec: str, timeout: float) -> Introduced:
        """Receive the first message.

        Args:
            spec: how the user named the backend.
            timeout: seconds that its hello may take, beyond those that the worker may take to start.

        Raises:
            BackendMissing: there is no backend, or it ended before it answered.
            DialectError: the backend does not speak the dialect.
            OptionError: the backend does not have an option that it was given, or not with that value.
            FileError: the worker cannot make its files.
        """
        message = self.receive(max(0.0, self.deadline(timeout) - monotonic()))
        if message is None:
            raise self._silence(spec, START_SECONDS + timeout)
        introduced = introduction_of(message, spec)
        self.introduced = True
        return introduced

    def _silence(self, spec: str, seconds: float) -> BackendMissing:
        """Return the error for a worker that has not said anything in so many seconds, or ended before it did."""
        output = last_words(self.log)
        printed = f"; it printed: {one_line(output.splitlines()[-1])}" if output else ""
        # It may have closed its connection, and not have ended yet.
        self.process.join(_ENDING_SECONDS)
        if self.ended:
            return EndedWhileLoading(f"backend {spec!r} must start (it ended before it answered){printed}")
        return BackendMissing(f"backend {spec!r} must start (it said nothing within {seconds:g} s){printed}")

    def kill(self) -> None:
        """End the worker and whatever it started. What it said of its position, and its records, can still be read."""
        if self.connection.closed:
            return
        if hasattr(os, "killpg") and self.process.pid:
            with suppress(ProcessLookupError, PermissionError):
                # Only a worker that leads its own group is killed by its group, never the caller's group. A worker that
                # has introduced itself leads one, and the group outlives it as long as a process that it started runs.
                if self.introduced or os.getpgid(self.process.pid) == self.process.pid:
                    os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()

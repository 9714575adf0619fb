"""A worker, seen from the command: what it does by its journal, its deadline, and its cases without a record."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from pydantic import TypeAdapter, ValidationError

from tconv.backends.process_end import ending, last_words, main_reason
from tconv.errors import BackendMissing, DialectError, FileError, OptionError
from tconv.execution import zygote
from tconv.execution.accumulation import path_of
from tconv.execution.journal import JournalReader
from tconv.execution.worker import Chunk, Start
from tconv.records.headers import BackendHeader
from tconv.records.record import record_of
from tconv.shown_texts import one_line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.execution.accumulation import SumPath
    from tconv.execution.asking import Asking
    from tconv.execution.journal import Entry
    from tconv.records.record import Record

HARNESS_SECONDS = 600.0
"""The limit for tconv's own work on a case: operands, reference, verdict, diagnosis. The backend has another limit."""
START_SECONDS = 120.0
"""The limit for a backend to load."""
_ENDING_SECONDS = 5.0
"""The limit for a worker to end after it has closed its journal."""
_MOST_EARLIER = 1000
_NO_DEVIATION = ver.Agreed | ver.NotApplicable | ver.Inconclusive | ver.Unsupported
OfferedOption = tuple[str, str, str, str, str, tuple[str, ...]]
"""An option of a backend, by the fields of `backends.options.Option`: name, meaning, default, allowed, plainer,
named_by."""
_INFO: TypeAdapter[tuple[str, dict[str, object], list[OfferedOption]]] = TypeAdapter(
    tuple[str, dict[str, object], list[OfferedOption]]
)
_ERROR: TypeAdapter[list[str]] = TypeAdapter(list[str])


class EndedWhileLoading(BackendMissing):
    """A worker ended before it introduced its backend; perhaps another process killed it."""


class Introduction(NamedTuple):
    """The backend of a worker.

    Attributes:
        dialect: the name of the dialect.
        backend: the header of the backend.
        options: its options.
    """

    dialect: str
    backend: BackendHeader
    options: list[OfferedOption]


class Answer(NamedTuple):
    """A record that a worker has written.

    Attributes:
        case: the case.
        record: its record.
        earlier: cases that the backend was called for before, without those that agreed; None if this was the first.
    """

    case: Case
    record: Record
    earlier: tuple[str, ...] | None


class WorkerProcess:
    """A started worker.

    Args:
        asking: how its backend is asked.
        log: the file of its output, which is made here, next to the folder of its temporary files.

    Attributes:
        introduction: its backend; None while it loads.
        pending: the cases without a record that it was given, by their numbers.
        alone: whether its only case is one that must be asked alone.
        has_gone_on: whether the last reading of its journal found anything new.

    Raises:
        FileError: its files cannot be made.
        BackendMissing: the system cannot start a process.
    """

    def __init__(self, asking: Asking, log: Path) -> None:
        self.introduction: Introduction | None = None
        self.pending: dict[int, Case] = {}
        self.alone = self.has_gone_on = self._spoilt = False
        self._spec, self._timeout = asking.backend, asking.timeout
        self._log, self._temporary = log, log.with_suffix("")
        self._given = 0
        self._at, self._doing = 0, "load"
        self._since = self._resumed = monotonic()
        self._first_called: int | None = None
        self._unconfirmed: Record | None = None
        self._deviating: deque[str] = deque(maxlen=_MOST_EARLIER)
        try:
            self._temporary.mkdir(0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            printed = os.open(log, flags, 0o600)
        except OSError as error:
            raise _unwritable(str(error.filename), error.strerror or str(error)) from None
        commands, self._commands = os.pipe()
        self._journal, journal = os.pipe()
        for descriptor in (self._commands, self._journal):
            os.set_blocking(descriptor, False)
        self._reader = JournalReader(self._journal)
        start = Start(asking, str(self._temporary), dict(os.environ), sys.path, _current_folder())
        self._outgoing = pickle.dumps(start)
        try:
            self._process = zygote.start(commands, journal, printed, str(log.parent))
        finally:
            for descriptor in (commands, journal, printed):
                os.close(descriptor)
        self.send()

    @property
    def descriptors(self) -> list[int]:
        """Descriptors that can be read when it has written or ended."""
        own = [] if self._reader.ended else [self._journal]
        return own if self._process.descriptor is None else [*own, self._process.descriptor]

    @property
    def zygote(self) -> int | None:
        """The number of the process that it was forked from; None for a new interpreter."""
        return self._process.zygote

    @property
    def is_fresh(self) -> bool:
        """Whether its backend has not been called, and no case waits for it."""
        return self._first_called is None and not self.pending

    @property
    def has_begun(self) -> bool:
        """Whether it has begun to work on a case."""
        return self._doing not in {"load", "wait", "read", "done"}

    @property
    def unsent(self) -> list[int]:
        """The descriptor that can be written when there is room for what it was given; none if all is sent."""
        return [self._commands] if self._outgoing else []

    def give(
        self,
        cases: list[Case],
        unprobed: frozenset[SumPath],
        *,
        alone: bool = False,
        again: bool = False,
    ) -> None:
        """Give it cases.

        Args:
            cases: the cases.
            unprobed: the paths of sums that it must not probe.
            alone: whether this single case must have a record before it is given others.
            again: whether this is a failure that is asked again.
        """
        self.alone = alone
        if not self.pending:
            self._at, self._doing, self._since = self._given, "read", monotonic()
        self._outgoing += pickle.dumps(Chunk(cases, unprobed, again))
        self.pending.update(enumerate(cases, start=self._given))
        self._given += len(cases)
        self.send()

    def send(self) -> None:
        """Send as much as fits into the pipe; a worker that has just ended is noticed later."""
        with suppress(BlockingIOError, BrokenPipeError):
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self._commands, self._outgoing) :]

    def read(self) -> Iterator[Answer]:
        """Yield the records that it has written, up to its current case.

        A record counts only when the worker goes on to another case: a runtime may crash while it cleans up.

        Raises:
            BackendMissing: there is no backend.
            DialectError: the backend does not speak the dialect.
            OptionError: an option or its value is unknown to the backend.
            FileError: it cannot write its files.
        """
        self.has_gone_on = False
        for entry in self._reader.read():
            self.has_gone_on = True
            yield from self._understood(entry)

    def _understood(self, entry: Entry) -> Iterator[Answer]:
        match entry.word:
            case "info":
                self.introduction = self._introduced(entry.text)
                self._doing = "wait"
                return
            case "error":
                _raise(_ERROR.validate_python(json.loads(entry.text)))
            case "record":
                self._unconfirmed = self._record(entry)
                return
            case "begin" | "call" | "probe" | "answered" | "done":
                pass
        if self._unconfirmed is not None and (entry.word == "done" or entry.number != self._at):
            record, earlier, self._unconfirmed = self._unconfirmed, self.earlier, None
            case = self.pending.pop(self._at)
            if not isinstance(record.verdict, _NO_DEVIATION):
                self._deviating.append(case.id)
            self.alone = False
            yield Answer(case, record, earlier)
        # A line that was written before all processes were stopped may be read afterwards.
        self._at, self._doing, self._since = entry.number, entry.word, max(entry.time, self._resumed)
        if entry.word == "call":
            self._first_called = entry.number if self._first_called is None else self._first_called
        if entry.word == "done" and any(number <= entry.number for number in self.pending):
            # The runtime kept a record out of the journal, so nothing would come before the deadline.
            self._spoilt = True
            self.kill()

    def _record(self, entry: Entry) -> Record | None:
        case = self.pending.get(entry.number)
        if case is None or entry.number != self._at:
            return None
        with suppress(ValidationError):
            record = record_of(entry.text)
            return record if record.case == case.id else None
        return None

    def _introduced(self, text: str) -> Introduction:
        try:
            dialect, header, options = _INFO.validate_python(json.loads(text))
            return Introduction(dialect, BackendHeader.model_validate(header | {"spec": self._spec}), options)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise BackendMissing(
                f"a backend must have a name and a version of 1 to 100 characters (got {what})"
            ) from None

    @property
    def probed(self) -> SumPath | None:
        """The path of sums that it is probing; None if it is not probing."""
        return path_of(self.pending[self._at]) if self._doing == "probe" and self._at in self.pending else None

    @property
    def number(self) -> int | None:
        """The number of its current case; None if no case is pending."""
        return self._at if self._at in self.pending else next(iter(self.pending), None)

    @property
    def earlier(self) -> tuple[str, ...] | None:
        """The cases before the current one that did not agree; None if the backend was called for no earlier case."""
        return None if self._first_called in {None, self.number} else tuple(self._deviating)

    @property
    def seconds(self) -> float:
        """How long its current work may take."""
        if self._doing == "load":
            return START_SECONDS + self._timeout
        return self._timeout if self._doing in {"call", "probe"} else HARNESS_SECONDS

    @property
    def deadline(self) -> float | None:
        """When its current work must be done, by the monotonic clock; None if it waits for cases."""
        return None if self.introduction is not None and not self.pending else self._since + self.seconds

    def excuse(self, seconds: float) -> None:
        """Give it so much more time, as all processes were stopped."""
        self._resumed = monotonic()
        self._since = min(self._since + seconds, self._resumed)

    @property
    def end(self) -> int | None:
        """How it ended, as `subprocess` gives it; None while it runs."""
        code = self._process.code(_ENDING_SECONDS if self._reader.ended else 0.0)
        if code is None and self._reader.ended:
            self._spoilt = True
            self._process.kill()
            code = self._process.code()
            return zygote.LOST if code is None else code
        return code

    def cause(self, code: int) -> str:
        """Return why it ended, in words."""
        if self._spoilt:
            return "closed or spoilt the journal of its worker, and went on"
        return "something ended the process that workers are forked from" if code == zygote.LOST else ending(code)

    @property
    def last_words(self) -> str:
        """The end of its output."""
        return last_words(self._log)

    def silence(self) -> BackendMissing:
        """Return the error for a worker that ended or is late before it has introduced its backend."""
        output = self.last_words
        printed = f"; it printed: {one_line(main_reason(output))}" if output else ""
        if self.end is None:
            return BackendMissing(
                f"backend {self._spec!r} must start (it said nothing within {self.seconds:g} s){printed}"
            )
        reason = self._process.reason or "it ended before it answered"
        return EndedWhileLoading(f"backend {self._spec!r} must start ({reason}){printed}")

    def kill(self) -> None:
        """End it and all processes of its group. What it wrote can still be read."""
        self._process.kill()

    def close(self) -> None:
        """End it, and remove its files."""
        self.kill()
        for descriptor in (self._commands, self._journal):
            os.close(descriptor)
        self._log.unlink(missing_ok=True)
        rmtree(self._temporary, ignore_errors=True)


def _current_folder() -> str:
    with suppress(OSError):
        return str(Path.cwd())
    return os.sep


def _unwritable(path: str, reason: str) -> FileError:
    return FileError(Path(path), f"must be writable while cases run ({reason}); make room, and --resume")


def _raise(said: list[str]) -> None:
    """Raise the error that a worker has reported."""
    match said:
        case ["unwritable", folder, reason]:
            raise _unwritable(folder, reason)
        case _:
            raise {kind.__name__: kind for kind in (BackendMissing, OptionError)}.get(said[0], DialectError)(said[-1])

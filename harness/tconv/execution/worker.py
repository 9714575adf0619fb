"""The worker: one backend in a process of its own.

The parent never imports a runtime. It sends chunks of cases; the worker writes their records into a file, says now and
then that there are some, and `done` after the last of a chunk. At which case it died or hung stands in the memory that
it shares with its parent, see `position`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from errno import ENOSPC
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from tconv.backends import create, machine, options_of, orphans
from tconv.backends.options import assignments, not_default
from tconv.dialects import dialect_named
from tconv.errors import BackendMissing, OptionError, TconvError, UsageError
from tconv.execution.evaluation import Evaluator
from tconv.execution.isolation import confine_worker, required
from tconv.execution.process_state import FloatingPoint
from tconv.execution.signals import lead_own_group
from tconv.execution.stages import evaluated_in_stages
from tconv.execution.starting import end_with_server, leave_server
from tconv.execution.succession import shared, succeed
from tconv.execution.worker_files import make_files, temporary_folder
from tconv.expectation.problem import PREPARED
from tconv.records.record import record_line
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.connection import Connection

    from tconv.backends import BackendInfo
    from tconv.dialects import Dialect
    from tconv.execution.position import Position
    from tconv.execution.worker_files import WorkerFiles
    from tconv.records.record import Record

_SECONDS_BETWEEN_MESSAGES = 0.05
"""Rarely enough that messages cost little, and often enough that a user sees progress."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is started for.

    Attributes:
        backend: an installed name or `package.module:attribute`.
        dialect: the dialect; None for the backend's first.
        folder: where artifacts go; None for nowhere.
        log: the file for standard output and error.
        repeat: how often each case is run.
        options: values of the backend's options, by name.
        environment: the environment variables of the process that starts it.
        timeout: seconds that the hello of a child process may take.
        isolate: whether the process of the runtime must be confined; None for a child process where that is possible.
        leaves_copies: whether it leaves a copy of itself that goes on where it dies, where it can, see `succession`.
        only_compares: whether wrong outputs are only compared with those of a run, see `investigation.unset_memory`:
            memory is filled in valid calls too, and nothing is explained.
    """

    backend: str
    dialect: Dialect | None
    folder: str | None
    log: str
    repeat: int = 1
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    leaves_copies: bool = False
    timeout: float = 60.0
    isolate: bool | None = field(default_factory=required)
    only_compares: bool = False


def serve(connection: Connection, position: Position, assignment: Assignment) -> None:
    """Answer messages of cases until the parent closes the connection."""
    try:
        files = _detach(assignment)
    except OSError as error:
        # There is no log yet that could have a traceback.
        _send(connection, _unwritable(error))
        return
    before = shared() if assignment.leaves_copies else None
    try:
        evaluator = _start_evaluator(connection, position, assignment)
    except TconvError as error:
        # A backend's exception may have many lines, and the message is shown as one.
        _send(connection, [_word(error), one_line(str(error))])
        return

    copied = before is not None and before == shared()
    if copied:
        # The parent of the run ends both processes. Where that is gone, the copy ends and no message is sent.
        succeed(lambda code: _send(connection, ["ended", code, position.message]))
    with suppress(EOFError), files.records:
        while True:
            # Only what the parent sends is unpickled; what it receives of a runtime's process is JSON.
            message, cases, staged, evaluator.unprobed = connection.recv()
            if copied:
                # The parent has read what it needs of the process before when it sends a message.
                position.renew()
                files.log.truncate(0)
                copied = False
            position.receive(message)
            records = evaluated_in_stages(cases, evaluator, position, PREPARED if staged else 1)
            _answer(records, connection, files.records)


def _word(error: TconvError) -> str:
    match error:
        case BackendMissing():
            return "missing"
        case OptionError():
            return "option"
        case _:
            return "wrong"


def _answer(records: Iterator[tuple[int, Record]], connection: Connection, file: BinaryIO) -> None:
    """Write records, each by its index, so that none is lost with the worker; now and then say that there are some."""
    sent = monotonic()
    try:
        for index, record in records:
            _write(file, f"{index} {record_line(record)}\n".encode())
            if monotonic() - sent > _SECONDS_BETWEEN_MESSAGES:
                sent = monotonic()
                _send(connection, ["records"])
    except OSError as error:
        # Such as a full disk: neither tconv nor the case is at fault.
        _send(connection, _unwritable(error))
        return
    except MemoryError as error:
        _send(connection, ["memory", str(error)])
        return
    except Exception:  # noqa: BLE001 - the backend's exceptions are caught where it is called; this one is tconv's
        _send(connection, ["failed", traceback.format_exc()])
        return
    _send(connection, ["done"])


def _unwritable(error: OSError) -> list[Any]:
    return ["unwritable", str(error.filename or tempfile.gettempdir()), error.strerror or str(error)]


def _write(file: BinaryIO, line: bytes) -> None:
    if file.write(line) != len(line):
        raise OSError(ENOSPC, "the folder of temporary files is full")


def _first_dialect(name: str, spec: str) -> Dialect:
    """Return the dialect that a backend's info names first."""
    try:
        return dialect_named(name)
    except UsageError as error:
        raise BackendMissing(f"backend {spec!r} must speak a known dialect; by its info, {error}") from None


def _start_evaluator(connection: Connection, position: Position, assignment: Assignment) -> Evaluator:
    """Start the backend, send its introduction, and return the evaluator."""
    environment, floating_point = confine_worker(assignment), FloatingPoint()
    backend = create(assignment.backend, assignment.options, assignment.timeout, assignment.isolate)
    info = backend.info()
    floating_point.leave()
    if not info.dialects:
        raise BackendMissing(f"backend {assignment.backend!r} must speak a dialect (got none)")
    dialect = assignment.dialect or _first_dialect(info.dialects[0], assignment.backend)
    if dialect.name not in info.dialects:
        spoken = ", ".join(info.dialects)
        raise TconvError(f"dialect must be one that {info.name} speaks, {spoken} (got {dialect.name!r})")
    options = options_of(backend)
    chosen = not_default(options, assignment.options)
    offered = [[option.name, option.meaning, option.default, option.allowed] for option in options]
    _send(connection, ["info", dialect.name, _header(info, environment) | {"options": chosen}, offered])
    folder = None if assignment.folder is None else Path(assignment.folder)
    return Evaluator(
        backend,
        info.name,
        dialect,
        folder,
        assignment.repeat,
        position,
        assignments(chosen),
        floating_point,
        only_compares=assignment.only_compares,
    )


def _header(info: BackendInfo, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what the record file's header says of the backend and of the machine that it is on."""
    return {
        "name": info.name,
        "version": info.version,
        "environment": machine.variables() | dict(info.environment) | dict(environment),
        "machine": machine.facts(info.simd),
        "supplied": info.supplied,
    }


def _detach(assignment: Assignment) -> WorkerFiles:
    """Leave the terminal's process group, and send what a runtime prints to a file.

    Its temporary files go into a folder of its own, which is removed when the worker is, or when the pool ends. The
    environment is the parent's, and not that of the process which this one was forked from.
    """
    lead_own_group()
    leave_server()
    end_with_server()
    orphans.adopt()
    os.environ.clear()
    os.environ.update(assignment.environment)
    files = make_files(assignment.log)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary_folder(assignment.log))
    for stream in (sys.stdout, sys.stderr):
        # There is none where the caller had closed it.
        if stream is not None:
            stream.flush()
    os.dup2(files.log.fileno(), 1)
    os.dup2(files.log.fileno(), 2)
    return files


def _send(connection: Connection, message: list[Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())

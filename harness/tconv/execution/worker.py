"""The worker: one backend in a process of its own.

The parent never imports a runtime. It sends chunks of cases as JSON; the worker sends `prepare`, `begin` and `answered`
for each case, then its record, and `idle` after the last, so that the parent knows at which case a worker died or hung.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from tconv.backends import create, machine
from tconv.cases.case import Case
from tconv.dialects import dialect_named
from tconv.errors import BackendMissing, TconvError, one_line
from tconv.execution.accumulation import PROBED, accumulates
from tconv.execution.evaluation import Evaluator
from tconv.execution.signals import lead_own_group
from tconv.records.record_file import record_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

    from tconv.backends import BackendInfo
    from tconv.dialects import Dialect

CASES: TypeAdapter[list[Case]] = TypeAdapter(list[Case])


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is started for.

    Attributes:
        backend: an installed name or `package.module:attribute`.
        dialect: the dialect; None for the backend's first.
        folder: where artifacts go; None for nowhere.
        log: the file for standard output and error.
        repeat: how often each case is run.
        accumulates: the types that sums are kept in, as far as they are known; None for one whose probe failed. The
            types that are not in it are probed.
    """

    backend: str
    dialect: Dialect | None
    folder: str | None
    log: str
    repeat: int = 1
    accumulates: Mapping[str, str | None] = field(default_factory=dict)


def serve(connection: Connection, assignment: Assignment) -> None:
    """Answer chunks of cases until the parent closes the connection."""
    _detach(assignment.log)
    try:
        evaluator = _start_evaluator(connection, assignment)
    except TconvError as error:
        # A backend's exception may have many lines, and the message is shown as one.
        _send(connection, ["missing" if isinstance(error, BackendMissing) else "wrong", one_line(str(error))])
        return
    try:
        while True:
            for case in CASES.validate_json(connection.recv_bytes()):
                _send(connection, ["prepare", case.id])
                _send(connection, _result(evaluator, case, connection))
            _send(connection, ["idle"])
    except EOFError:
        return


def _result(evaluator: Evaluator, case: Case, connection: Connection) -> list[Any]:
    """Return the message with a case's record, or with a failure of tconv itself, which is no verdict."""
    try:
        record = evaluator.evaluate(case, lambda step: _send(connection, [step, case.id]))
    except Exception:  # noqa: BLE001 - the backend's exceptions are caught where it is called; this one is tconv's
        return ["failed", case.id, traceback.format_exc()]
    return ["record", case.id, record_line(record)]


def _start_evaluator(connection: Connection, assignment: Assignment) -> Evaluator:
    """Start the backend, send its introduction and the results of the probes, and return the evaluator."""
    backend = create(assignment.backend)
    info = backend.info()
    if not info.dialects:
        raise BackendMissing(f"backend {assignment.backend!r} must speak a dialect (got none)")
    dialect = assignment.dialect or dialect_named(info.dialects[0])
    if dialect.name not in info.dialects:
        spoken = ", ".join(info.dialects)
        raise TconvError(f"dialect must be one that {info.name} speaks, {spoken} (got {dialect.name!r})")
    _send(connection, ["info", dialect.name, _header(info)])
    accumulators = dict(assignment.accumulates)
    for dtype in PROBED:
        if dtype not in accumulators:
            accumulators[dtype] = accumulates(backend, dialect, dtype)
            _send(connection, ["accumulates", accumulators[dtype]])
    known = {dtype: accumulator for dtype, accumulator in accumulators.items() if accumulator}
    folder = None if assignment.folder is None else Path(assignment.folder)
    return Evaluator(backend, info.name, dialect, known, folder, assignment.repeat)


def _header(info: BackendInfo) -> dict[str, Any]:
    """Return what the record file's header says of the backend and of the machine that it is on."""
    return {
        "name": info.name,
        "version": info.version,
        "environment": machine.variables() | dict(info.environment),
        "machine": machine.facts(info.simd),
        "supplied": info.supplied,
    }


def _detach(log: str) -> None:
    """Leave the terminal's process group, and send what a runtime prints to a file.

    Its temporary files go into the folder of that file, which is removed when the pool ends.
    """
    os.environ["TMPDIR"] = tempfile.tempdir = str(Path(log).parent)
    lead_own_group()
    sys.stdout.flush()
    sys.stderr.flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _send(connection: Connection, message: list[Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())

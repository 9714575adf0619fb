"""The worker: one backend in a process of its own.

The parent never imports a runtime. It sends chunks of cases as JSON; the worker says `prepare`, `begin` and `answered`
of each case, then its record, and `idle` after the last, so that a death or a silence belongs to one case.
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

from tconv.backends import create
from tconv.cases.case import Case
from tconv.dialects import dialect_named
from tconv.errors import BackendMissing, TconvError, one_line
from tconv.execution.evaluation import Evaluator
from tconv.execution.probe import PROBED, accumulates
from tconv.execution.signals import lead_own_group
from tconv.records.record_file import record_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

CASES: TypeAdapter[list[Case]] = TypeAdapter(list[Case])


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is started for.

    Attributes:
        backend: an installed name or `package.module:attribute`.
        dialect: the dialect's name; None for the backend's first.
        folder: where artifacts go; None for nowhere.
        log: the file that takes standard output and error.
        repeat: how often each case is asked.
        accumulates: what is known of the types that sums are kept in, None for unknowable; the others are probed.
    """

    backend: str
    dialect: str | None
    folder: str | None
    log: str
    repeat: int = 1
    accumulates: Mapping[str, str | None] = field(default_factory=dict)


def serve(connection: Connection, assignment: Assignment) -> None:
    """Answer chunks of cases until the parent closes the connection."""
    _detach(assignment.log)
    try:
        evaluator = _introduced(connection, assignment)
    except TconvError as error:
        # What a backend raises may have many lines; a person is told one.
        _send(connection, ["missing" if isinstance(error, BackendMissing) else "wrong", one_line(str(error))])
        return
    try:
        while True:
            for case in CASES.validate_json(connection.recv_bytes()):
                _send(connection, ["prepare", case.id])
                _send(connection, _answered(evaluator, case, connection))
            _send(connection, ["idle"])
    except EOFError:
        return


def _answered(evaluator: Evaluator, case: Case, connection: Connection) -> list[Any]:
    """Return the message with a case's record, or with our own failure, which is no verdict on a backend."""
    try:
        record = evaluator.evaluate(case, lambda step: _send(connection, [step, case.id]))
    except Exception:  # noqa: BLE001 - the backend's exceptions are caught where it is called; this one is ours
        return ["failed", case.id, traceback.format_exc()]
    return ["record", case.id, record_line(record)]


def _introduced(connection: Connection, assignment: Assignment) -> Evaluator:
    """Start the backend, tell the parent who it is, return what evaluates cases on it."""
    backend = create(assignment.backend)
    info = backend.info()
    if not info.dialects:
        raise BackendMissing(f"backend {assignment.backend!r} must speak a dialect (got none)")
    name = assignment.dialect or info.dialects[0]
    spoken = dialect_named(name)
    if name not in info.dialects:
        raise TconvError(f"dialect must be one that {info.name} speaks, {', '.join(info.dialects)} (got {name!r})")
    header = {"name": info.name, "version": info.version, "environment": dict(info.environment)}
    _send(connection, ["info", name, header | {"supplied": info.supplied}])
    known = dict(assignment.accumulates)
    for dtype in PROBED:
        if dtype not in known:
            known[dtype] = accumulates(backend, spoken, dtype)
            _send(connection, ["accumulates", known[dtype]])
    found = {dtype: sums for dtype, sums in known.items() if sums}
    folder = None if assignment.folder is None else Path(assignment.folder)
    return Evaluator(backend, info.name, spoken, found, folder, assignment.repeat)


def _detach(log: str) -> None:
    """Leave the terminal's process group, and send what a runtime prints to a file.

    What it writes to temporary files goes beside that file, and with it when the pool ends.
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

"""The worker: one backend in a process of its own, which reads cases from a pipe and writes its journal.

Only what the command sends is unpickled; what the command receives of a runtime's process is text with a schema.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tconv.backends import create, machine, options_of, orphans
from tconv.backends.options import assignments, not_default
from tconv.dialects import dialect_named
from tconv.errors import BackendMissing, OptionError, TconvError, UsageError
from tconv.execution.evaluation import Evaluator
from tconv.execution.isolation import confine_worker, required
from tconv.execution.journal import Journal
from tconv.execution.process_state import FloatingPoint
from tconv.execution.stages import evaluated_in_stages
from tconv.expectation.problem import PREPARED
from tconv.records.record import record_line
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends import BackendInfo
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.accumulation import SumPath


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is started for.

    Attributes:
        backend: an installed name or `package.module:attribute`.
        dialect: the dialect; None for the backend's first.
        folder: where artifacts go; None for nowhere.
        repeat: how often each case is run.
        options: values of the backend's options, by name.
        timeout: seconds that the hello of a child process may take.
        isolate: whether the process of the runtime must be confined; None for a child process where that is possible.
        only_compares: whether wrong outputs are only compared with those of a run, see `investigation.unset_memory`:
            memory is filled in valid calls too, and nothing is explained.
    """

    backend: str
    dialect: Dialect | None
    folder: str | None
    repeat: int = 1
    options: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    isolate: bool | None = field(default_factory=required)
    only_compares: bool = False


class Start(NamedTuple):
    """The first thing that a worker reads.

    Attributes:
        key: of the journal's checksums.
        assignment: what it is started for.
        temporary: the folder of the runtime's temporary files, which is removed with the worker.
        environment: the environment variables of the command.
        path: where the command imports modules from.
        folder: its current folder.
    """

    key: int
    assignment: Assignment
    temporary: str
    environment: dict[str, str]
    path: list[str]
    folder: str


class Chunk(NamedTuple):
    """What a worker reads then, again and again.

    Attributes:
        first: the number of the first case; they are counted as long as the worker lives.
        cases: the cases.
        unprobed: the paths of sums that are not probed.
        staged: whether they are judged a few together, see `stages`.
    """

    first: int
    cases: list[Case]
    unprobed: frozenset[SumPath]
    staged: bool


def main(commands: int, journal: int, log: int) -> None:
    """Answer cases until the command ends. An exception of tconv's own ends the process, and is in its log."""
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    # A runtime that has filled or closed them must not end its worker by an exception of ours.
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", errors="backslashreplace", closefd=False) for stream in (1, 2))
    with suppress(EOFError), os.fdopen(commands, "rb") as pipe:
        _serve(pipe, journal)


def _serve(commands: BinaryIO, descriptor: int) -> None:
    start: Start = pickle.load(commands)  # noqa: S301 - what the command sends
    journal = Journal(descriptor, start.key)
    orphans.adopt()
    os.environ.clear()
    os.environ.update(start.environment)
    os.environ["TMPDIR"] = tempfile.tempdir = start.temporary
    sys.path[:] = start.path
    with suppress(OSError):
        os.chdir(start.folder)
    try:
        evaluator = _started(start, journal)
        while True:
            chunk: Chunk = pickle.load(commands)  # noqa: S301 - as above
            evaluator.unprobed = chunk.unprobed
            for record in evaluated_in_stages(
                chunk.cases, evaluator, journal, chunk.first, PREPARED if chunk.staged else 1
            ):
                journal.write("record", record_line(record))
            journal.write("done")
    except TconvError as error:
        # A backend's exception may have many lines, and the message is shown as one.
        journal.write("error", json.dumps([_word(error), one_line(str(error))]))
    except OSError as error:
        # Such as a full disk: neither tconv nor the case is at fault.
        where = str(error.filename or tempfile.gettempdir())
        journal.write("error", json.dumps(["unwritable", where, error.strerror or str(error)]))


def _word(error: TconvError) -> str:
    match error:
        case BackendMissing():
            return "missing"
        case OptionError():
            return "option"
        case _:
            return "wrong"


def _first_dialect(name: str, spec: str) -> Dialect:
    """Return the dialect that a backend's info names first."""
    try:
        return dialect_named(name)
    except UsageError as error:
        raise BackendMissing(f"backend {spec!r} must speak a known dialect; by its info, {error}") from None


def _started(start: Start, journal: Journal) -> Evaluator:
    """Start the backend, write its introduction, and return the evaluator."""
    assignment = start.assignment
    environment, floating_point = confine_worker(assignment, start.temporary), FloatingPoint()
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
    journal.write("info", json.dumps([dialect.name, _header(info, environment) | {"options": chosen}, offered]))
    folder = None if assignment.folder is None else Path(assignment.folder)
    return Evaluator(
        backend,
        info.name,
        dialect,
        folder,
        assignment.repeat,
        journal,
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

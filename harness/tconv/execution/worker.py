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
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tconv.backends import create, is_child, machine, options_of, orphans
from tconv.backends.confinement import WORDS, confine
from tconv.backends.options import assignments, not_default
from tconv.backends.orphans import end_with_parent
from tconv.dialects import find_dialect
from tconv.errors import BackendMissing, TconvError, UsageError
from tconv.execution.call import FloatingPoint
from tconv.execution.evaluation import Evaluator
from tconv.execution.journal import Journal
from tconv.expectation.problem import PREPARED
from tconv.records import artifacts
from tconv.records.record import record_line
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends import BackendInfo
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.accumulation import SumPath
    from tconv.execution.asking import Asking


_LARGEST_LOG = 2**23
"""Bytes of what a runtime has printed, after which the file is emptied: it must not fill the disk."""


class Start(NamedTuple):
    """The first thing that a worker reads.

    Attributes:
        key: of the journal's checksums.
        asking: what it is started for.
        temporary: the folder of the runtime's temporary files, which is removed with the worker.
        environment: the environment variables of the command.
        path: where the command imports modules from.
        folder: its current folder.
    """

    key: int
    asking: Asking
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
        staged: whether they are judged a few together, see `evaluation`.
        again: whether they are wrong answers that are asked again.
    """

    first: int
    cases: list[Case]
    unprobed: frozenset[SumPath]
    staged: bool
    again: bool


def main(commands: int, journal: int, log: int) -> None:
    """Answer cases until the command ends. An exception of tconv's own ends the process, and is in its log."""
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    # A runtime that has filled or closed them must not end its worker by an exception of ours.
    sys.stdout, sys.stderr = (
        os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False) for stream in (1, 2)
    )
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
            evaluator.unprobed, evaluator.again = chunk.unprobed, chunk.again
            if os.fstat(1).st_size > _LARGEST_LOG:
                os.ftruncate(1, 0)
            for record in evaluator.evaluate_all(chunk.cases, chunk.first, PREPARED if chunk.staged else 1):
                journal.write("record", record_line(record))
            journal.write("done")
    except TconvError as error:
        # A backend's exception may have many lines, and the message is shown as one.
        journal.write("error", json.dumps([type(error).__name__, one_line(str(error))]))
    except OSError as error:
        # Such as a full disk: neither tconv nor the case is at fault.
        where = str(error.filename or tempfile.gettempdir())
        journal.write("error", json.dumps(["unwritable", where, error.strerror or str(error)]))


def _first_dialect(name: str, spec: str) -> Dialect:
    """Return the dialect that a backend's info names first."""
    try:
        return find_dialect(name)
    except UsageError as error:
        raise BackendMissing(f"backend {spec!r} must speak a known dialect; by its info, {error}") from None


def _started(start: Start, journal: Journal) -> Evaluator:
    """Start the backend, write its introduction, and return the evaluator."""
    asking = start.asking
    environment, floating_point = _confined(asking, start.temporary), FloatingPoint()
    spoken = None if asking.dialect is None else asking.dialect.name
    backend = create(asking.backend, asking.options, asking.timeout, asking.isolate, spoken)
    info = backend.info()
    floating_point.leave()
    if not info.dialects:
        raise BackendMissing(f"backend {asking.backend!r} must speak a dialect (got none)")
    dialect = asking.dialect or _first_dialect(info.dialects[0], asking.backend)
    if dialect.name not in info.dialects:
        spoken = ", ".join(info.dialects)
        raise TconvError(f"dialect must be one that {info.name} speaks, {spoken} (got {dialect.name!r})")
    options = options_of(backend)
    chosen = not_default(options, asking.options)
    offered = [
        [option.name, option.meaning, option.default, option.allowed, option.plainer, option.named_by]
        for option in options
    ]
    journal.write("info", json.dumps([dialect.name, _header(info, environment) | {"options": chosen}, offered]))
    folder = None if asking.folder is None else Path(asking.folder)
    return Evaluator(
        backend,
        info.name,
        dialect,
        folder,
        asking.repeat,
        journal,
        assignments(chosen),
        floating_point,
        contexts=info.contexts,
        shown=asking.shown,
    )


def _header(info: BackendInfo, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what the record file's header says of the backend and of the machine that it is on."""
    return {
        "name": info.name,
        "version": info.version,
        "environment": machine.variables() | dict(info.environment) | dict(environment),
        "machine": machine.describe(info.simd),
        "supplied": info.supplied,
    }


def _confined(asking: Asking, temporary: str) -> dict[str, str]:
    """Confine this worker where that is asked for, and return what a header says of it.

    The worker of a child process is not confined: the child is, by whoever starts it.

    Args:
        asking: what it is started for.
        temporary: the folder of its temporary files.

    Raises:
        BackendMissing: the system does not let it.
    """
    if not asking.isolate or is_child(asking.backend):
        return {}
    folders = [Path(temporary)]
    try:
        if asking.folder is not None:
            # Of the output only this: a runtime must not put a link where the run writes its page.
            folders.append(Path(asking.folder) / artifacts.FOLDER)
            folders[-1].mkdir(parents=True, exist_ok=True)
        confine(*map(str, folders))
    except OSError as error:
        reason = error.strerror or error
        raise BackendMissing(
            f"--isolate must be possible (got: {reason}); allow user namespaces, or leave it out"
        ) from None
    # The kernel may have forgotten it with the change of rights.
    end_with_parent()
    return {"isolated": WORDS}

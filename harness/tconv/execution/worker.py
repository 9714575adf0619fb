"""The worker: a process with one backend, which reads cases from a pipe and writes its journal.

The worker unpickles what the command sends. The command reads only text with a schema from the process of a runtime.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
from contextlib import suppress
from itertools import count
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
from tconv.records import artifacts
from tconv.records.record import record_line
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends import BackendInfo
    from tconv.cases.case import Case
    from tconv.execution.accumulation import SumPath
    from tconv.execution.asking import Asking


_LARGEST_LOG = 2**23
"""Bytes of output after which the log file is emptied, so that it does not fill the disk."""


class Start(NamedTuple):
    """What a worker reads first.

    Attributes:
        asking: how its backend is asked.
        temporary: the folder of the runtime's temporary files, which is removed with the worker.
        environment: the environment variables of the command.
        path: `sys.path` of the command.
        folder: the current folder of the command.
    """

    asking: Asking
    temporary: str
    environment: dict[str, str]
    path: list[str]
    folder: str


class Chunk(NamedTuple):
    """What a worker reads next, repeatedly.

    Attributes:
        cases: the cases.
        unprobed: the paths of sums that are not probed.
        again: whether these are failures that are asked again.
    """

    cases: list[Case]
    unprobed: frozenset[SumPath]
    again: bool


def main(commands: int, journal: int, log: int) -> None:
    """Answer cases until the command ends. An exception of tconv itself ends the process, and is in its log."""
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    # If a runtime closes them or the disk is full, printing must not raise here.
    sys.stdout, sys.stderr = (
        os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False) for stream in (1, 2)
    )
    with suppress(EOFError), os.fdopen(commands, "rb") as pipe:
        _serve(pipe, journal)


def _serve(commands: BinaryIO, descriptor: int) -> None:
    start: Start = pickle.load(commands)  # noqa: S301 - what the command sends
    journal = Journal(descriptor)
    orphans.adopt()
    os.environ.clear()
    os.environ.update(start.environment)
    os.environ["TMPDIR"] = tempfile.tempdir = start.temporary
    sys.path[:] = start.path
    with suppress(OSError):
        os.chdir(start.folder)
    try:
        evaluator = _started(start, journal)
        numbers = count()
        while True:
            chunk: Chunk = pickle.load(commands)  # noqa: S301 - as above
            evaluator.unprobed, evaluator.again = chunk.unprobed, chunk.again
            if os.fstat(1).st_size > _LARGEST_LOG:
                os.ftruncate(1, 0)
            for case in chunk.cases:
                journal.begin(next(numbers))
                journal.write("record", record_line(evaluator.evaluate(case)))
            journal.write("done")
    except TconvError as error:
        # A backend's exception may have many lines, and the message is shown as one.
        journal.write("error", json.dumps([type(error).__name__, one_line(str(error))]))
    except OSError as error:
        # A full disk, for example: the case is not at fault.
        where = str(error.filename or tempfile.gettempdir())
        journal.write("error", json.dumps(["unwritable", where, error.strerror or str(error)]))


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
    try:
        dialect = asking.dialect or find_dialect(info.dialects[0])
    except UsageError as error:
        raise BackendMissing(f"backend {asking.backend!r} must speak a known dialect; by its info, {error}") from None
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
    """Return the header's entries about the backend and its machine."""
    return {
        "name": info.name,
        "version": info.version,
        "environment": machine.variables() | dict(info.environment) | dict(environment),
        "machine": machine.describe(info.simd),
        "supplied": info.supplied,
    }


def _confined(asking: Asking, temporary: str) -> dict[str, str]:
    """Confine this worker if that is asked for, and return the header's entry about it.

    A worker whose runtime is a child process is not confined: it confines the child.

    Args:
        asking: how its backend is asked.
        temporary: the folder of its temporary files.

    Raises:
        BackendMissing: the system does not allow it.
    """
    if not asking.isolate or is_child(asking.backend):
        return {}
    folders = [Path(temporary)]
    try:
        if asking.folder is not None:
            # Only this part of the output folder: a runtime must not put a link in the place of the page.
            folders.append(Path(asking.folder) / artifacts.FOLDER)
            folders[-1].mkdir(parents=True, exist_ok=True)
        confine(*map(str, folders))
    except OSError as error:
        reason = error.strerror or error
        raise BackendMissing(
            f"--isolate must be possible (got: {reason}); allow user namespaces, or leave it out"
        ) from None
    # A change of rights makes the kernel forget it.
    end_with_parent()
    return {"isolated": WORDS}

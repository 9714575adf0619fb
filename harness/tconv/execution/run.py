"""A run: the cases of a selection on a backend, into a record file that a later run may resume."""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from tconv import __version__
from tconv.backends.extras import installing
from tconv.cases.columns import parts_of
from tconv.errors import ClusterError, FileError, UsageError, writing
from tconv.execution.isolation import required
from tconv.execution.lock import exclusive
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.expectation.problem import shared_problem
from tconv.records.headers import RunHeader, differences, header_line, versions
from tconv.records.record_file import header_in, read
from tconv.records.rewriting import rewrite
from tconv.records.texts import file_name_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.cluster import Cluster
    from tconv.execution.selection import Selection
    from tconv.records.headers import WaiversHeader
    from tconv.records.record import Line
    from tconv.records.record_file import Run
    from tconv.records.shards import Shards


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._+=%~-]")
_LONGEST_NAME = 255 - len("..holder")
"""Characters of a record file's name: systems have 255 at most, and the lock beside it has a longer one."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How cases are run.

    Attributes:
        backend: an installed name or `package.module:attribute`.
        dialect: the dialect; None for the backend's first.
        jobs: worker processes.
        timeout: seconds that a case may take.
        output: the folder of records and artifacts.
        resume: whether to go on with a record file whose header is equal.
        repeat: how often each case is run.
        dask: the address of the scheduler of a dask cluster, whose workers run the cases; None for here.
        options: values of the backend's options, by name.
        waivers: returns what the header says of the waivers for a backend of this name.
        isolate: whether the processes of runtimes must be confined; None for those of `exec:` where that is possible.
        precompute: works out what reports will ask of a case after the run, while the workers work.
        asks_again: whether failures will be asked again when the run has ended.
        earlier: the record files that the same command has written, each with how its backend was named.
    """

    backend: str
    dialect: Dialect | None
    jobs: int
    timeout: float
    output: Path
    resume: bool = False
    repeat: int = 1
    dask: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    waivers: Callable[[str], WaiversHeader | None] = lambda _name: None
    isolate: bool | None = field(default_factory=required)
    precompute: Callable[[Case, Dialect], object] = lambda _case, _dialect: None
    asks_again: bool = False
    earlier: Mapping[Path, str] = field(default_factory=dict)


def run(selection: Selection, settings: RunSettings, progress: Callable[[int, int, Line | None], None]) -> Path:
    """Run a selection and return the record file; see `running`."""
    with running(selection, settings, progress) as path:
        return path


@contextmanager
def running(
    selection: Selection, settings: RunSettings, progress: Callable[[int, int, Line | None], None]
) -> Iterator[Path]:
    """Run a selection and give the record file, which is complete; no other run may write it then.

    Args:
        selection: the cases.
        settings: how they are run.
        progress: called with the number of cases done, the number of all, and the last line (None at the start).

    Raises:
        BackendMissing: the backend is not there or does not start.
        ClusterError: the cluster is not there, or its workers would not judge alike.
        UsageError: the backend does not speak the dialect, the cases are more than a run may have, or the same command
            has written this record file for another backend.
        FileError: the record file to be resumed is of another run, or it cannot be written.
    """
    selection.refuse_too_many()
    total = selection.count
    with writing(settings.output, "folder"):
        settings.output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as lock:
        with _pool(settings) as pool:
            header = _header(selection, settings, pool, total)
            path = settings.output / record_name(header, selection.name)
            _refuse_earlier(path, settings, header)
            lock.enter_context(exclusive(path))
            _write(path, selection, settings, pool, header, progress)
        yield path


def assignment_of(settings: RunSettings, folder: str | None = None) -> Assignment:
    """Return what the workers of a run are started for; without a folder for artifacts they write none."""
    return Assignment(
        settings.backend,
        settings.dialect,
        folder,
        settings.repeat,
        options=settings.options,
        isolate=settings.isolate,
    )


def _write(
    path: Path,
    selection: Selection,
    settings: RunSettings,
    pool: Pool | Cluster,
    header: RunHeader,
    progress: Callable[[int, int, Line | None], None],
) -> None:
    """Write the record file, or what it does not have yet."""
    recorded = _recorded(path, header, selection) if settings.resume else None
    done, total = len(recorded.records) if recorded else 0, header.cases
    progress(done, total, None)
    with writing(path):
        _refuse_no_file(path)
        file = path.open("a" if settings.resume else "w", encoding="utf-8", buffering=1)
    with closing(file):
        if file.tell() == 0:
            _append(path, file, header_line(header) + "\n")
        for number, line in enumerate(pool.run(_remaining(selection, recorded)), start=done + 1):
            _append(path, file, f"{line.text}\n")
            if (case := selection.find(line.case)) is not None:
                _precompute(case, pool.dialect)
                settings.precompute(case, pool.dialect)
            progress(number, total, line)


def _precompute(case: Case, dialect: Dialect) -> None:
    """Work out what judging the run will ask for of a case, while the workers work; it is remembered."""
    _ = shared_problem(case, dialect).expectation, parts_of(case.facts)


def _refuse_earlier(path: Path, settings: RunSettings, header: RunHeader) -> None:
    """Refuse to replace what the same command has written: a report of both would have the cases of one."""
    if path in settings.earlier:
        got = f"{settings.earlier[path]} and {settings.backend}, both {header.backend.title}"
        remedy = f"run each by its own command, with its own --output; {path} has the records of the first"
        raise UsageError(f"backends must have different names, versions or options (got {got}); {remedy}")


def _refuse_no_file(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError(path, "must be a file, as it is read again (got a pipe or device); choose another --output")


def _append(path: Path, file: TextIO, text: str) -> None:
    try:
        file.write(text)
    except OSError as error:
        # What did not fit must not be tried again when the file is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
        raise FileError(
            path, f"must be a file that can be written ({error.strerror}); make room, and --resume"
        ) from None


def _remaining(selection: Selection, recorded: Run | None) -> Iterator[Case]:
    """Return the cases that have no record."""
    if recorded is None:
        return selection.stream()
    done = {record.case for record in recorded.records}
    return (case for case in selection.stream() if case.id not in done)


def _pool(settings: RunSettings) -> AbstractContextManager[Pool | Cluster]:
    output = settings.output.resolve()
    if settings.dask is None:
        return Pool(assignment_of(settings, str(output)), settings.jobs, settings.timeout)
    try:
        from tconv.execution.cluster import joined  # noqa: PLC0415 - dask is an extra
    except ImportError as error:
        remedy = f"install it with: {installing(['dask'])}"
        raise ClusterError(f"--dask must have dask and distributed installed (got: {error}); {remedy}") from error
    return joined(settings.dask, assignment_of(settings), settings.timeout, output)


def record_name(header: RunHeader, selection: str = "") -> str:
    """Return the name of the record file: backend, version, options, dialect, and the selection where it is a part."""
    # Quoted, so that two values never have one file.
    chosen = [f"{name}={quote(value, safe='')}" for name, value in header.backend.options.items()]
    words = ["-".join((header.backend.name, header.backend.version, *chosen)), header.dialect.replace("/", "-")]
    backend, *of_backend = (_NOT_IN_NAMES.sub("_", text) for text in (*words, *filter(None, [selection])))
    end = "".join(f"-{text}" for text in of_backend) + ".jsonl"
    return file_name_part(backend.lstrip("."), _LONGEST_NAME - len(end)) + end


def _header(selection: Selection, settings: RunSettings, pool: Pool | Cluster, cases: int) -> RunHeader:
    return RunHeader(
        tconv=__version__,
        backend=pool.backend,
        dialect=pool.dialect.name,
        tier=selection.tier,
        patterns=selection.patterns,
        corpus=selection.corpus.digest,
        path=selection.path,
        cases=cases,
        shard=_part(selection.shard),
        timeout=settings.timeout,
        repeat=settings.repeat,
        platform=versions(),
        waivers=settings.waivers(pool.backend.name),
        asked_again=False if settings.asks_again else None,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _part(shard: Shards | None) -> str:
    """Return which part of the selection is run; empty for all of it, also where that is written as shards."""
    return str(shard) if shard is not None and shard.missing else ""


def _recorded(path: Path, header: RunHeader, selection: Selection) -> Run | None:
    """Return what a record file has already, after its end was cut off where it is not whole; None without a header.

    Raises:
        FileError: it is of another run, or a record in it is of no case of the selection.
    """
    if not path.exists():
        return None
    _refuse_no_file(path)
    data = path.read_bytes()
    if not data.rfind(b"\n") + 1:
        path.write_bytes(b"")
        return None
    before = header_in(path)
    if not before.continues(header):
        said = "; ".join(map(str, differences(before.comparable, header.comparable)))
        remedy = "repeat it with what it had, or choose another --output: a run without --resume replaces these records"
        raise FileError(path, f"must be of the same run to be resumed (got another: {said}); {remedy}")
    # What is refused stays as it is.
    recorded = read(path, lambda _: frozenset(selection.ids()))
    _cut(path, data[: data.rfind(b"\n") + 1], None if before.resumed(header) == before else before.resumed(header))
    return recorded


def _cut(path: Path, whole: bytes, header: RunHeader | None) -> None:
    """Leave what is whole in a record file; under another header, where there is one, the file is replaced at once."""
    if header is not None:
        rewrite(path, header_line(header).encode() + whole[whole.index(b"\n") :])
        return
    with writing(path):
        os.truncate(path, len(whole))

"""A run: the cases of a selection on a backend, into a record file that a later run may resume."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from tconv import __version__
from tconv.corpus.case_file import Settings
from tconv.corpus.writing import settings as settings_of
from tconv.errors import BackendLost, FileError, UsageError, writing
from tconv.execution.again import WaitingFailures
from tconv.execution.lock import SUFFIX, exclusive
from tconv.execution.pool import Pool
from tconv.records.headers import RunHeader, differences, header_line, versions
from tconv.records.record import record_line
from tconv.records.record_file import Run, header_in, read
from tconv.records.texts import file_name_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.execution.asking import Asking
    from tconv.execution.selection import Selection
    from tconv.records.headers import WaiversHeader
    from tconv.records.record import Record


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._+=%~-]")
_LONGEST_NAME = 255 - len(f".{SUFFIX}")
"""Characters of a record file's name. Systems allow 255, and the lock next to it has a longer name."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How the cases of a run are asked, and what becomes of the records.

    Attributes:
        asking: how the backend is asked.
        output: the folder of records and artifacts.
        jobs: worker processes.
        resume: whether to go on with a record file whose header is equal.
        waivers: returns the header's entry about the waivers for a backend of this name.
        fails: returns for a header a function that says whether a record is a failure; some failures are asked again.
        earlier: the record files that the same command has written, each with the name that the user gave its backend.
        try_out: asks new calls that test the explanations of failures. It takes the run, a function that returns the
            record of each new call, and one that keeps the record of a case that was asked with a change. None: no new
            call is asked.
    """

    asking: Asking
    output: Path
    jobs: int = 1
    resume: bool = False
    waivers: Callable[[str], WaiversHeader | None] = lambda _name: None
    fails: Callable[[RunHeader], Callable[[Case, Record], bool]] = lambda _header: lambda *_: False
    earlier: Mapping[Path, str] = field(default_factory=dict)
    try_out: Callable[[Run, Callable[[list[Case]], list[Record]], Callable[[Case, Record], None]], None] | None = None


def run(selection: Selection, settings: RunSettings, progress: Callable[[int, int, Record | None], None]) -> Run:
    """Run a selection, and return the run with all records of its file. No other run may write the file meanwhile.

    Each record is written once. A failure that is asked again is written after its second answer, or as the run stops.

    Args:
        selection: the cases.
        settings: how they are run.
        progress: called with the number of cases done, the number of all cases, and the last record (None at the
            start). New calls that test explanations count on, above the number of all cases.

    Raises:
        BackendMissing: the backend is not there or does not start.
        UsageError: the backend does not speak the dialect, there are too many cases for one run, or the same command
            has written this record file for another backend.
        FileError: the record file to be resumed is of another run, or it cannot be written.
    """
    selection.refuse_too_many()
    total = selection.count
    with writing(settings.output, "folder"):
        settings.output.mkdir(parents=True, exist_ok=True)
    asking = replace(settings.asking, folder=str(settings.output.resolve()))
    with ExitStack() as stack:
        pool = stack.enter_context(Pool(asking, settings.jobs))
        header = _header(selection, settings, pool, total)
        path = settings.output / record_name(header, selection.name)
        _refuse_earlier(path, settings, header)
        stack.enter_context(exclusive(path))
        recorded = (_recorded(path, header, selection) if settings.resume else None) or Run(path, header)
        file = stack.enter_context(_opened(path, header, resume=settings.resume))
        done = {record.case for record in recorded.records}
        progress(len(done), total, None)
        cases = (case for case in selection.stream() if case.id not in done)
        failures = WaitingFailures(settings.fails(header))
        numbers = count(len(done) + 1)

        def take(record: Record) -> None:
            recorded.records.append(record)
            _write(file, path, record_line(record))
            progress(next(numbers), total, record)

        try:
            for record in pool.run(cases, failures):
                take(record)
        except BackendLost:
            # If each case has an answer, the run is whole, although no failure can be asked again.
            if not failures.are_asked:
                raise
        finally:
            for record in failures.records.values():
                take(record)
        recorded.records.sort(key=lambda record: record.case)

        def ask(new: list[Case]) -> list[Record]:
            asked = {case.id: Settings.model_validate(settings_of(case)) for case in new}
            found = {}
            for record in pool.run(new):
                found[record.case] = replace(record, asked=asked[record.case])
                recorded.asked.append(found[record.case])
                _write(file, path, record_line(found[record.case]))
                progress(next(numbers), total, record)
            return [found[case.id] for case in new]

        def keep(case: Case, record: Record) -> None:
            recorded.changed.append(replace(record, asked=Settings.model_validate(settings_of(case))))
            _write(file, path, record_line(recorded.changed[-1]))

        # A resumed run that has asked some new calls asks no more.
        if settings.try_out is not None and not (recorded.asked or recorded.changed):
            # Each case has an answer; if the backend does not start again, only the explanations are less exact.
            with suppress(BackendLost):
                settings.try_out(recorded, ask, keep)
    recorded.asked.sort(key=lambda record: record.case)
    return recorded


def _opened(path: Path, header: RunHeader, *, resume: bool) -> TextIO:
    with writing(path):
        _refuse_no_file(path)
        file = path.open("a" if resume else "w", encoding="utf-8", buffering=1)
    if file.tell() == 0:
        _write(file, path, header_line(header))
    return file


def _write(file: TextIO, path: Path, line: str) -> None:
    try:
        file.write(f"{line}\n")
    except OSError as error:
        # Closing the file must not try again to write the line.
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
        must = f"must be a file that can be written ({error.strerror})"
        raise FileError(path, f"{must}; make room, and --resume") from None


def _refuse_earlier(path: Path, settings: RunSettings, header: RunHeader) -> None:
    """Refuse to replace a record file that the same command has written."""
    if path in settings.earlier:
        got = f"{settings.earlier[path]} and {settings.asking.backend}, both {header.backend.title}"
        remedy = f"run each by its own command, with its own --output; {path} has the records of the first"
        raise UsageError(f"backends must have different names, versions or options (got {got}); {remedy}")


def _refuse_no_file(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError(path, "must be a file, as it is read again (got a pipe or device); choose another --output")


def record_name(header: RunHeader, selection: str = "") -> str:
    """Return the name of the record file: backend, version, options, dialect, and the selection if it has a name."""
    # Quoted, so that two values never share a file.
    chosen = [f"{name}={quote(value, safe='')}" for name, value in header.backend.options.items()]
    words = ["-".join((header.backend.name, header.backend.version, *chosen)), header.dialect.replace("/", "-")]
    backend, *of_backend = (_NOT_IN_NAMES.sub("_", text) for text in (*words, *filter(None, [selection])))
    end = "".join(f"-{text}" for text in of_backend) + ".jsonl"
    return file_name_part(backend.lstrip("."), _LONGEST_NAME - len(end)) + end


def _header(selection: Selection, settings: RunSettings, pool: Pool, cases: int) -> RunHeader:
    shard = selection.shard
    return RunHeader(
        tconv=__version__,
        backend=pool.backend,
        dialect=pool.dialect.name,
        tier=selection.tier,
        patterns=selection.patterns,
        corpus=selection.corpus.digest,
        path=selection.path,
        cases=cases,
        shard=str(shard) if shard is not None and shard.missing else "",
        timeout=settings.asking.timeout,
        repeat=settings.asking.repeat,
        platform=versions(),
        waivers=settings.waivers(pool.backend.name),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


_BEGINNING = b'{"format":'


def _recorded(path: Path, header: RunHeader, selection: Selection) -> Run | None:
    """Return the records that a file already has, and cut off a last line that is not whole; None without a header.

    Raises:
        FileError: it is of another run, or has a record of a case that is not selected.
    """
    if not path.exists():
        return None
    _refuse_no_file(path)
    data = path.read_bytes()
    if b"\n" not in data and data.startswith(_BEGINNING[: len(data)]):
        with writing(path):
            path.write_bytes(b"")
        return None
    before = header_in(path)
    if not before.continues(header):
        said = "; ".join(map(str, differences(before.comparable, header.comparable)))
        remedy = "repeat it with what it had, or choose another --output: a run without --resume replaces these records"
        raise FileError(path, f"must be of the same run to be resumed (got another: {said}); {remedy}")
    # Read before the cut: a refused file stays as it is.
    recorded = read(path, lambda _: frozenset(selection.ids()))
    with writing(path):
        os.truncate(path, data.rfind(b"\n") + 1)
    return recorded

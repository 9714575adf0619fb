"""The record file: a header line, and a line for each case, in JSON. Every report is made from it alone."""

from __future__ import annotations

import lzma
import shlex
import stat
from contextlib import ExitStack
from dataclasses import dataclass, field
from errno import EINVAL
from itertools import count
from typing import IO, TYPE_CHECKING

from pydantic import ValidationError

from tconv.corpus.building import ImpossibleCase
from tconv.dialects import DIALECTS, find_dialect
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.readings import Combination
from tconv.errors import FileError
from tconv.nearest_word import nearest
from tconv.records.headers import FORMAT, HeaderLine, RunHeader
from tconv.records.record import Record, record_of
from tconv.records.texts import printable_line
from tconv.shown_texts import shown
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator
    from pathlib import Path

    from tconv.dialects import Dialect

_LONGEST = 2**24
"""Bytes of a line; a device or a sparse file may have longer lines."""


@dataclass(slots=True)
class Run:
    """One record file, with its records in the order of their ids.

    Attributes:
        path: its path.
        header: its header.
        records: the records of the cases.
        asked: the records of new calls that tested explanations; they do not count as cases.
        changed: the records of contexts that fail and were asked again with one change.
    """

    path: Path
    header: RunHeader
    records: list[Record] = field(default_factory=list)
    asked: list[Record] = field(default_factory=list)
    changed: list[Record] = field(default_factory=list)

    @property
    def dialect(self) -> Dialect:
        """The dialect that the header names."""
        return find_dialect(self.header.dialect)

    @property
    def argument(self) -> str:
        """The records as an argument in a shell; RECORDS if they are several files."""
        return "RECORDS" if "*" in self.path.name else shlex.quote(str(self.path))


def read(path: Path, cases_of: Callable[[RunHeader], Collection[str] | None] = lambda _: None) -> Run:
    """Read a record file.

    A last line without a newline, from an interrupted writer, is not read.

    Args:
        path: the file.
        cases_of: returns the ids of all cases of a run by its header; None if they are not known.

    Raises:
        FileError: the file is missing, or a line is wrong or of another run.
    """
    lines = _lines(path)
    header = _header(path, next(lines, (1, b"")))
    cases = cases_of(header)
    if cases is not None and len(cases) != header.cases:
        # The digest of a corpus is of its case files alone: the rows of a tier may have been chosen again since.
        must = f"cases must be {len(cases)}, as many as the header selects (got {header.cases})"
        raise FileError(path, f"{must}; run it again if the tiers have changed since", 1)
    seen: set[str] = set()
    records = sorted((_record(path, numbered, header, cases, seen) for numbered in lines), key=lambda of: of.case)
    return Run(
        path,
        header,
        [record for record in records if record.asked is None],
        [record for record in records if record.asked is not None and record.changed is None],
        [record for record in records if record.changed is not None],
    )


def header_in(path: Path) -> RunHeader:
    """Return the header of a record file; the rest is not read.

    Raises:
        FileError: the file is missing, or does not begin with a header.
    """
    return _header(path, next(_lines(path), (1, b"")))


def _inconsistency(record: Record, header: RunHeader, cases: Container[str] | None) -> str | None:
    """Return what is wrong with a record; None if nothing is.

    Args:
        record: the record.
        header: the header of its file.
        cases: the ids of all cases of the run; None if they are not known.
    """
    if not record.case:
        return "a record must name its case (got an empty text)"
    if record.dialect != header.dialect:
        return f"a record must be of the header's dialect, {header.dialect} (got {shown(record.dialect)})"
    if record.backend != header.backend.name:
        return f"a record must be of the header's backend, {header.backend.name} (got {shown(record.backend)})"
    if record.asked is not None:
        try:
            _ = record.new_call
        except ImpossibleCase as error:
            return f"a new call must have settings of a case (got: {error})"
    elif cases is not None and record.case not in cases:
        must = f"a record must be of a case that the header selects from the corpus (got {shown(record.case, 200)})"
        return f"{must}; run it again if the tiers have changed since"
    return _of_readings(record)


def _of_readings(record: Record) -> str | None:
    """Return what is wrong with the readings of a verdict, as they decide that it is no failure; None if nothing is."""
    verdict, dialect = record.verdict, DIALECTS.get(record.dialect)
    if not isinstance(verdict, ver.Disputed | ver.Inconclusive) or dialect is None:
        return None
    if isinstance(verdict, ver.Disputed) and not verdict.readings:
        return "a disputed verdict must name a reading (got none)"
    names = {reading.name for reading in dialect.disputed}
    refusals = {f"{constraint}-refused" for constraint in CONSTRAINTS}
    alike = verdict.alike if isinstance(verdict, ver.Disputed) else ()
    for reading in (*verdict.readings, *alike):
        if not names.union(refusals).issuperset(Combination.parse(reading).names):
            return f"a reading must be one that {dialect} disputes (got {shown(reading)}){nearest(reading, names)}"
    return None


def _unreadable(path: Path, error: Exception) -> FileError:
    remedy = "; check the path" if isinstance(error, FileNotFoundError) else ""
    got = getattr(error, "strerror", None) or error
    return FileError(path, f"must be a readable file of records (got: {got}){remedy}")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, with their numbers."""
    with ExitStack() as opened:
        file = None
        for number in count(1):
            # An error of the caller, between two lines, must not be caught here.
            try:
                file = file or opened.enter_context(_opened(path))
                line = file.readline(_LONGEST)
            except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
                raise _unreadable(path, error) from None
            if len(line) == _LONGEST:
                raise FileError(path, f"a line must have at most {_LONGEST - 1} bytes (got more)", number)
            if not line.endswith(b"\n"):
                return
            yield number, line[:-1]


def is_kept(path: Path) -> bool:
    """Return whether a record file is compressed: it is kept, and may be older than the corpus."""
    return path.suffix == ".xz"


def _opened(path: Path) -> IO[bytes]:
    """Open a file, but no named pipe (perhaps without a writer) and no device (perhaps without an end)."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(EINVAL, "is a pipe or a device; save it as a file")
    return lzma.open(path) if is_kept(path) else path.open("rb")


def _header(path: Path, numbered: tuple[int, bytes]) -> RunHeader:
    number, line = numbered
    try:
        return HeaderLine.model_validate_json(printable_line(line)).run
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            if problem["loc"] == ("format",) and isinstance(problem["input"], int):
                raise FileError(path, f"written by format {problem['input']}; run tconv again", number) from None
        must = f"must start with a header of format {FORMAT} (got: {_first(error)})"
        raise FileError(path, f"{must}; name a .jsonl file that 'tconv run' wrote, or its folder", number) from None


def _record(
    path: Path, numbered: tuple[int, bytes], header: RunHeader, cases: Container[str] | None, seen: set[str]
) -> Record:
    """Return the record of a line, and add its case to `seen`."""
    number, line = numbered
    try:
        record = record_of(printable_line(line))
    except ValidationError as error:
        raise FileError(path, f"must be a record (got: {_first(error)})", number) from None
    if wrong := _inconsistency(record, header, cases):
        raise FileError(path, wrong, number)
    name = record.case if record.changed is None else f"{record.case} {record.changed}"
    if name in seen:
        raise FileError(path, f"a case must have one record (got {name!r} again)", number)
    seen.add(name)
    return record


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])

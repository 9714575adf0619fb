"""The cause that a run which ended gives to the failure of a case, by its record file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tconv.errors import FileError
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.record_files import read_selected
from tconv.gate.status import Status
from tconv.records.record_file import header_in
from tconv.reports.causes import causes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.records.headers import BackendHeader, RunHeader
    from tconv.reports.causes import Cause


class RecordedCause(NamedTuple):
    """A cause of failures of a run, and where its records are."""

    path: Path
    started: str
    cause: Cause

    def __str__(self) -> str:
        failures = "alone" if self.cause.count == 1 else f"with {self.cause.count - 1:,} more failures"
        return f"{self.path}, a run of {self.started}, has it {failures}: {self.cause.what}"


def recorded_cause(
    case_id: str, folder: Path, backend: BackendHeader, dialect_name: str, corpus: Corpus
) -> RecordedCause | None:
    """Return the cause of a failure by the last run that has it; None where no run of this backend has.

    The run is judged without waivers, as the case is that is diagnosed.

    Args:
        case_id: the case.
        folder: a folder of record files, or one of them.
        backend: who was asked: its name, version and options must be those of the run.
        dialect_name: in whose words; the run's too.
        corpus: the cases, which the run must have had.
    """

    def fits(header: RunHeader) -> bool:
        theirs = header.backend
        same = (theirs.name, theirs.version, theirs.options) == (backend.name, backend.version, backend.options)
        return same and (header.dialect, header.corpus, header.shard) == (dialect_name, corpus.digest, "")

    headers = [(path, header) for path, header in _headers(folder) if fits(header)]
    for path, header in sorted(headers, key=lambda pair: pair[1].started, reverse=True):
        try:
            run = read_selected(path, corpus)
        except FileError:
            # A run that goes on, or was cut off, is no evidence.
            continue
        if any(record.case == case_id for record in run.records):
            assessment = assess_with_corpus(run, None, corpus, strict=False, own=False)
            of_case = (cause for cause in causes(assessment, Status.FAILED) if _has(cause, case_id))
            return next((RecordedCause(path, header.started, cause) for cause in of_case), None)
    return None


def _headers(folder: Path) -> Iterator[tuple[Path, RunHeader]]:
    for path in sorted(folder.rglob("*.jsonl")) if folder.is_dir() else [folder]:
        try:
            yield path, header_in(path)
        except FileError:
            continue


def _has(cause: Cause, case_id: str) -> bool:
    return any(member.record.case == case_id for member in cause.members)

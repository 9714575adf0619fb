"""Annotations for GitHub: a message at the line of a case file or a waiver file, in a job's log.

Source: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions, "Setting an error message".
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tconv import documents
from tconv.cases.patterns import path_of
from tconv.corpus.file_reading import find_files
from tconv.errors import FileError
from tconv.gate.reasons import CasesFailed, CasesUndeclared, WaiverInvalid, WaiverStale
from tconv.gate.status import FAILING
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.red import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.documents import Document
    from tconv.reports.report import RunReport

_MOST = 9
"""The most messages of one level: GitHub shows ten for each step, and the tenth counts the others."""


def workflow_commands(run: RunReport, folder: Path, waivers: Path | None) -> Iterator[str]:
    """Yield GitHub's workflow commands for a run.

    They are an error for each cause of failures and each problem that the gate finds, and a notice for each note. If
    cases became worse since a baseline, there is a warning for each cause.

    Args:
        run: the run.
        folder: the folder that case ids are relative to.
        waivers: the waiver file; None if there is none.
    """
    title = f"tconv: {run.assessment.run.header.backend.title}"
    errors = [
        (f"{cause.count} {cause.status}, such as {cause.example}: {cause.what}", case_place(folder, cause.example))
        for status in FAILING
        for cause in run.causes.get(status, ())
    ]
    for reason in run.reasons:
        if not isinstance(reason, CasesFailed | CasesUndeclared):
            name = reason.waiver.name if isinstance(reason, WaiverStale | WaiverInvalid) else ""
            document = _document(waivers) if waivers and name and _is_here(waivers) else None
            place = _named(document, name, ("waivers",)) if document else None
            errors.append((sentence(reason, run.assessment), place))
    yield from _commands("error", title, errors)
    if run.since is not None:
        warnings = [
            (f"{len(new.cases)} became worse, such as {new.example}: {new.what}", case_place(folder, new.example))
            for new in run.since.groups
            if new.transition is Transition.NEW
        ]
        yield from _commands("warning", title, warnings)
    yield from _commands("notice", title, [(note.text, None) for note in run.notes if not note.is_minor])


def case_place(folder: Path, case: str) -> FileError | None:
    """Return the place of a case or its sweep in its file; None if the file is not below the current folder."""
    stem, _, name = path_of(case).rpartition("/")
    for file in find_files(stem, folder):
        if _is_here(file) and (document := _document(file)) is not None:
            return _named(document, name, ("cases", "sweeps"))
    return None


def _named(document: Document, name: str, keys: Sequence[str]) -> FileError:
    """Return the place of the entry with this name in a document's lists; if there is none, that of the document."""
    for key in keys:
        entries = document.value.get(key) if isinstance(document.value, dict) else None
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and entry.get("name") == name:
                return documents.place_error(document, (key, index, "name"), "")
    return documents.place_error(document, (), "")


def _is_here(file: Path) -> bool:
    return file.is_file() and file.resolve().is_relative_to(Path.cwd())


@lru_cache(maxsize=16)
def _document(file: Path) -> Document | None:
    try:
        return documents.read(file)
    except FileError:
        return None


def _commands(level: str, title: str, messages: Sequence[tuple[str, FileError | None]]) -> Iterator[str]:
    for message, place in messages[:_MOST]:
        where = ""
        if place is not None:
            file = place.path.resolve().relative_to(Path.cwd()).as_posix()
            where = f"file={_property(file)},line={place.line},col={place.column},"
        yield f"::{level} {where}title={_property(title)}::{_data(message)}"
    if (more := len(messages) - _MOST) > 0:
        yield f"::{level} title={_property(title)}::and {more} more; the job's summary and the page have all of them"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

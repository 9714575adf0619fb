"""The record files that a user names: files, and folders of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv.corpus import Corpus
from tconv.corpus.file_reading import digest_path
from tconv.errors import FileError
from tconv.records.record_file import header_in
from tconv.shown_texts import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONGEST_NAMES = 1000
argument = click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
"""RECORDS, which `record_files` expands."""


def record_files(paths: Sequence[Path], cases: Path | None) -> list[Path]:
    """Return the record files: each file, and all files in and below a folder.

    A folder may have runs of tconv's own cases and of other cases. Only one kind is returned, and a note says so. A
    file that is named is always returned.

    Args:
        paths: what the user names.
        cases: the value of --cases; None for tconv's own. It chooses which runs of a folder are returned.

    Raises:
        FileError: a folder has no record file, or a file is named twice.
    """
    files: dict[str, Path] = {}
    for path in paths:
        # A folder may have links to its own files.
        of_path = {os.path.realpath(file): file for file in _files(path, cases)}
        if twice := files.keys() & of_path.keys():
            raise FileError(
                of_path[min(twice)], "must be named once (got it twice, perhaps in a folder); leave one out"
            )
        files |= of_path
    return list(files.values())


def cases_of(files: Sequence[Path], cases: Path | None) -> Path | None:
    """Return the cases to judge records by: those of --cases, or those that the records name; None for tconv's own.

    The records' own path counts if all of them name the same one, and its cases are unchanged since the run. If not,
    tconv's own cases are used. Records of other cases are red then, and a message names their --cases.

    Args:
        files: the record files, as `record_files` returns them.
        cases: the value of --cases; None if it is not given.
    """
    if cases is not None:
        return cases
    try:
        headers = [header_in(file) for file in files]
    except FileError:
        # The error is reported when the whole file is read.
        return None
    named = {header.path for header in headers}
    path = named.pop() if len(named) == 1 else ""
    if not path or digest_path(Path(path)) not in {header.corpus for header in headers}:
        return None
    click.echo(f"note: judged by the cases of {path}, as the run was; --cases names others", err=True)
    return Path(path)


def _files(path: Path, cases: Path | None) -> Iterator[Path]:
    if path.is_dir():
        files = sorted(file for ending in ("", ".xz") for file in path.rglob(f"*.jsonl{ending}"))
        if not files:
            raise FileError(path, "must be a folder with record files, *.jsonl (got none)")
        yield from _of_kind(path, files, cases)
    else:
        yield path


def _of_kind(folder: Path, files: Sequence[Path], cases: Path | None) -> Sequence[Path]:
    """Return the files of runs of the wanted cases, tconv's or others; if there are none, all, to be refused later."""
    others = [file for file in files if _is_other(file, cases)]
    if others:
        digest = Corpus.load(cases).digest
        others = [file for file in others if header_in(file).corpus != digest]
    if not others or len(others) == len(files):
        return files
    names = shortened(", ".join(file.relative_to(folder).as_posix() for file in others), _LONGEST_NAMES)
    kind = "of cases of your own" if cases is None else "of tconv's own cases"
    what = f"left out {len(others)} of {len(files)} record files, {kind}: {names}"
    remedy = "give --cases" if cases is None else "leave --cases out"
    click.echo(f"note: {folder}: {what}; to read them, {remedy}, or name the files", err=True)
    return [file for file in files if file not in others]


def _is_other(file: Path, cases: Path | None) -> bool:
    try:
        return bool(header_in(file).path) != (cases is not None)
    except FileError:
        # The error is reported when the whole file is read.
        return False

"""The record files that a user names: files, folders of them, and standard input."""

from __future__ import annotations

import atexit
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STANDARD_INPUT = Path("-")
_HEADER = re.compile(rb'^(?=\{"format":)', re.MULTILINE)

argument = click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
"""RECORDS, which `record_files` expands."""


def record_files(paths: Sequence[Path]) -> list[Path]:
    """Return the record files: each file, all files of a folder and below it, and those that come by standard input.

    What standard input brings may be several files one after the other, as `cat` joins them.

    Raises:
        FileError: a folder or the standard input has none.
    """
    found = [file for path in paths for file in _files(path)]
    return list({file.resolve(): file for file in found}.values())


def _files(path: Path) -> Iterator[Path]:
    if path == STANDARD_INPUT:
        yield from _received()
    elif path.is_dir():
        files = sorted(path.rglob("*.jsonl"))
        if not files:
            raise FileError(path, "must be a folder with record files, *.jsonl (got none)")
        yield from files
    else:
        yield path


def _received() -> Iterator[Path]:
    """Yield a file for each that standard input brings; they are removed as the command ends."""
    parts = [part for part in _HEADER.split(sys.stdin.buffer.read()) if part.strip()]
    if not parts:
        raise FileError(STANDARD_INPUT, "standard input must bring records (got nothing)")
    folder = Path(tempfile.mkdtemp(prefix="tconv-standard-input-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, part in enumerate(parts, start=1):
        file = folder / f"{number}.jsonl"
        file.write_bytes(part)
        yield file

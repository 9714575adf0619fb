"""A case file as its sweeps and single cases, with all its errors reported together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tconv import documents
from tconv.cases.case import Cite, Expected
from tconv.corpus import case_file
from tconv.corpus.building import ImpossibleCase, build, hint_default_spatial
from tconv.corpus.case_file import merge_settings
from tconv.corpus.sweep_reading import read_sweep
from tconv.errors import FileError, joined, make_all
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.corpus.sweep import Sweep
    from tconv.documents import Document

SUFFIXES = (".yaml", ".yml")
"""The endings of a case file's name."""
MOST_PATHS = 10_000
"""Files and folders of a corpus that only a record file names, not the command line."""


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """The content of a case file.

    Attributes:
        name: the first part of its cases' ids.
        document: the file, with the places of its parts.
        sweeps: its sweeps, in their order.
        singles: its cases outside sweeps, in their order.
    """

    name: str
    document: Document
    sweeps: tuple[Sweep, ...]
    singles: tuple[Case, ...]


def read_file(path: Path, folder: Path, spent: Counter[str]) -> CorpusFile:
    """Read a case file.

    Args:
        path: the file.
        folder: the folder that ids are relative to.
        spent: the sizes of the corpus's sweeps so far, by the names in `MOST_OF_CORPUS`; those of this file are added.

    Raises:
        FileError: something in the file is wrong; all errors together.
    """
    name = make_stem(path, folder)
    model, document = documents.load(path, case_file.CaseFile)
    if not model.sweeps and not model.cases:
        raise FileError(path, "a case file must have sweeps or cases (got neither)")
    cites = tuple(Cite(cite.dialect, cite.clause) for cite in model.cites)
    sweeps = [
        partial(read_sweep, sweep, name, model.base, cites, document, index, spent)
        for index, sweep in enumerate(model.sweeps)
    ]
    singles = [
        partial(_single, single, name, model.base, cites, document, index) for index, single in enumerate(model.cases)
    ]
    parts: list[Any] = make_all([partial(_refuse_duplicates, model, document), *sweeps, *singles])
    end = len(sweeps) + 1
    return CorpusFile(name, document, tuple(parts[1:end]), tuple(parts[end:]))


def find_case_files(path: Path) -> list[Path]:
    """Return the file `path`, or the case files of the folder `path` in the order of their names.

    Raises:
        FileError: there is none, or two differ only in their suffix.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileError(path, "must be a case file or a folder of case files (got nothing there)")
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise FileError(path, "must have a case file, *.yaml (got none)")
    first: dict[Path, Path] = {}
    for file in files:
        if (other := first.setdefault(_stem(file), file)) != file:
            raise FileError(file, f"the cases of a file must have ids of their own (got those of {other}); rename it")
    return files


_STEM = re.compile(r"[^\[\]*?]+")
"""The letters that a pattern's path may have."""


def _stem(file: Path) -> Path:
    """Return a file's path without its suffix, or its folder if both have the same name."""
    return file.parent if file.stem == file.parent.name else file.with_suffix("")


def find_files(stem: str, folder: Path) -> Iterator[Path]:
    """Yield the files below a folder whose cases' ids begin with a stem; a corpus has at most one."""
    path = folder / stem
    names = (f"{name}{suffix}" for name in (path, path / path.name) for suffix in SUFFIXES)
    yield from (file for file in map(Path, names) if file.is_file())


def make_stem(file: Path, folder: Path) -> str:
    """Return the first part of the ids of a file's cases.

    Raises:
        FileError: no pattern could match it.
    """
    name = _stem(file.relative_to(folder)).as_posix()
    if not _STEM.fullmatch(name) or one_line(name) != name:
        message = f"a case file must have a printable path without '[', ']', '*', '?' (got {name!r}); rename it"
        raise FileError(file, message)
    return name


def digest_files(files: Iterable[tuple[str, Path]]) -> str:
    """Return the digest of case files, each given with the first part of its cases' ids."""
    digest = sha256()
    for name, path in files:
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"sha256:{digest.hexdigest()[:16]}"


def digest_path(path: Path) -> str | None:
    """Return the digest of the corpus at a path; None if there can be none.

    A record file names the path, and anybody may have written that file. So the case files are not parsed, and nothing
    is read if the folder is larger than a corpus may be.
    """
    try:
        if len(list(islice(path.rglob("*"), MOST_PATHS + 1))) > MOST_PATHS:
            return None
        files = find_case_files(path)
        if any(file.stat().st_size > documents.MAX_BYTES for file in files):
            return None
        folder = path if path.is_dir() else path.parent
        return digest_files((make_stem(file, folder), file) for file in files)
    except (FileError, OSError):
        return None


def _refuse_duplicates(model: case_file.CaseFile, document: Document) -> None:
    """Refuse a file in which two sweeps or cases have the same name."""
    seen: set[str] = set()
    errors = []
    for key in ("sweeps", "cases"):
        for index, part in enumerate(getattr(model, key)):
            if part.name in seen:
                message = f"a name must be unique in its file (got the id {part.name!r} again)"
                errors.append(documents.place_error(document, (key, index, "name"), message))
            seen.add(part.name)
    if errors:
        raise joined(errors)


def _single(
    single: case_file.Single,
    path: str,
    base: case_file.Settings,
    cites: tuple[Cite, ...],
    document: Document,
    index: int,
) -> Case:
    literals = single.expected
    expected = tuple(Expected(tuple(y.dialects), tuple(y.spatial), tuple(y.values)) for y in literals)
    settings = merge_settings(base.written(), single.with_.written())
    try:
        return build(
            f"{path}/{single.name}",
            settings,
            about=single.about,
            cites=cites,
            expected=expected,
            tier=single.tier,
        )
    except ImpossibleCase as error:
        remedy = "" if "or say breaks" in str(error) else "; correct it"
        message = f"{error}{hint_default_spatial(settings, str(error))}{remedy}"
        value = ("with", error.setting) if error.setting in single.with_.written() else ()
        raise documents.place_error(document, ("cases", index, *value), message) from None

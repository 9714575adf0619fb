"""A case file as its sweeps and single cases, with all its errors told together."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from tconv.cases.case import Case, Cite, Expected
from tconv.corpus import case_file
from tconv.corpus.budget import MOST_SWEEPS, Budget
from tconv.corpus.building import ImpossibleCase, build, default_spatial_hint, merged
from tconv.corpus.sweep import Sweep
from tconv.corpus.sweep_reading import read_sweep
from tconv.documents import document as yaml_file
from tconv.documents.models import Part
from tconv.errors import FileError, joined, make_all
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.documents.document import Document

P = TypeVar("P", bound=Part)
Maker = Callable[[], object]
SUFFIXES = (".yaml", ".yml")
"""How the name of a case file ends."""


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """What a case file has.

    Attributes:
        name: what the ids of its cases begin with.
        document: the file, with the places of its parts.
        sweeps: its sweeps, in its order.
        singles: its cases that are of no sweep, in its order.
        unsized: the locations of those that leave the data's spatial sizes to the default.
    """

    name: str
    document: Document
    sweeps: tuple[Sweep, ...]
    singles: tuple[Case, ...]
    unsized: tuple[tuple[str, int], ...]


def read_file(path: Path, folder: Path, budget: Budget) -> CorpusFile:
    """Return what a case file has.

    Args:
        path: the file.
        folder: the folder that ids are relative to.
        budget: what the corpus may cost, which its sweeps are charged to.

    Raises:
        FileError: something in it is not as it must be; all that is found, together.
    """
    name = stem(path, folder)
    document = yaml_file.read(path)
    try:
        model = yaml_file.validated(document, case_file.CaseFile)
    except FileError as error:
        raise joined([error, *_further(document, name)]) from error
    if not model.sweeps and not model.cases:
        raise FileError(path, "a case file must have sweeps or cases (got neither)")
    makers = _makers(name, document, model.base, model.cites, enumerate(model.sweeps), enumerate(model.cases), budget)
    parts: list[object] = make_all([partial(_refuse_duplicates, document), *makers])
    base = model.base.written()
    return CorpusFile(
        name,
        document,
        tuple(part for part in parts if isinstance(part, Sweep)),
        tuple(part for part in parts if isinstance(part, Case)),
        (
            *(("sweeps", number) for number, sweep in enumerate(model.sweeps) if not _sweep_is_sized(sweep, base)),
            *(("cases", number) for number, single in enumerate(model.cases) if not _is_sized(base, single.with_)),
        ),
    )


def _makers(
    name: str,
    document: Document,
    base: case_file.Settings,
    cited: Sequence[case_file.Citation],
    sweeps: Iterable[tuple[int, case_file.Sweep]],
    singles: Iterable[tuple[int, case_file.Single]],
    budget: Budget,
) -> Iterator[Maker]:
    """Yield what makes each sweep and each case, given with its number in the file."""
    cites = tuple(Cite(cite.dialect, cite.clause) for cite in cited)
    for index, sweep in sweeps:
        yield partial(read_sweep, sweep, name, base, cites, document, index, budget)
    for index, single in singles:
        yield partial(_single, single, name, base, cites, document, index)


def _further(document: Document, name: str) -> list[FileError]:
    """Return the errors of a file that is not valid which do not follow from those that make it so.

    They are those of names, of cases that are valid by themselves, and of sweeps without the keys that are wrong.
    """
    whole = document.value if isinstance(document.value, dict) else {}
    base = _valid(case_file.Settings, whole.get("base", {}))
    # Too many sweeps are one error, and not as many as there are too many.
    sweeps = _valid_parts(case_file.Sweep, whole.get("sweeps"))[:MOST_SWEEPS]
    # Without the file's base, a case may lack what it needs.
    singles = _valid_parts(case_file.Single, whole.get("cases")) if base is not None else []
    makers: list[Maker] = [partial(_refuse_duplicates, document)]
    makers += _makers(name, document, base or case_file.Settings(), (), sweeps, singles, Budget())
    try:
        make_all(makers)
    except FileError as error:
        return [error]
    return []


def _valid_parts(model: type[P], parts: object) -> list[tuple[int, P]]:
    valid = [(number, _valid(model, part)) for number, part in enumerate(parts if isinstance(parts, list) else ())]
    return [(number, part) for number, part in valid if part is not None]


def _valid(model: type[P], part: object) -> P | None:
    """Return a part of a file; a sweep without those of its keys that are wrong, where it is none with them."""
    try:
        return model.model_validate(part)
    except ValidationError as error:
        wrong = {details["loc"][0] for details in error.errors() if details["loc"]}
        # What is missing, and the axes, cannot be left out.
        if model is not case_file.Sweep or not isinstance(part, dict) or not wrong < part.keys() - {"axes"}:
            return None
        return _valid(model, {key: value for key, value in part.items() if key not in wrong})


def _sweep_is_sized(sweep: case_file.Sweep, base: Mapping[str, Any]) -> bool:
    """Return whether all cases of a sweep have spatial sizes: shared ones, or those of each label of an axis."""
    by_axis = (
        name == "spatial" or (isinstance(axis, dict) and all(_is_sized({}, labelled) for labelled in axis.values()))
        for name, axis in sweep.axes.items()
    )
    return _is_sized(base, sweep.with_) or any(by_axis)


def _is_sized(base: Mapping[str, Any], settings: case_file.Settings) -> bool:
    return merged(base, settings.written()).get("spatial") is not None


def case_files(path: Path) -> list[Path]:
    """Return the case files that `path` is or holds, in the order of their names.

    Raises:
        FileError: there is none, or two differ in their suffix alone.
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
"""What may stand in a pattern's path."""


def _stem(file: Path) -> Path:
    """Return a file's path without its suffix; the file's name is left out if it is the folder's."""
    return file.parent if file.stem == file.parent.name else file.with_suffix("")


def files_of(stem: str, folder: Path) -> Iterator[Path]:
    """Yield the files below a folder whose cases' ids begin with a stem; there is at most one in a corpus."""
    path = folder / stem
    names = (f"{name}{suffix}" for name in (path, path / path.name) for suffix in SUFFIXES)
    yield from (file for file in map(Path, names) if file.is_file())


def stem(file: Path, folder: Path) -> str:
    """Return what the ids of a file's cases begin with.

    Raises:
        FileError: no pattern could match it.
    """
    name = _stem(file.relative_to(folder)).as_posix()
    if not _STEM.fullmatch(name) or one_line(name) != name:
        message = f"a case file must have a printable path without '[', ']', '*', '?' (got {name!r}); rename it"
        raise FileError(file, message)
    return name


def _refuse_duplicates(document: Document) -> None:
    """Refuse a file whose parts do not differ in their names; the rest of it may be wrong."""
    seen: set[str] = set()
    errors = []
    for key, index, name in _names(document.value):
        if name in seen:
            message = f"a name must be unique in its file (got the id {name!r} again)"
            errors.append(yaml_file.error_at(document, (key, index, "name"), message))
        seen.add(name)
    if errors:
        raise joined(errors)


def _names(whole: object) -> Iterator[tuple[str, int, str]]:
    """Yield the name of each sweep and of each case that has one, after its key and its number."""
    for key in ("sweeps", "cases"):
        parts = whole.get(key) if isinstance(whole, dict) else None
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, dict) and isinstance(part.get("name"), str):
                yield key, index, part["name"]


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
    settings = merged(base.written(), single.with_.written())
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
        message = f"{error}{default_spatial_hint(settings, str(error))}{remedy}"
        value = ("with", error.setting) if error.setting in single.with_.written() else ()
        raise yaml_file.error_at(document, ("cases", index, *value), message) from None

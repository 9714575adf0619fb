"""A corpus: a folder of case files, or one file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from tconv.cases.case import Cite, Expected
from tconv.cases.patterns import facts_of, parse
from tconv.corpus import tiers
from tconv.corpus.building import ImpossibleCase, build, merged
from tconv.corpus.case_file import CaseFile
from tconv.corpus.sweep_reading import read_sweep
from tconv.datafiles import data_folder
from tconv.documents import document as yaml_file
from tconv.errors import FileError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.cases.patterns import Pattern
    from tconv.corpus.case_file import Single
    from tconv.corpus.sweep import Rows, Sweep
    from tconv.documents.document import Document

Tier = Literal["smoke", "gate", "full", "exhaustive"]
TIERS: tuple[Tier, ...] = ("smoke", "gate", "full", "exhaustive")
"""Each holds those before it."""
TIERS_TO_FULL = TIERS[:-1]
"""Those with few enough cases to hold something for each."""
SUFFIXES = (".yaml", ".yml")
"""How the name of a case file ends."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sweeps and single cases in the order of their paths.

    Attributes:
        digest: a digest of all files.
        sweeps: every sweep, by the path of its cases' ids.
        singles: every case that is of no sweep, by its id.
        tiers: which rows of a sweep are in which tier.
        folder: where the corpus is.
        whole: whether it has all files of the folder.
    """

    digest: str
    sweeps: Mapping[str, Sweep]
    singles: Mapping[str, Case]
    tiers: tiers.Tiers
    folder: Path
    whole: bool

    @classmethod
    def load(cls, path: Path | None = None, folder: Path | None = None) -> Corpus:
        """Read a corpus; without a path, the one that ships with tconv.

        Args:
            path: a folder of case files, or one file.
            folder: the folder that ids are relative to; None for `path` itself, or the folder of a single file.

        Raises:
            FileError: a file is not there, or something in it is not as it must be.
        """
        path = data_folder("cases") if path is None else path
        folder = folder or (path if path.is_dir() else path.parent)
        sweeps: list[Sweep] = []
        singles: list[Case] = []
        digest = sha256()
        for file in case_files(path):
            name = _stem(file, folder)
            model, document = yaml_file.load(file, CaseFile)
            digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
            _refuse_duplicates(model, document)
            cites = tuple(Cite(cite.dialect, cite.clause) for cite in model.cites)
            sweeps += [read_sweep(s, name, model.base, cites, document, i) for i, s in enumerate(model.sweeps)]
            singles += [_single(s, name, model, cites, document, i) for i, s in enumerate(model.cases)]
        return cls(
            f"sha256:{digest.hexdigest()[:16]}",
            {sweep.id: sweep for sweep in sweeps},
            {case.id: case for case in singles},
            tiers.read(folder),
            folder,
            folder == path,
        )

    def cases(self, tier: Tier = "full", patterns: Sequence[str] = ()) -> Iterator[Case]:
        """Yield the cases of a tier that match any of the patterns, all of them without patterns.

        Those that match a pattern after a `!` are left out.
        """
        yield from self._singles(tier, patterns)
        for sweep, rows in self._rows(tier, patterns):
            yield from map(sweep.case, rows.tolist())

    def ids(self, tier: Tier = "full", patterns: Sequence[str] = ()) -> Iterator[str]:
        """Yield the ids of the cases, without making them."""
        yield from (case.id for case in self._singles(tier, patterns))
        for sweep, rows in self._rows(tier, patterns):
            yield from map(sweep.case_id, rows.tolist())

    def count(self, tier: Tier = "full", patterns: Sequence[str] = ()) -> int:
        """Return how many cases there are, without making them."""
        return sum(len(rows) for _, rows in self._rows(tier, patterns)) + sum(1 for _ in self._singles(tier, patterns))

    def cell(self, case_id: str) -> str | None:
        """Return the cell of a case by its id; None of a case that is not of the exhaustive tier alone."""
        sweep = self.sweeps.get(case_id.partition("[")[0])
        return sweep.cell(case_id) if sweep is not None and sweep.exhaustive else None

    def _singles(self, tier: Tier, patterns: Sequence[str]) -> Iterator[Case]:
        parsed, excluded = _split(patterns)
        for case in self.singles.values():
            chosen = tier != "smoke" or case.smoke
            wanted = not parsed or any(pattern.matches(case.id, case.facts) for pattern in parsed)
            if chosen and wanted and not any(pattern.matches(case.id, case.facts) for pattern in excluded):
                yield case

    def _rows(self, tier: Tier, patterns: Sequence[str]) -> Iterator[tuple[Sweep, Rows]]:
        """Yield the rows of the sweeps, few at a time."""
        parsed, excluded = _split(patterns)
        for sweep in self.sweeps.values():
            wanted = [pattern for pattern in parsed if pattern.path.fullmatch(sweep.id)]
            unwanted = [pattern for pattern in excluded if pattern.path.fullmatch(sweep.id)]
            if (sweep.exhaustive and tier != "exhaustive") or (parsed and not wanted):
                continue
            for rows in self.tiers.blocks(sweep, "full" if sweep.smoke else tier):
                if wanted:
                    rows = rows[np.logical_or.reduce([sweep.matching(pattern, rows) for pattern in wanted])]  # noqa: PLW2901 - narrowed twice
                for pattern in unwanted:
                    rows = rows[~sweep.matching(pattern, rows)]  # noqa: PLW2901
                yield sweep, rows

    def find(self, case_id: str) -> Case | None:
        """Return the case of that id, or None."""
        if case_id in self.singles:
            return self.singles[case_id]
        sweep = self.sweeps.get(case_id.partition("[")[0])
        row = None if sweep is None else sweep.row(facts_of(case_id))
        return None if sweep is None or row is None else sweep.case(row[0].tolist())

    def case(self, text: str) -> Case:
        """Return the case of that id, or the only one that a pattern matches.

        Raises:
            UsageError: no case matches, or several do.
        """
        if (case := self.find(text)) is not None:
            return case
        matching = list(islice(self.cases("exhaustive", [text]), _MOST_EXAMPLES))
        if not matching:
            raise self.unmatched(text)
        if len(matching) > 1:
            examples = "\n  ".join(case.id for case in matching)
            raise UsageError(f"must be one case (got {text!r}, which matches several); for example\n  {examples}")
        return matching[0]

    def unmatched(self, pattern: str) -> UsageError:
        """Return the error that a pattern matches no case, with the nearest path."""
        path = pattern.partition("[")[0]
        paths = {case.partition("[")[0] for case in (*self.singles, *self.sweeps)}
        hint = "" if path in paths or set(path) & set("*?") else nearest(path, paths)
        return UsageError(f"a pattern must match a case (got {pattern!r}, which matches none); see 'tconv list'{hint}")

    def facts(self, case_id: str) -> Mapping[str, str] | None:
        """Return the facts of the case of that id, or None where there is none."""
        case = self.find(case_id)
        return None if case is None else case.facts


_MOST_EXAMPLES = 5
EXCLUDING = "!"
"""What stands before a pattern whose cases are left out."""


def _split(patterns: Sequence[str]) -> tuple[list[Pattern], list[Pattern]]:
    """Return the patterns of which a case must match any, and those of which it must match none."""
    wanted = [parse(text) for text in patterns if not text.startswith(EXCLUDING)]
    return wanted, [parse(text.removeprefix(EXCLUDING)) for text in patterns if text.startswith(EXCLUDING)]


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
    stems = [file.with_suffix("") for file in files]
    for number, stem in enumerate(stems):
        if stem in stems[:number]:
            raise FileError(files[number], "a case file must have a name of its own, suffix aside (got it twice)")
    return files


_STEM = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff\[\]*?]+")
"""What may stand in a pattern's path and in a line of output."""


def _stem(file: Path, folder: Path) -> str:
    """Return what the ids of a file's cases begin with.

    Raises:
        FileError: no pattern could match it.
    """
    name = file.relative_to(folder).with_suffix("").as_posix()
    if not _STEM.fullmatch(name):
        raise FileError(file, f"a case file must have a path without '[', ']', '*', '?' (got {name!r}); rename it")
    return name


def _refuse_duplicates(model: CaseFile, document: Document) -> None:
    seen: set[str] = set()
    names = [("sweeps", index, sweep.name) for index, sweep in enumerate(model.sweeps)]
    names += [("cases", index, case.name) for index, case in enumerate(model.cases)]
    for key, index, name in names:
        if name in seen:
            raise yaml_file.error_at(
                document, (key, index, "name"), f"a name must be unique in its file (got the id {name!r} again)"
            )
        seen.add(name)
    if not seen:
        raise FileError(document.path, "a case file must have sweeps or cases (got neither)")


def _single(
    single: Single, path: str, model: CaseFile, cites: tuple[Cite, ...], document: Document, index: int
) -> Case:
    literals = single.expected
    expected = tuple(Expected(tuple(y.dialects), tuple(y.spatial), tuple(y.values)) for y in literals)
    settings = merged(model.base.written(), single.with_.written())
    try:
        return build(
            f"{path}/{single.name}",
            settings,
            {},
            about=single.about,
            cites=cites,
            expected=expected,
            smoke=single.smoke,
        )
    except ImpossibleCase as error:
        raise yaml_file.error_at(document, ("cases", index), f"{error}; correct it") from None

"""A corpus: a folder of case files, or one file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import compress, islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tconv.cases.patterns import facts_of, parse, path_of
from tconv.corpus import tiers
from tconv.corpus.facts import NAMES
from tconv.corpus.file_reading import digest_files, find_case_files, read_file
from tconv.corpus.mismatch import explain_mismatch
from tconv.datafiles import data_folder
from tconv.errors import UsageError, make_all
from tconv.vocabulary import TIERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.cases.patterns import Pattern
    from tconv.corpus.file_reading import CorpusFile
    from tconv.corpus.sweep import Rows, Sweep
    from tconv.documents import Document
    from tconv.vocabulary import Mask, Tier

TIERS_TO_FULL = TIERS[:-1]
"""The tiers that are small enough to hold data for each case in memory."""
Deal: TypeAlias = "Callable[[int], Mask]"
"""Takes a number of cases, and says which of the next so many are wanted."""


def _every(count: int) -> Mask:
    return np.ones(count, bool)


@dataclass(frozen=True)
class Corpus:
    """Sweeps and single cases in the order of their paths.

    Attributes:
        digest: a digest of all files.
        sweeps: every sweep, by the path of its cases' ids.
        singles: every case outside sweeps, by its id.
        tiers: which rows of a sweep are in which tier.
        folder: the folder of the corpus.
        whole: whether it has all files of the folder.
        files: its files.
    """

    digest: str
    sweeps: Mapping[str, Sweep]
    singles: Mapping[str, Case]
    tiers: tiers.Tiers
    folder: Path
    whole: bool
    files: tuple[CorpusFile, ...]
    _found: dict[str, Case | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def load(cls, path: Path | None = None, folder: Path | None = None) -> Corpus:
        """Read a corpus; without a path, the one that ships with tconv.

        Args:
            path: a folder of case files, or one file.
            folder: the folder that ids are relative to; None for `path` itself, or the folder of a single file.

        Raises:
            FileError: a file is missing or wrong, with all errors of all files; or the sweeps are too large together.
        """
        path = data_folder("cases") if path is None else path
        folder = folder or (path if path.is_dir() else path.parent)
        spent: Counter[str] = Counter()
        files = make_all(partial(read_file, file, folder, spent) for file in find_case_files(path))
        return cls(
            digest_files((file.name, file.document.path) for file in files),
            {sweep.id: sweep for file in files for sweep in file.sweeps},
            {case.id: case for file in files for case in file.singles},
            tiers.read(folder),
            folder,
            folder == path,
            tuple(files),
        )

    def cases(self, tier: Tier = "full", patterns: Sequence[str] = (), deal: Deal = _every) -> Iterator[Case]:
        """Yield the cases of a tier that match any of the patterns; without patterns, all of them.

        Cases that match a pattern after a `!` are left out. Cases that `deal` leaves out are not made.
        """
        yield from compress(singles := list(self._singles(tier, patterns)), deal(len(singles)))
        for sweep, rows in self._rows(tier, patterns):
            yield from map(sweep.case, rows[deal(len(rows))].tolist())

    def ids(self, tier: Tier = "full", patterns: Sequence[str] = (), deal: Deal = _every) -> Iterator[str]:
        """Yield the ids of these cases, without making them."""
        singles = [case.id for case in self._singles(tier, patterns)]
        yield from compress(singles, deal(len(singles)))
        for sweep, rows in self._rows(tier, patterns):
            yield from map(sweep.case_id, rows[deal(len(rows))].tolist())

    def count(self, tier: Tier = "full", patterns: Sequence[str] = ()) -> int:
        """Return how many cases there are, without making them."""
        return sum(len(rows) for _, rows in self._rows(tier, patterns)) + sum(1 for _ in self._singles(tier, patterns))

    def place(self, case_id: str, *inside: str | int) -> tuple[Path, int, int] | None:
        """Return the file, line and column of a case or a sweep, or of a part of it.

        Args:
            case_id: its id, with labels or without.
            inside: the keys and indices that lead to the part.
        """
        part = self._parts.get(path_of(case_id))
        if part is None:
            return None
        document, key, number = part
        return document.path, *document.mark((key, number, *inside))

    @cached_property
    def _parts(self) -> Mapping[str, tuple[Document, str, int]]:
        """The document of each sweep and single case by its id, and its key and index there."""
        parts: dict[str, tuple[Document, str, int]] = {}
        for file in self.files:
            parts |= {case.id: (file.document, "cases", number) for number, case in enumerate(file.singles)}
            parts |= {sweep.id: (file.document, "sweeps", number) for number, sweep in enumerate(file.sweeps)}
        return parts

    @property
    def fact_names(self) -> set[str]:
        """The names of the facts that a case may have: settings, facts that follow from several settings, and axes."""
        return {*NAMES, *(axis.name for sweep in self.sweeps.values() for axis in sweep.axes)}

    def _singles(self, tier: Tier, patterns: Sequence[str]) -> Iterator[Case]:
        parsed, excluded = _split(patterns)
        for case in self.singles.values():
            chosen = TIERS.index(case.tier) <= TIERS.index(tier)
            wanted = not parsed or any(pattern.matches(case.id, case.facts) for pattern in parsed)
            if chosen and wanted and not any(pattern.matches(case.id, case.facts) for pattern in excluded):
                yield case

    def _rows(self, tier: Tier, patterns: Sequence[str]) -> Iterator[tuple[Sweep, Rows]]:
        """Yield the rows of the sweeps, few at a time."""
        parsed, excluded = _split(patterns)
        for sweep in self.sweeps.values():
            wanted = [pattern for pattern in parsed if pattern.path.fullmatch(sweep.id)]
            unwanted = [pattern for pattern in excluded if pattern.path.fullmatch(sweep.id)]
            if parsed and not wanted:
                continue
            named = [row for pattern in wanted if (row := sweep.named_row(pattern.text)) is not None]
            wanted = [pattern for pattern in wanted if sweep.named_row(pattern.text) is None]
            for rows in self.tiers.blocks(sweep, tier):
                if named:
                    # Any combination is a case, even if no tier has it.
                    others = rows[[row not in named for row in rows.tolist()]] if wanted else rows[:0]
                    yield sweep, np.array(named, rows.dtype)
                    rows = others  # noqa: PLW2901 - narrowed
                if wanted:
                    rows = rows[np.logical_or.reduce([sweep.matching(pattern, rows) for pattern in wanted])]  # noqa: PLW2901 - narrowed twice
                for pattern in unwanted:
                    rows = rows[~sweep.matching(pattern, rows)]  # noqa: PLW2901
                yield sweep, rows

    def find(self, case_id: str) -> Case | None:
        """Return the case of an id, or None; a case that was found before is not made again."""
        if case_id not in self._found:
            case, sweep = self.singles.get(case_id), self.sweeps.get(path_of(case_id))
            if sweep is not None and (row := sweep.row(facts_of(case_id))) is not None:
                case = sweep.case(row)
            self._found[case_id] = case
        return self._found[case_id]

    def case(self, text: str) -> Case:
        """Return the case of an id, or the only case that a pattern matches.

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
        """Return the error for a pattern that matches no case, with the nearest names."""
        must = f"a pattern must match a case (got {pattern!r}, which matches none)"
        return UsageError(f"{must}; see 'tconv list'{explain_mismatch(self, pattern) or self._of_ones_own(pattern)}")

    def _of_ones_own(self, pattern: str) -> str:
        """Return a hint at --cases, if a pattern names a topic that tconv's own corpus does not have."""
        topic = path_of(pattern).partition("/")[0]
        here = any(path.partition("/")[0] == topic for path in (*self.sweeps, *self.singles))
        if here or not topic or set(topic) & set("*?") or self.folder != data_folder("cases"):
            return ""
        return "; cases of your own need --cases FILE"

    def find_facts(self, case_id: str) -> Mapping[str, str] | None:
        """Return the facts of the case of an id; None if there is no such case."""
        case = self.find(case_id)
        return None if case is None else case.facts


_MOST_EXAMPLES = 5
EXCLUDING = "!"
"""The sign before a pattern whose cases are left out."""


def _split(patterns: Sequence[str]) -> tuple[list[Pattern], list[Pattern]]:
    """Return the patterns of wanted cases, and those of excluded cases."""
    wanted = [parse(text) for text in patterns if not text.startswith(EXCLUDING)]
    return wanted, [parse(text.removeprefix(EXCLUDING)) for text in patterns if text.startswith(EXCLUDING)]

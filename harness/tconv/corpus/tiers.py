"""Which rows of a sweep are in which tier. They are chosen once, and stored with the sweep's digest."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from tconv.corpus.coverage import count_uncovered, cover, find_expressible_rows
from tconv.datafiles import data_folder
from tconv.errors import FileError, writing
from tconv.vocabulary import TIERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tconv.corpus.sweep import Rows, Sweep
    from tconv.vocabulary import Mask, Tier

FILE_NAME = "tiers.json"
STRENGTH = {"gate": 4, "smoke": 2}
"""A tier covers all tuples of so many axis values."""


def _ascending(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if any(number >= following for number, following in pairwise((-1, *numbers))):
        raise ValueError("must be row numbers in ascending order")
    return numbers


_RowNumbers = Annotated[tuple[int, ...], AfterValidator(_ascending)]


class TierSelection(BaseModel):
    """The numbers of a sweep's rows in each tier; if it has a cover, they count all combinations."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str
    gate: _RowNumbers
    smoke: _RowNumbers


class TiersFile(BaseModel):
    """All selections of a corpus, by sweep id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    sweeps: dict[str, TierSelection] = {}


@dataclass(frozen=True, slots=True)
class Tiers:
    """The stored selections of a corpus, by sweep id, and their file."""

    selections: dict[str, TierSelection]
    path: Path

    def fresh(self, sweep: Sweep) -> bool:
        """Return whether the stored selection is of the sweep as it is now."""
        return sweep.id in self.selections and self.selections[sweep.id].digest == sweep.digest

    def blocks(self, sweep: Sweep, tier: Tier) -> Iterable[Rows]:
        """Return the rows of the sweep in a tier, in blocks, (n, axes).

        Raises:
            FileError: the stored selection has rows that the sweep does not have.
        """
        if sweep.cover is not None:
            wanted = TIERS.index(sweep.tier or "gate") <= TIERS.index(tier)
            stored = self.selections[sweep.id].gate if self.fresh(sweep) else None
            if stored and max(stored) >= prod(sweep.radix):
                raise _broken(self.path)
            return () if not wanted else [sweep.rows() if stored is None else sweep.numbered(stored)]
        if sweep.tier is not None:
            return sweep.blocks() if TIERS.index(sweep.tier) <= TIERS.index(tier) else ()
        return sweep.blocks() if tier not in STRENGTH else [self._chosen(sweep, tier)]

    def _chosen(self, sweep: Sweep, tier: Tier) -> Rows:
        """Return the chosen rows of the sweep in the gate or smoke tier, (n, axes)."""
        rows = sweep.rows()
        selection = self.selections[sweep.id] if self.fresh(sweep) else select(sweep)
        numbers = list(selection.gate if tier == "gate" else selection.smoke)
        if numbers and numbers[-1] >= len(rows):
            raise _broken(self.path)
        return rows[numbers]


def read(folder: Path) -> Tiers:
    """Return the selections that are stored in `folder`; none if there is no file.

    Raises:
        FileError: the file is broken.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return Tiers({}, path)
    try:
        return Tiers(TiersFile.model_validate_json(path.read_bytes()).sweeps, path)
    except ValidationError:
        raise _broken(path) from None


def _broken(path: Path) -> FileError:
    return FileError(path, f"must be what tconv writes (got something else); delete it and {advise(path.parent)}")


def advise(folder: Path) -> str:
    """Return the advice that updates the stored selections of a folder."""
    path = "" if folder == data_folder("cases") else f" {shlex.quote(str(folder))}"
    return f"run 'tconv check{path} --write-tiers'"


def write(folder: Path, sweeps: Iterable[Sweep], others: Mapping[str, TierSelection] | None = None) -> None:
    """Store selections in `folder`, one line for each sweep, so that a diff shows the changes.

    Args:
        folder: the folder of the corpus.
        sweeps: the sweeps whose rows are chosen anew.
        others: stored selections of other files' sweeps, written unchanged.

    Raises:
        FileError: the file cannot be written.
    """
    selections = dict(others or {}) | {sweep.id: select(sweep) for sweep in sweeps}
    lines = [
        f"  {json.dumps(name)}: {json.dumps(selection.model_dump(), separators=(',', ':'))}"
        for name, selection in selections.items()
    ]
    text = '{"format": 1, "sweeps": {\n' + ",\n".join(lines) + "\n}}\n"
    with writing(folder / FILE_NAME):
        (folder / FILE_NAME).write_text(text, encoding="utf-8")


def select(sweep: Sweep) -> TierSelection:
    """Choose the rows of each tier: they have every reachable tuple of every dialect. smoke is a part of gate."""
    if sweep.cover is not None:
        return TierSelection(digest=sweep.digest, gate=tuple(sorted(sweep.numbers(sweep.rows()))), smoke=())
    rows, masks = sweep.rows(), list(find_expressible_rows(sweep).values())
    gate = cover(rows, sweep.radix, STRENGTH["gate"], masks)
    smoke = cover(rows[gate], sweep.radix, STRENGTH["smoke"], [mask[gate] for mask in masks])
    return TierSelection(digest=sweep.digest, gate=tuple(gate), smoke=tuple(gate[number] for number in smoke))


def count_missing_tuples(
    sweep: Sweep, selection: TierSelection, masks_by_dialect: Mapping[str, Mask]
) -> dict[str, int]:
    """Return, for each tier, how many reachable tuples are in none of its rows.

    A stored selection may lack some if a dialect has changed since: then other tuples are reachable.

    Args:
        sweep: the sweep.
        selection: its rows in each tier.
        masks_by_dialect: which rows each dialect can express, see `find_expressible_rows`.
    """
    if sweep.cover is not None:
        return {}
    rows, masks = sweep.rows(), list(masks_by_dialect.values())
    numbers = {"gate": selection.gate, "smoke": selection.smoke}
    return {
        tier: count_uncovered(rows, sweep.radix, strength, masks, numbers[tier]) for tier, strength in STRENGTH.items()
    }

"""Which rows of a sweep are in which tier, kept by the sweep's digest so that no command waits for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from tconv.corpus.covering import cover
from tconv.dialects import DIALECTS
from tconv.errors import FileError
from tconv.expectation import Inexpressible, expectation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tconv.corpus.sweep import Mask, Rows, Sweep

FILE_NAME = "tiers.json"
STRENGTH = {"gate": 4, "smoke": 2}
"""How many axis values every reachable tuple of a tier has."""
_PRESENTATION = ("data_format", "filter_format", "shapes", "filter_source")


class Selection(BaseModel):
    """Row numbers of one sweep, by tier."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str
    gate: tuple[int, ...]
    smoke: tuple[int, ...]


class TiersFile(BaseModel):
    """All selections of a corpus, by sweep id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = 1
    sweeps: dict[str, Selection] = {}


@dataclass(frozen=True, slots=True)
class Tiers:
    """The selections that a corpus keeps."""

    kept: dict[str, Selection]

    def fresh(self, sweep: Sweep) -> bool:
        """Return whether what is kept for the sweep is what its file says today."""
        return sweep.id in self.kept and self.kept[sweep.id].digest == sweep.digest

    def rows(self, sweep: Sweep, tier: str) -> Rows:
        """Return the rows of the sweep in a tier, (n, axes)."""
        rows = sweep.rows()
        if tier == "full":
            return rows
        selection = self.kept[sweep.id] if self.fresh(sweep) else select(sweep)
        return rows[list(selection.gate if tier == "gate" else selection.smoke)]


def read(folder: Path) -> Tiers:
    """Return what is kept in `folder`, nothing where there is no file.

    Raises:
        FileError: the file is broken.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return Tiers({})
    try:
        return Tiers(TiersFile.model_validate_json(path.read_bytes()).sweeps)
    except ValidationError:
        raise FileError(path, "must be what 'tconv check --write-tiers' writes; write it anew") from None


def write(folder: Path, sweeps: Iterable[Sweep]) -> None:
    """Keep the selections of all sweeps in `folder`, a sweep a line so that a change is seen."""
    lines = [
        f"  {json.dumps(sweep.id)}: {json.dumps(select(sweep).model_dump(), separators=(',', ':'))}" for sweep in sweeps
    ]
    text = '{"format": 1, "sweeps": {\n' + ",\n".join(lines) + "\n}}\n"
    (folder / FILE_NAME).write_text(text, encoding="utf-8")


def select(sweep: Sweep) -> Selection:
    """Choose the rows of each tier: every reachable tuple of every dialect."""
    rows, masks = sweep.rows(), list(sayable(sweep).values())
    chosen = {tier: cover(rows, sweep.radix, strength, masks) for tier, strength in STRENGTH.items()}
    return Selection(digest=sweep.digest, gate=tuple(chosen["gate"]), smoke=tuple(chosen["smoke"]))


def sayable(sweep: Sweep) -> dict[str, Mask]:
    """Return, for each dialect, which rows of the sweep it can say."""
    rows = sweep.rows()
    # What is presentation alone decides nothing here; leaving it out makes the work a quarter.
    telling = [number for number, axis in enumerate(sweep.axes) if axis.name not in _PRESENTATION]
    _, first, inverse = np.unique(rows[:, telling], axis=0, return_index=True, return_inverse=True)
    cases = [sweep.case(row) for row in rows[first].tolist()]
    return {
        name: np.array([not isinstance(expectation(case, dialect), Inexpressible) for case in cases])[inverse.ravel()]
        for name, dialect in DIALECTS.items()
    }

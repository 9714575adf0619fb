"""Which rows of a sweep are in which tier, kept by the sweep's digest so that no command waits for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from tconv.corpus.covering import cover, uncovered
from tconv.dialects import DIALECTS
from tconv.errors import FileError, writing
from tconv.expectation.owed import Inexpressible, expectation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tconv.corpus.sweep import Axis, Rows, Sweep
    from tconv.vocabulary import Mask

FILE_NAME = "tiers.json"
STRENGTH = {"gate": 4, "smoke": 2}
"""How many axis values every reachable tuple of a tier has."""
_PRESENTATION = {"data_format", "filter_format", "shapes", "filter_source"}


def _ascends(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if any(one >= two for one, two in pairwise((-1, *numbers))):
        raise ValueError("must be row numbers in ascending order")
    return numbers


_RowNumbers = Annotated[tuple[int, ...], AfterValidator(_ascends)]


class Selection(BaseModel):
    """Row numbers of one sweep, by tier."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: str
    gate: _RowNumbers
    smoke: _RowNumbers


class TiersFile(BaseModel):
    """All selections of a corpus, by sweep id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    sweeps: dict[str, Selection] = {}


@dataclass(frozen=True, slots=True)
class Tiers:
    """The selections that a corpus keeps, and the file."""

    kept: dict[str, Selection]
    path: Path

    def fresh(self, sweep: Sweep) -> bool:
        """Return whether what is kept for the sweep is what its file says today."""
        return sweep.id in self.kept and self.kept[sweep.id].digest == sweep.digest

    def rows(self, sweep: Sweep, tier: str) -> Rows:
        """Return the rows of the sweep in a tier, (n, axes).

        Raises:
            FileError: rows are kept that the sweep does not have.
        """
        rows = sweep.rows()
        if tier == "full":
            return rows
        selection = self.kept[sweep.id] if self.fresh(sweep) else select(sweep)
        numbers = list(selection.gate if tier == "gate" else selection.smoke)
        if numbers and numbers[-1] >= len(rows):
            raise _broken(self.path)
        return rows[numbers]


def read(folder: Path) -> Tiers:
    """Return what is kept in `folder`, nothing where there is no file.

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
    return FileError(path, "must be what 'tconv check --write-tiers' writes; delete it and write it anew")


def write(folder: Path, sweeps: Iterable[Sweep], others: Mapping[str, Selection] | None = None) -> None:
    """Keep the selections of all sweeps in `folder`, a sweep a line so that a change is seen.

    Args:
        folder: where the corpus is.
        sweeps: those that are chosen anew.
        others: what is kept of sweeps of other files.

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


def select(sweep: Sweep) -> Selection:
    """Choose the rows of each tier: every reachable tuple of every dialect. What is in smoke is in gate."""
    rows, masks = sweep.rows(), list(sayable(sweep).values())
    gate = cover(rows, sweep.radix, STRENGTH["gate"], masks)
    smoke = cover(rows[gate], sweep.radix, STRENGTH["smoke"], [mask[gate] for mask in masks])
    return Selection(digest=sweep.digest, gate=tuple(gate), smoke=tuple(gate[number] for number in smoke))


def lacks(sweep: Sweep, selection: Selection) -> dict[str, int]:
    """Return, for each tier, how many tuples that it must have are in no row of it.

    The sweep may be as it was when the rows were chosen, and the dialects not: then other tuples can be reached.
    """
    rows, masks = sweep.rows(), list(sayable(sweep).values())
    kept = {"gate": selection.gate, "smoke": selection.smoke}
    return {
        tier: uncovered(rows, sweep.radix, strength, masks, list(kept[tier])) for tier, strength in STRENGTH.items()
    }


def sayable(sweep: Sweep) -> dict[str, Mask]:
    """Return, for each dialect, which rows of the sweep it can say."""
    rows = sweep.rows()
    # What is presentation alone decides nothing here; leaving it out makes the work a quarter.
    telling = [number for number, axis in enumerate(sweep.axes) if not _presents(axis)]
    _, first, inverse = np.unique(rows[:, telling], axis=0, return_index=True, return_inverse=True)
    cases = [sweep.case(row) for row in rows[first].tolist()]
    return {
        name: np.array([not isinstance(expectation(case, dialect), Inexpressible) for case in cases])[inverse.ravel()]
        for name, dialect in DIALECTS.items()
    }


def _presents(axis: Axis) -> bool:
    """Return whether an axis is of presentation alone. A word written as it is may be one that no dialect knows."""
    return all(
        key in _PRESENTATION and not isinstance(value, dict) for layer in axis.layers for key, value in layer.items()
    )

"""Counts in place of records: the passes of a sweep of the exhaustive tier, by cell.

A cell is what the sweep's coarse labels have in common, see `Sweep.cell`. A million passes, a line each, would say
nothing that the count does not say; whatever is no plain pass has its record.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, cast

from pydantic import Field, TypeAdapter

from tconv.backends.outcome import Recorded
from tconv.verdict.kinds import Rule  # noqa: TC001 - the file boundary reads the annotation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

START = b'{"cell":'
"""How the line of a cell begins; a record's begins otherwise."""


class Passed(NamedTuple):
    """How a case passed: the verdict's kind, and the rule by which it was compared."""

    kind: Literal["agreed", "inexpressible"]
    rule: Rule | None


@dataclass(frozen=True, slots=True)
class Cell(Recorded):
    """The line of a cell's cases with the same verdict.

    Attributes:
        cell: a pattern that all cases of the cell match.
        kind: the kind of their verdict: agreed, without notes, or inexpressible.
        cases: how many they are.
        digest: the sum of the BLAKE2b digests of their ids, of 8 bytes, modulo 2^64: the same in every order.
        rule: how they were compared, where they agreed.
        seconds: how long the backend took for all of them.
    """

    cell: str
    kind: Literal["agreed", "inexpressible"]
    cases: Annotated[int, Field(ge=1)]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    rule: Rule | None = None
    seconds: float = 0.0

    def line(self) -> str:
        """Return its line, without the newline."""
        values = {"cell": self.cell, "kind": self.kind, "rule": self.rule, "cases": self.cases, "digest": self.digest}
        present = {key: value for key, value in values.items() if value is not None}
        return json.dumps(present | {"seconds": round(self.seconds, 6)}, separators=(",", ":"))


_CELL: TypeAdapter[Cell] = TypeAdapter(Cell)
_AGREED = re.compile(
    r'\{"case":"[^"]*","backend":"[^"]*","dialect":"[^"]*",'
    r'"verdict":\{"kind":"agreed","rule":"(\w+)"\},"seconds":(\d+(?:\.\d+)?(?:e-\d+)?)\}'
)
"""The line of nearly every case, as records are written; to read it as JSON takes longer."""
_PLAIN = frozenset({"case", "backend", "dialect", "verdict", "seconds"})


def cell_of(line: bytes) -> Cell:
    """Return the cell of a line.

    Raises:
        ValidationError: the line is none.
    """
    return _CELL.validate_json(line)


def plain_pass(line: str) -> tuple[Passed, float] | None:
    """Return how the case of a record's line passed, and in how many seconds; None where the record says more."""
    if agreed := _AGREED.fullmatch(line):
        return Passed("agreed", cast("Rule", agreed[1])), float(agreed[2])
    record = json.loads(line)
    match record["verdict"]:
        case {"kind": "agreed", "rule": rule, **others} if not others and record.keys() == _PLAIN:
            return Passed("agreed", rule), record["seconds"]
        case {"kind": "inexpressible"} if record.keys() == _PLAIN:
            return Passed("inexpressible", None), record["seconds"]
        case _:
            return None


def summed(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells whose cases stand in several files, as one for each way to pass."""
    sums: dict[tuple[str, str, Rule | None], Cell] = {}
    for cell in cells:
        key = cell.cell, cell.kind, cell.rule
        if (other := sums.get(key)) is not None:
            digest = _digest(int(cell.digest, 16) + int(other.digest, 16))
            seconds = cell.seconds + other.seconds
            sums[key] = Cell(cell.cell, cell.kind, cell.cases + other.cases, digest, cell.rule, seconds)
        else:
            sums[key] = cell
    return list(sums.values())


class Count:
    """The passes of one cell so far: of each way to pass how many, the sum of the ids' numbers, and seconds."""

    def __init__(self) -> None:
        self._sums: dict[Passed, tuple[int, int, float]] = {}

    def add(self, case_id: str, passed: Passed, seconds: float) -> None:
        """Count a case that passed."""
        cases, numbers, so_far = self._sums.get(passed, (0, 0, 0.0))
        self._sums[passed] = cases + 1, numbers + _number(case_id), so_far + seconds

    def cells(self, name: str) -> Iterator[Cell]:
        """Yield the lines of the cell of this name."""
        for (kind, rule), (cases, numbers, seconds) in self._sums.items():
            yield Cell(name, kind, cases, _digest(numbers), rule, seconds)


def _digest(numbers: int) -> str:
    return f"{numbers % 2**64:016x}"


def _number(case_id: str) -> int:
    return int.from_bytes(blake2b(case_id.encode(), digest_size=8).digest(), "big")

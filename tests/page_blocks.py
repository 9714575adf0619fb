"""What is in the blocks of a page, read as its script reads them."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Block:
    """The values and the arrays of a block, see `tconv.reports.page.blocks`."""

    values: Any
    arrays: dict[str, np.ndarray[Any, np.dtype[Any]]]

    @classmethod
    def opened(cls, base64: str) -> Block:
        whole = zlib.decompress(b64decode(base64))
        length = int.from_bytes(whole[:4], "little")
        content = json.loads(whole[4 : 4 + length])
        places = content["arrays"].items()
        arrays = {
            name: np.frombuffer(whole, f"<{kind}", size, offset=4 + length + at) for name, (kind, at, size) in places
        }
        return cls(content["values"], arrays)

    def row(self, number: int) -> dict[str, Any]:
        """Return a row of a table, by the names of its columns; numbers begin with 1, and 0 has none."""
        if number == 0:
            return {}
        numbers = {name: int(column[number - 1]) for name, column in self.arrays.items()}
        return {name: self.values[name][place - 1] for name, place in numbers.items() if place}


@dataclass(frozen=True)
class Row:
    """One record as the page has it."""

    run: int
    case: str
    status: str
    kind: str
    phrase: str
    cause: int
    commands: dict[str, str]
    detail: dict[str, Any]
    problem: dict[str, Any]
    facts: dict[str, str]


def rows(data: Block, details: Block, problems: Block) -> list[Row]:
    values, arrays = data.values, data.arrays
    facts = {name: column for name, column in arrays.items() if name.startswith("fact ")}
    found = []
    for record, case in enumerate(arrays["case"]):
        number = {
            name: int(column[record]) for name, column in arrays.items() if name not in facts and name != "seconds"
        }
        its_facts = {name.removeprefix("fact "): int(column[case]) for name, column in facts.items()}
        found.append(
            Row(
                number["run"],
                values["ids"][case],
                values["statuses"][number["status"]][0],
                values["kinds"][number["kind"]],
                values["phrases"][number["phrase"]],
                number["cause"],
                dict(values["commands"][number["commands"]]),
                details.row(number["detail"]),
                problems.row(number["problem"]),
                {name: values["facts"][name][place - 1] for name, place in its_facts.items() if place},
            )
        )
    return found

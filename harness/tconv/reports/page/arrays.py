"""The arrays of artifacts on the page: for as many records as there is room, and up to a limit of size.

The script computes what follows from them, such as the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.records import artifacts
from tconv.reports.page.blocks import block
from tconv.reports.page.cause_lines import cause_numbers
from tconv.reports.words import STATUSES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.gate.assessment import Assessment
    from tconv.reports.page.cause_lines import CauseLine
    from tconv.vocabulary import Array

LARGEST = 16_384
"""The most elements of an array on the page."""
MOST = 30
"""The most records with arrays on the page, for one cause and run."""
_VALUES = ("expected", "actual", "allowed")
_OPERANDS = ("x", "w", "b")
_TAG = len('<script type="text/plain" id="arrays-"></script>\n') + 8


def array_blocks(assessments: Sequence[Assessment], lines: Sequence[CauseLine], room: int) -> list[tuple[int, str]]:
    """Return blocks of arrays, in base64, for records with an artifact, with the record's number.

    First the records get the outputs, then also the operands, as long as there is room. The example of each cause comes
    first, then the smallest case of each, and so on.

    Args:
        assessments: the runs.
        lines: their causes.
        room: the most characters of all blocks.
    """
    artifacts = _in_order(assessments, lines)
    blocks: dict[int, str] = {}
    for names in (_VALUES, _VALUES + _OPERANDS):
        for number, assessment, artifact in artifacts:
            text = _array_block(assessment.run.path.parent, artifact, names)
            room -= len(text) - len(blocks.get(number, "")) + (0 if number in blocks else _TAG)
            if room < 0:
                return list(blocks.items())
            blocks[number] = text
    return list(blocks.items())


def _in_order(assessments: Sequence[Assessment], lines: Sequence[CauseLine]) -> list[tuple[int, Assessment, str]]:
    """Return number, run and artifact of the records that get arrays, in the order of priority."""
    causes = cause_numbers(lines)
    examples = {line.members[0] for line in lines}
    # The page numbers the records of all runs in their order.
    numbered = enumerate((run, member) for run, of in enumerate(assessments) for member in of.statuses)
    in_order = sorted(
        ((number, run, member) for number, (run, member) in numbered if member.record.artifact is not None),
        key=lambda item: ((item[1], item[2].record.case) not in examples, item[2].record.size),
    )
    ranked = []
    sizes: dict[tuple[int, int], int] = {}
    for number, run, member in in_order:
        cause = causes.get((run, member.record.case), 0)
        place = sizes.get((run, cause), 0)
        sizes[run, cause] = place + 1
        if place < MOST and member.record.artifact is not None:
            urgency = list(STATUSES).index(member.status)
            ranked.append((place, urgency, number, assessments[run], member.record.artifact))
    ranked.sort(key=lambda item: item[:3])
    return [(number, assessment, artifact) for _, _, number, assessment, artifact in ranked]


def _array_block(folder: Path, artifact: str, names: tuple[str, ...]) -> str:
    """Return the arrays of an artifact in the page's form; if the file cannot be read, a note says so.

    An array is in float32 if no element changes by that; if not, in float64.

    Args:
        folder: the folder that the path is relative to, and must not leave.
        artifact: the path in the record.
        names: the arrays to include.
    """
    try:
        arrays, notes = artifacts.read(folder, artifact, names, LARGEST)
    except artifacts.Unreadable as reason:
        arrays, notes = {}, [f"{reason} The artifact is {artifact}."]
    else:
        notes += [f"The artifact is {artifact}."] if notes else []
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    exact = {name: _as_short_as_exact(array) for name, array in arrays.items()}
    return block({"notes": notes, "shapes": shapes}, exact)


def _as_short_as_exact(array: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        short = array.astype(np.float32)
    exact = np.array_equal(short.astype(np.float64), array, equal_nan=True)
    return short if exact else array.astype(np.float64)

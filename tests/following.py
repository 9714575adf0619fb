"""The records of runtimes that follow readings of a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from made_records import header
from tconv.backends import outcome as out
from tconv.cases.layouts import from_ncx
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import resolve
from tconv.dialects.readings import Reading, apply_readings
from tconv.errors import Violation
from tconv.expectation.problem import Problem
from tconv.records.record import Record
from tconv.records.record_file import Run
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case

TELLING = (
    "porting/asked",
    "padding/*/*-by-hand",
    "padding/auto-pad/totals[strides=4x2,kernel=1x2,dilations=1]",
    "empty/spatial",
)


def answered(problem: Problem, readings: Sequence[Reading]) -> out.Outcome:
    """Return what a runtime does that follows these readings."""
    geometry = resolve(problem.signature, apply_readings(problem.dialect.rules, readings))
    if isinstance(geometry, Violation):
        return out.Refused("no")
    y = problem.truth.compute_values(geometry).astype(problem.operands["x"].dtype)
    return out.Produced(from_ncx(y, problem.call.data_format))


def run_of(
    cases: Sequence[Case],
    name: str,
    follows: Callable[[Case], Sequence[Reading]],
    instead: Callable[[Case], out.Outcome | None] = lambda _: None,
) -> Run:
    """Return the records of a runtime that follows readings case by case, and does something else `instead`."""
    dialect, records = DIALECTS[name], []
    for case in cases:
        problem = Problem(case, dialect)
        if problem.values is not None:
            verdict = judge(problem, instead(case) or answered(problem, follows(case)), DType.F32)
            records.append(Record(case.id, "acme", name, verdict))
    made = header(cases=len(records)).model_copy(update={"dialect": name})
    return Run(Path("acme.jsonl"), made, records)

"""Runtimes that are a function of the problem, played in the test's own process.

Those that need a process of their own are `wrong_backends`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from made_records import run_of
from tconv.backends import Produced, Refused
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.dialects import find_dialect
from tconv.dialects.geometry import resolve
from tconv.dialects.readings import apply_readings
from tconv.errors import Violation
from tconv.evidence.calls import Calls, answer_of
from tconv.execution.evaluation import Evaluator
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.gate.assessment import assess
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.backends import Outcome
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects.geometry import Geometry
    from tconv.dialects.readings import Reading
    from tconv.gate.assessment import Assessment
    from tconv.records.record import Record
    from tconv.records.record_file import Run
    from tconv.vocabulary import Array

ONNX = find_dialect("onnx/ConvTranspose-22")


def presented(problem: Problem, y: Array) -> Array:
    """Return an output (N, O, Y...) in the call's layout and type, as a runtime gives it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return from_ncx(y.astype(NUMPY_TYPES[problem.call.dtype]), problem.call.data_format)


def geometry_of(problem: Problem) -> Geometry:
    """Return the geometry that is expected."""
    assert problem.values is not None
    return problem.values.primary.geometry


def computed(problem: Problem, geometry: Geometry | None = None, **operands: Array) -> Array:
    """Return what is expected for another geometry, or other operands, (N, O, Y...), in float64."""
    truth = Truth(dict(problem.truth.operands) | operands, problem.case.x.dtype)
    return truth.compute_values(geometry or geometry_of(problem))


def calls_of(records: Sequence[Record], corpus: Corpus) -> Calls:
    """Return the calls of a run of these records."""
    return Calls([*map(answer_of, records)], corpus.find, ONNX)


def assessment_of(records: Sequence[Record], corpus: Corpus) -> Assessment:
    """Return what the gate says of a run of these records."""
    run = replace(run_of({}), records=sorted(records, key=lambda record: record.case))
    return assess(run, None, corpus.find_facts, find=corpus.find)


def reports_of(answer: Callable[[Problem], Array | Outcome], cases: Sequence[Case]) -> list[Record]:
    """Return the records of a runtime that answers so, with outputs (N, O, Y...) in float64, or with other outcomes."""

    def outcome(problem: Problem) -> Array | Outcome:
        made = answer(problem)
        return presented(problem, made) if isinstance(made, np.ndarray) else made

    return records_of(outcome, cases)


def records_of(answer: Callable[[Problem], Array | Outcome], cases: Sequence[Case]) -> list[Record]:
    """Return the records of a runtime that answers each valid case so: with an output, or with another outcome."""

    class Backend:
        problem: Problem

        def run(self, call: Any, arrays: Any) -> Any:  # noqa: ANN401, ARG002 - a backend's interface
            made = answer(self.problem) if self.problem.values else Refused("invalid")
            return Produced(made) if isinstance(made, np.ndarray) else made

    backend = Backend()
    evaluator = Evaluator(backend, "made-up", ONNX, None, contexts=True)  # type: ignore[arg-type]
    made = []
    for case in cases:
        backend.problem = Problem(case, ONNX)
        made.append(evaluator.evaluate(case))
    return made


def answered(problem: Problem, readings: Sequence[Reading]) -> Outcome:
    """Return what a runtime does that follows these readings."""
    geometry = resolve(problem.signature, apply_readings(problem.dialect.rules, readings))
    if isinstance(geometry, Violation):
        return Refused("no")
    return Produced(presented(problem, problem.truth.compute_values(geometry)))


def run_following(
    cases: Sequence[Case],
    name: str,
    follows: Callable[[Case], Sequence[Reading]],
    instead: Callable[[Case], Outcome | None] = lambda _: None,
) -> Run:
    """Return the records of a runtime of a dialect that follows readings, and does something else `instead`."""
    problems = [problem for case in cases if (problem := Problem(case, find_dialect(name))).values is not None]
    verdicts = {
        problem.case.id: judge(problem, instead(problem.case) or answered(problem, follows(problem.case)), DType.F32)
        for problem in problems
    }
    run = run_of(verdicts)
    header = run.header.model_copy(update={"dialect": name})
    return replace(run, header=header, records=[replace(record, dialect=name) for record in run.records])

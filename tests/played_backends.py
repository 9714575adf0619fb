"""Runtimes that are a function of the problem, played in the test's own process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tconv.backends import Produced, Refused
from tconv.dialects import dialect_named
from tconv.execution.evaluation import Evaluator
from tconv.expectation.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case
    from tconv.records.record import Record
    from tconv.vocabulary import Array

ONNX = dialect_named("onnx/ConvTranspose-22")
ACCUMULATES = {"f16": "f32", "bf16": "f32"}


def records_of(answer: Callable[[Problem], Array], cases: Sequence[Case]) -> list[Record]:
    """Return the records of a runtime that answers each valid case so."""

    class Backend:
        problem: Problem

        def run(self, call: Any, arrays: Any) -> Any:  # noqa: ANN401, ARG002 - a backend's interface
            return Produced(answer(self.problem)) if self.problem.values else Refused("invalid")

    backend = Backend()
    evaluator = Evaluator(backend, "made-up", ONNX, ACCUMULATES, None)  # type: ignore[arg-type]
    made = []
    for case in cases:
        backend.problem = Problem(case, ONNX)
        made.append(evaluator.evaluate(case))
    return made

"""Cases, a few at a time: all of them are prepared, then asked, then judged.

A runtime that makes a session replaces all that is in the processor's caches. In stages, the work of tconv for a case
finds the code and the tables of the case before in the caches, and the runtime finds its own.
"""

from __future__ import annotations

from math import prod
from time import monotonic
from typing import TYPE_CHECKING

from tconv.expectation.problem import PREPARED, SMALL, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.execution.call_result import CallResult
    from tconv.execution.evaluation import Evaluator
    from tconv.execution.position import Position
    from tconv.records.record import Record

_SECONDS = 0.02
"""After this time the answers so far are judged. No more work than that is lost with a death, and the records of a slow
runtime come while it works."""


def evaluated_in_stages(
    cases: Iterable[Case], evaluator: Evaluator, position: Position, most: int = PREPARED
) -> Iterator[tuple[int, Record]]:
    """Yield the record of each case with its number, in their order.

    Args:
        cases: the cases of a message.
        evaluator: prepares, asks and judges them.
        position: where to say which case is worked at.
        most: how many are prepared at once.
    """
    problems = (Problem(case, evaluator.dialect) for case in cases)
    for part in _parts(enumerate(problems), most):
        for index, problem in part:
            position.begin(index)
            evaluator.prepare(problem)
        results: list[tuple[int, Problem, CallResult | None]] = []
        since = monotonic()
        for index, problem in part:
            position.begin(index)
            results.append((index, problem, evaluator.ask(problem)))
            if problem is part[-1][1] or monotonic() - since > _SECONDS:
                for asked_index, asked_problem, result in results:
                    position.begin(asked_index)
                    yield asked_index, evaluator.record(asked_problem, result)
                results, since = [], monotonic()


def _parts(problems: Iterable[tuple[int, Problem]], most: int) -> Iterator[list[tuple[int, Problem]]]:
    """Yield parts of neighbours. A problem holds its operands, so that no more of them are made than are needed."""
    part: list[tuple[int, Problem]] = []
    elements = 0
    for index, problem in problems:
        size = prod(problem.case.x.shape) + prod(problem.case.w.shape)
        if part and (len(part) == most or elements + size > SMALL):
            yield part
            part, elements = [], 0
        part.append((index, problem))
        elements += size
    if part:
        yield part

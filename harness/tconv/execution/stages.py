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
    from tconv.execution.journal import Journal
    from tconv.records.record import Record

_SECONDS = 0.02
"""After this time the answers so far are judged. No more work than that is lost with a death, and the records of a slow
runtime come while it works."""


def evaluated_in_stages(
    cases: Iterable[Case], evaluator: Evaluator, journal: Journal, first: int = 0, most: int = PREPARED
) -> Iterator[Record]:
    """Yield the record of each case, in their order.

    Args:
        cases: the cases.
        evaluator: prepares, asks and judges them.
        journal: where to say which case is worked at.
        first: the number of the first case.
        most: how many are prepared at once.
    """
    problems = (Problem(case, evaluator.dialect) for case in cases)
    for part in _parts(enumerate(problems, start=first), most):
        for number, problem in part:
            journal.begin(number)
            evaluator.prepare(problem)
        results: list[tuple[int, Problem, CallResult | None]] = []
        since = monotonic()
        for number, problem in part:
            journal.begin(number)
            results.append((number, problem, evaluator.ask(problem)))
            if problem is part[-1][1] or monotonic() - since > _SECONDS:
                for asked_number, asked_problem, result in results:
                    journal.begin(asked_number)
                    yield evaluator.record(asked_problem, result)
                results, since = [], monotonic()


def _parts(problems: Iterable[tuple[int, Problem]], most: int) -> Iterator[list[tuple[int, Problem]]]:
    """Yield parts of neighbours. A problem holds its operands, so that no more of them are made than are needed."""
    part: list[tuple[int, Problem]] = []
    elements = 0
    for number, problem in problems:
        size = prod(problem.case.x.shape) + prod(problem.case.w.shape)
        if part and (len(part) == most or elements + size > SMALL):
            yield part
            part, elements = [], 0
        part.append((number, problem))
        elements += size
    if part:
        yield part

"""The rule of a backend that a failing case follows, learnt by asking cases of the same situation."""

from __future__ import annotations

from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from tconv.execution.pool import Pool
from tconv.learning import lessons
from tconv.learning.situations import situation_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.cases.case import Case
    from tconv.execution.worker import Assignment
    from tconv.learning import Lesson
    from tconv.records.record import Record

_LARGEST = 2**14
"""Elements of data times those of the filter: a small case shows a size and a place as well as a large one."""
_MOST = 200


def own_rule(
    case: Case, record: Record, others: Iterable[Case], assignment: Assignment, timeout: float
) -> Lesson | None:
    """Return the rule that a wrong output follows; None where its values lie where they must, or no rule is found.

    Args:
        case: the case that fails.
        record: its record.
        others: cases to choose from: of those that have the same padding mode, and output_shape or not, some are run.
        assignment: the backend, its dialect and its options.
        timeout: seconds that one case may take.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    if record.placement is None and record.verdict.kind != "wrong-shape":
        return None
    siblings = [
        other
        for other in others
        if other.breaks is None and other.id != case.id and prod(other.x.shape) * prod(other.w.shape) <= _LARGEST
        if situation_of(other) == situation_of(case)
    ]
    chosen = list(islice(siblings, 0, None, max(len(siblings) // _MOST, 1)))
    with Pool(assignment, 1, timeout) as pool:
        records = [record, *pool.records(chosen).values()]
        cases = {member.id: member for member in (case, *chosen)}
        learnt = lessons(records, cases.get, pool.dialect, frozenset({case.id}))
    return next((lesson for lesson in learnt if case.id in lesson.cases), None)

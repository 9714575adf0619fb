"""Which of several misreadings a backend follows: asked by cases that tell them apart."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tconv.diagnosis.misreadings import misreadings_of
from tconv.dialects.readings import Together
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.expectation.problem import Problem
from tconv.investigation.mutants import mutated
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.records.record_file import Record

REPEAT = 3
"""How often each case is asked: an answer that changes has no explanation."""
_LARGEST = 2**14
"""Elements of the operands' product; a case that tells two misreadings apart need not be large."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A case that was asked to tell candidates apart.

    Attributes:
        record: what came of it.
        left: the candidates that it leaves.
    """

    record: Record
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How a failure was explained.

    Attributes:
        record: what came of the case.
        asked: further cases, in their order.
        left: the misreadings that explain everything that was seen.
    """

    record: Record
    asked: tuple[Asked, ...]
    left: tuple[str, ...]


def separate(
    case: Case, others: Iterable[Case], dialect: Dialect, backend: str, timeout: float, most: int = 12
) -> Reasoning:
    """Return which misreading a backend follows, by running it on a case and on others that tell candidates apart.

    Args:
        case: the case that fails.
        others: cases to choose from.
        dialect: the dialect.
        backend: an installed name, `package.module:attribute` or `exec:COMMAND`.
        timeout: seconds that one case may take.
        most: how many other cases may be asked.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    with Pool(Assignment(backend, dialect.name, None, "", REPEAT), 1, timeout) as pool:
        first = pool.record(case)
        left = [single.names[0] for single in first.diagnosis if len(single.names) == 1]
        asked: list[Asked] = []
        for telling in _telling(others, dialect, left):
            if len(left) < _SEVERAL or len(asked) == most:
                break
            problem = Problem(telling, dialect)
            if len({_predicted(problem, name) for name in left}) < _SEVERAL:
                continue
            record = pool.record(telling)
            left = [name for name in left if _bears_out(record, problem, name)]
            asked.append(Asked(record, tuple(left)))
    return Reasoning(first, tuple(asked), tuple(left) if asked or len(left) == 1 else tuple(map(str, first.diagnosis)))


_SEVERAL = 2


def _telling(others: Iterable[Case], dialect: Dialect, names: Sequence[str]) -> Iterator[Case]:
    """Yield cases to which the misreadings give several answers, the smallest first."""
    small = [case for case in others if _products(case) <= _LARGEST]
    for case in sorted(small, key=lambda case: (_products(case), case.id)):
        problem = Problem(case, dialect)
        if problem.values is not None and len({_predicted(problem, name) for name in names}) > 1:
            yield case


def _products(case: Case) -> int:
    return prod(case.x.shape) * prod(case.w.shape)


def _predicted(problem: Problem, name: str) -> bytes | None:
    """Return the output that a misreading gives, as bytes; None where it gives what is owed."""
    misreading = next(known for known in misreadings_of(problem.dialect) if known.name == name)
    array, owed = mutated(problem, misreading), problem.output
    if array is None or owed is None or (array.shape == owed.shape and array.tobytes() == owed.tobytes()):
        return None
    return str(array.shape).encode() + array.tobytes()


def _bears_out(record: Record, problem: Problem, name: str) -> bool:
    """Return whether what came of a case is what the misreading predicts."""
    if _predicted(problem, name) is None:
        return isinstance(record.verdict, ver.Agreed | ver.Disputed)
    return Together((name,)) in record.diagnosis

"""Which of several misreadings a backend follows: asked by cases that tell them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.call import signature
from tconv.cases.operands import make
from tconv.diagnosis.misreadings import imagined, of
from tconv.execution.pool import Pool, asking
from tconv.execution.worker import Assignment
from tconv.expectation.owed import Values, expectation
from tconv.expectation.truth import Truth
from tconv.investigation.mutants import produced
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.diagnosis.misreadings import Misreading
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
    case: Case, others: Iterable[Case], row: Dialect, backend: str, timeout: float, most: int = 12
) -> Reasoning:
    """Return which misreading a backend follows, by running it on a case and on others that tell candidates apart.

    Args:
        case: the case that fails.
        others: cases to choose from.
        row: the dialect.
        backend: an installed name, `package.module:attribute` or `exec:COMMAND`.
        timeout: seconds that one case may take.
        most: how many other cases may be asked.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    with Pool(Assignment(backend, row.name, None, "", REPEAT), 1, timeout) as pool:
        ask = asking(pool)
        first = ask(case)
        left = [name for name in first.diagnosis if " + " not in name]
        asked: list[Asked] = []
        for telling in _telling(others, row, left):
            if len(left) < _SEVERAL or len(asked) == most:
                break
            if len({_predicted(telling, row, name) for name in left}) < _SEVERAL:
                continue
            record = ask(telling)
            left = [name for name in left if _bears_out(record, telling, row, name)]
            asked.append(Asked(record, tuple(left)))
    return Reasoning(first, tuple(asked), tuple(left) if asked or len(left) == 1 else first.diagnosis)


_SEVERAL = 2


def _telling(others: Iterable[Case], row: Dialect, names: Sequence[str]) -> Iterator[Case]:
    """Yield cases to which the misreadings give several answers, the smallest first."""
    small = [case for case in others if np.prod(case.x.shape) * np.prod(case.w.shape) <= _LARGEST]
    for case in sorted(small, key=lambda one: (np.prod(one.x.shape) * np.prod(one.w.shape), one.id)):
        if isinstance(expectation(case, row), Values) and len({_predicted(case, row, name) for name in names}) > 1:
            yield case


def _predicted(case: Case, row: Dialect, name: str) -> bytes | None:
    """Return the output that a misreading gives to a case, as bytes; None where it gives what is owed."""
    own, expected = make(case.x, case.w, case.b), expectation(case, row)
    operands = {role: array.astype(np.float64) for role, array in own.items()}
    made = imagined([_named(row, name)], signature(case, row), row, operands)
    if made is None or not isinstance(expected, Values):
        return None
    array = produced(made, case)
    owed = Truth(own, case.x.dtype).values(expected.primary.geometry).astype(array.dtype)
    if array.shape == owed.shape and array.tobytes() == owed.tobytes():
        return None
    return str(array.shape).encode() + array.tobytes()


def _named(row: Dialect, name: str) -> Misreading:
    return next(one for one in of(row.name) if one.name == name)


def _bears_out(record: Record, case: Case, row: Dialect, name: str) -> bool:
    """Return whether what came of a case is what the misreading predicts."""
    if _predicted(case, row, name) is None:
        return isinstance(record.verdict, ver.Agreed | ver.Disputed)
    return name in record.diagnosis

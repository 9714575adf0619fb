"""What fails in a context: the smallest context that does, and what the runtime makes of the graph if it does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.cases.context import NEUTRAL
from tconv.evidence import answer_of
from tconv.execution.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.cases.context import Context
    from tconv.execution.asking import Asking
    from tconv.records.record import Record


@dataclass(frozen=True, slots=True)
class InGraph:
    """How a failure in a context was narrowed down.

    Attributes:
        case: the same case with the fewest levels that fail in the same way.
        record: its record.
        alone: the record of the operator alone.
        right_with: options of the backend with which the smallest context is right, as `name=value`.
    """

    case: Case
    record: Record
    alone: Record
    right_with: tuple[str, ...]


def narrow_down(case: Case, asking: Asking) -> InGraph | None:
    """Return the smallest context of a case that fails as it does; None if it does not fail.

    Args:
        case: the case, in a context.
        asking: how the backend is asked.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    with Pool(asking) as pool:
        record = pool.record(case)
        shown = answer_of(record).failure
        if shown is None:
            return None
        for axis in case.context.levels:
            smaller = _with(case, replace(case.context, **{axis: getattr(NEUTRAL, axis)}), axis)
            other = pool.record(smaller)
            if (same := answer_of(other).failure) is not None and same.kind == shown.kind:
                case, record = smaller, other
        alone, options = pool.record(_with(case, NEUTRAL, "alone")), pool.options
    changes = [f"{name}={plainer}" for name, _, _, _, plainer in options if plainer and name not in asking.options]
    return InGraph(case, record, alone, tuple(_right_with(case, changes, asking)))


def _with(case: Case, context: Context, name: str) -> Case:
    return replace(case, id=f"{case.id}/without/{name}", context=context)


def _right_with(case: Case, changes: list[str], asking: Asking) -> Iterator[str]:
    """Yield the changes with which a case passes."""
    for change in changes:
        name, _, value = change.partition("=")
        with Pool(replace(asking, options={**asking.options, name: value})) as pool:
            if answer_of(pool.record(case)).failure is None:
                yield change

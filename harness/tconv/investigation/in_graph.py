"""What fails in a context: the smallest context that does, and what the runtime makes of the graph if it does.

A runtime that is right with one change shows which of its steps makes it wrong: an option that lets it change graphs
less, one of its optimisers left out, or the tensor between two operations as a further output of the graph, across
which nothing can be fused. Each is asked in a fresh process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.cases.context import NEUTRAL
from tconv.evidence import answer_of
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.cases.context import Context
    from tconv.dialects import Dialect
    from tconv.execution.asking import Asking
    from tconv.execution.supervisor import OfferedOption
    from tconv.records.record import Record


@dataclass(frozen=True, slots=True)
class InGraph:
    """How a failure in a context was narrowed down.

    Attributes:
        case: the same case with the fewest levels that fail in the same way.
        record: its record.
        alone: the record of the operator alone.
        right_with: options of the backend with which the smallest context is right, as `name=value`.
        right_apart: operations, as `Pad and ConvTranspose`, between which a further output makes it right.
    """

    case: Case
    record: Record
    alone: Record
    right_with: tuple[str, ...]
    right_apart: tuple[str, ...]


def narrow_down(case: Case, asking: Asking) -> InGraph | None:
    """Return the smallest context of a case that fails as it does; None if it does not fail.

    Args:
        case: the case, in a context.
        asking: how the backend is asked.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """
    with Pool(asking) as pool:
        record, options, dialect = pool.record(case), pool.options, pool.dialect
    shown = answer_of(record).failure
    if shown is None:
        return None
    for axis in case.context.levels:
        smaller = _with(case, replace(case.context, **{axis: getattr(NEUTRAL, axis)}), axis)
        other, _ = _asked(smaller, asking)
        if (same := answer_of(other).failure) is not None and same.kind == shown.kind:
            case, record = smaller, other
    alone, _ = _asked(_with(case, NEUTRAL, "alone"), asking)
    with_options = tuple(_right_with(case, options, asking))
    return InGraph(case, record, alone, with_options, tuple(_right_apart(case, dialect, asking)))


def _with(case: Case, context: Context, name: str) -> Case:
    return replace(case, id=f"{case.id}/without/{name}", context=context)


def _right_with(case: Case, options: Sequence[OfferedOption], asking: Asking) -> Iterator[str]:
    """Yield the options with which a case is right."""
    for name, _, _, _, plainer, named_by in options:
        values = [plainer] if plainer else []
        if named_by:
            setting, most, pattern = named_by
            _, log = _asked(case, asking, **{setting: most})
            values += dict.fromkeys(re.findall(pattern, log))
        for value in values if name not in asking.options else ():
            if _is_right(case, asking, **{name: value}):
                yield f"{name}={value}"


def _right_apart(case: Case, dialect: Dialect, asking: Asking) -> Iterator[str]:
    """Yield the operations between which a further output makes a case right."""
    graph = Problem(case, dialect).call.graph
    for node in graph.nodes if graph is not None else ():
        for name in node.outputs:
            users = [other.kind for other in graph.nodes if name in other.inputs] if graph is not None else []
            if users and _is_right(case, replace(asking, shown=name)):
                yield f"{node.kind} and {' and '.join(users)}"


def _is_right(case: Case, asking: Asking, **options: str) -> bool:
    return isinstance(_asked(case, asking, **options)[0].verdict, ver.Allowed)


def _asked(case: Case, asking: Asking, **options: str) -> tuple[Record, str]:
    """Return what comes of a case in a fresh process, and what the runtime has logged."""
    with Pool(replace(asking, options={**asking.options, **options})) as pool:
        return pool.record(case), pool.log

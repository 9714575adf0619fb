"""What fails in a context: the smallest context that does, and what the runtime makes of the graph if it does.

A runtime that is right with one change shows which of its steps makes it wrong: an option that lets it change graphs
less, one of its optimisers left out, or the tensor between two operations as a further output of the graph, across
which nothing can be fused. Each is asked in a fresh process.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.cases.context import NEUTRAL
from tconv.cases.patterns import with_levels
from tconv.errors import BackendMissing
from tconv.evidence import InContext, answer_of
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.records.record import Change
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.cases.context import Context
    from tconv.dialects import Dialect
    from tconv.evidence import Explanation
    from tconv.execution.asking import Asking
    from tconv.execution.supervisor import OfferedOption
    from tconv.records.record import Record


MOST = 8
"""Causes of a run for which contexts are asked with changes at most: each change takes a process of its own."""


@dataclass(frozen=True, slots=True)
class InGraph:
    """How a failure in a context was narrowed down.

    Attributes:
        case: the same case with the fewest levels that fail in the same way.
        record: its record.
        alone: the record of the operator alone.
        right: each change with which the smallest context is right.
    """

    case: Case
    record: Record
    alone: Record
    right: tuple[Change, ...]


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
    changes = [*(change for option in options for change in _of_option(case, option, asking))]
    changed = [_changed(case, change, asking) for change in changes] + [*_apart(case, dialect, asking)]
    return InGraph(case, record, alone, tuple(of.changed for of in changed if of.changed and _is_right(of)))


def ask_with_changes(
    explanations: Iterable[Explanation],
    find: Callable[[str], Case | None],
    asking: Asking,
    keep: Callable[[Case, Record], None],
) -> None:
    """Ask the smallest context of each cause with one change after the other, until it is right with one.

    One optimiser after the other is left out only if a coarser option makes it right, and tensors are shown only if no
    option does.

    Args:
        explanations: what explains the failures of a run.
        find: returns a case by its id; None if there is none.
        asking: how the backend is asked.
        keep: is given each case and its record.
    """
    contexts = [each for each in explanations if isinstance(each.what, InContext)]
    for each in contexts[:MOST]:
        levels = each.what.levels if isinstance(each.what, InContext) else ()
        case = find(with_levels(each.cases[0], levels))
        if case is None:
            continue
        # A backend that does not start any more leaves it open who did it.
        with suppress(BackendMissing):
            for record in _until_right(case, asking):
                keep(case, record)


def _until_right(case: Case, asking: Asking) -> Iterator[Record]:
    """Yield the records of a case with one change at a time, until it is right with one."""
    with Pool(asking) as pool:
        options, dialect = pool.options, pool.dialect
    is_found = False
    # Those with a plainer value first.
    for option in sorted(options, key=lambda option: not option[4]):
        for change in _of_option(case, option, asking) if option[4] or is_found else ():
            yield (record := _changed(case, change, asking))
            if _is_right(record):
                is_found = True
                break
    for record in () if is_found else _apart(case, dialect, asking):
        yield record
        if _is_right(record):
            return


def _with(case: Case, context: Context, name: str) -> Case:
    return replace(case, id=f"{case.id}/without/{name}", context=context)


def _of_option(case: Case, option: OfferedOption, asking: Asking) -> Iterator[Change]:
    """Yield the values of an option that let the backend change a graph less."""
    name, _, _, _, plainer, named_by = option
    if name in asking.options:
        return
    if plainer:
        yield Change(option=f"{name}={plainer}")
    if named_by:
        setting, most, pattern = named_by
        _, log = _asked(case, asking, **{setting: most})
        yield from (Change(option=f"{name}={value}") for value in dict.fromkeys(re.findall(pattern, log)))


def _changed(case: Case, change: Change, asking: Asking) -> Record:
    name, _, value = change.option.partition("=")
    return replace(_asked(case, asking, **{name: value})[0], changed=change)


def _apart(case: Case, dialect: Dialect, asking: Asking) -> Iterator[Record]:
    """Yield what comes of a case if a tensor between two operations is a further output of the graph."""
    graph = Problem(case, dialect).call.graph
    for node in graph.nodes if graph is not None else ():
        for name in node.outputs:
            users = [other.kind for other in graph.nodes if name in other.inputs] if graph is not None else []
            if users:
                record, _ = _asked(case, replace(asking, shown=name))
                yield replace(record, changed=Change(apart=f"{node.kind} and {' and '.join(users)}"))


def _is_right(record: Record) -> bool:
    return isinstance(record.verdict, ver.Allowed)


def _asked(case: Case, asking: Asking, **options: str) -> tuple[Record, str]:
    """Return what comes of a case in a fresh process, and what the runtime has logged."""
    with Pool(replace(asking, options={**asking.options, **options})) as pool:
        return pool.record(case), pool.log

"""Failures in a context: the changes of the graph that make the smallest context that fails right.

If a runtime is right with one change, this change shows the step that makes it wrong. A change is an option that lets
the runtime change graphs less, or one of its optimisers left out. It may also be a tensor between two operations as a
further output of the graph. Operations cannot be fused across such a tensor. Each change is tried in a fresh process.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.cases.patterns import with_levels
from tconv.errors import BackendMissing
from tconv.evidence.hypotheses import InContext
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.records.record import Change
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.evidence.hypotheses import Explanation
    from tconv.execution.asking import Asking
    from tconv.execution.supervisor import OfferedOption
    from tconv.records.record import Record


MOST = 8
"""The most causes of a run whose contexts are tried with changes: each change needs its own process."""


def ask_with_changes(
    explanations: Iterable[Explanation],
    find: Callable[[str], Case | None],
    asking: Asking,
    keep: Callable[[Case, Record], None],
) -> None:
    """Ask the smallest context of each cause with one change after the other, until one makes it right.

    Optimisers are left out one by one only if a coarser option makes the context right. Tensors become outputs only if
    no option does.

    Args:
        explanations: the explanations of the failures of a run.
        find: returns a case by its id; None if there is none.
        asking: how the backend is asked.
        keep: is called with each case and its record.
    """
    contexts = [each for each in explanations if isinstance(each.what, InContext)]
    for each in contexts[:MOST]:
        levels = each.what.levels if isinstance(each.what, InContext) else ()
        case = find(with_levels(each.cases[0], levels))
        if case is None:
            continue
        # If a backend does not start any more, its changes stay unknown.
        with suppress(BackendMissing):
            for record in _until_right(case, asking):
                keep(case, record)


def _until_right(case: Case, asking: Asking) -> Iterator[Record]:
    """Yield the records of a case with one change at a time, until one is right."""
    with Pool(asking) as pool:
        options, dialect = pool.options, pool.dialect
    is_found = False
    # Options with a plain value come first.
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


def _of_option(case: Case, option: OfferedOption, asking: Asking) -> Iterator[Change]:
    """Yield the changes by an option that let the backend change a graph less."""
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
    """Yield the records of a case in which a tensor between two operations is a further output of the graph."""
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
    """Return the record of a case in a fresh process, and the runtime's log."""
    with Pool(replace(asking, options={**asking.options, **options})) as pool:
        return pool.record(case), pool.log

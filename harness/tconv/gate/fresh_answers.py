"""Failures asked again, each alone in a fresh process: whether the answer depends on the calls before it.

A plan that is remembered by the shapes alone, or a buffer that is not cleared, gives wrong answers that a fresh process
does not. Their values look like many other mistakes.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from tconv.cases.patterns import path_of
from tconv.errors import BackendMissing
from tconv.execution.accumulation import PROBED
from tconv.execution.pool import Pool
from tconv.gate.examples import size
from tconv.records.failure import MAY_DEPEND
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.execution.worker import Assignment
    from tconv.records.record import Record
    from tconv.records.record_file import Run

TIMES = 3
"""How often a failure is asked again."""
_FIRST = 6
"""So many failures are asked again, and others only where an answer of these depends on the calls before it."""
_LONGEST_SECONDS = 10.0
"""After this time no other failure is asked again: a runtime may take long to start."""


def asked_again(
    run: Run, failed: Container[str], assignment: Assignment, timeout: float, find: Callable[[str], Case | None]
) -> list[Record]:
    """Return the records of failures that were asked again, if an answer of one depends on the calls before it.

    The smallest failure of each of the largest groups is asked again, and where one of them has another answer in a
    fresh process, as many others as there is time for. Those have the verdict `unstable`.

    Args:
        run: the records as they are in the file. The verdicts that other cases settle are no answers of the backend.
        failed: the ids of the cases that failed, as the gate says.
        assignment: what its workers were started for.
        timeout: seconds that a case may take.
        find: returns a case of the run by its id.
    """
    may_depend = (record for record in run.records if isinstance(record.verdict, MAY_DEPEND))
    examples = list(_examples(record for record in may_depend if record.case in failed))
    # A probe of the type of sums would be a call before the case.
    known: dict[str, str | None] = {**dict.fromkeys(PROBED), **run.header.backend.accumulates}
    fresh = replace(assignment, repeat=TIMES, together=1, accumulates=known)
    ends = monotonic() + _LONGEST_SECONDS
    found: list[Record] = []
    # A backend that does not start again leaves the failures as they are.
    with suppress(BackendMissing):
        for count, record in enumerate(examples, start=1):
            case = find(record.case)
            if (count > _FIRST and not _depends(found)) or (count > 1 and monotonic() > ends):
                break
            if case is not None:
                with Pool(fresh, 1, timeout) as pool:
                    found.append(_compared(record, pool.record(case)))
    return found if _depends(found) else []


def _depends(found: Iterable[Record]) -> bool:
    return any(isinstance(record.verdict, ver.Unstable) for record in found)


def _examples(failed: Iterable[Record]) -> Iterator[Record]:
    """Yield failures in the order in which they are asked again: the smallest of each group that may have one cause.

    That of the largest group is the first. Then all others come, the smallest first.
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in sorted(failed, key=size):
        name = str(record.diagnosis[0]) if record.diagnosis else path_of(record.case)
        groups[record.verdict.kind, name].append(record)
    in_order = sorted(groups.values(), key=len, reverse=True)
    yield from (group[0] for group in in_order)
    yield from sorted((record for group in in_order for record in group[1:]), key=size)


def _compared(after_others: Record, alone: Record) -> Record:
    """Return the record of a failure that was asked again."""
    kind = alone.verdict.kind
    if kind == after_others.verdict.kind:
        return replace(after_others, alone=kind)
    if isinstance(alone.verdict, ver.Unstable):
        message = alone.verdict.message
    else:
        # Of a process that ended nothing could be asked again.
        times = "" if isinstance(alone.verdict, ver.Died | ver.TimedOut) else f" {TIMES} times"
        message = f"{after_others.verdict.kind} after other calls, and {kind}{times} alone in a fresh process"
    return replace(
        after_others,
        verdict=ver.Unstable(message),
        alone=kind,
        artifact=None,
        tolerance=None,
        diagnosis=(),
        described=None,
        relation=None,
        placement=None,
    )

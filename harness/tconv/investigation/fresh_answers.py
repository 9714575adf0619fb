"""Failures asked again, each alone in a fresh process: whether the answer depends on the calls before it.

A plan that is remembered by the shapes alone, or a buffer that is not cleared, gives wrong answers that a fresh process
does not. Their values look like many other mistakes.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack, suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from tconv.cases.patterns import path_of
from tconv.errors import TconvError
from tconv.execution.pool import Pool
from tconv.gate.examples import size
from tconv.gate.explanations import may_vary
from tconv.records.failure import failure
from tconv.records.record import FreshAnswer
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.execution.asking import Asking
    from tconv.records.record import Record
    from tconv.records.record_file import Run

TIMES = 3
"""How often a failure is asked again."""
_FIRST = 6
"""So many failures are asked again in any run: those of as many groups, each of which may have a cause of its own."""
_LONGEST_SECONDS = 10.0
"""After this time no other failure is asked again: a process for each takes long where a runtime starts slowly."""


def fresh_answers(run: Run, failed: Container[str], asking: Asking, find: Callable[[str], Case | None]) -> list[Record]:
    """Return the records of failures that were asked again, each with what came of it alone in a fresh process.

    The smallest failure of each of the largest groups is asked again, and if one of them has another answer in a fresh
    process, as many others as there is time for. If the backend does not start again, no other is asked.

    Args:
        run: the records as they arrived. The verdicts that other cases settle are no answers of the backend.
        failed: the ids of the cases that failed, as the gate says.
        asking: how the backend was asked.
        find: returns a case of the run by its id.
    """
    failures = [*_in_order(record for record in run.records if may_vary(record) and record.case in failed)]
    records: list[Record] = []
    ends = monotonic() + _LONGEST_SECONDS
    timeout = min(asking.timeout, _LONGEST_SECONDS)
    again = replace(asking, dialect=run.dialect, repeat=TIMES, timeout=timeout)
    with suppress(TconvError), ExitStack() as stack:
        pool = stack.enter_context(Pool(again)) if failures else None
        for count, record in enumerate(failures, start=1):
            is_over = count > _FIRST and not (run.answers_vary or any(answered.answer_varies for answered in records))
            if pool is None or is_over or monotonic() > ends:
                break
            if (case := find(record.case)) is not None:
                records += _beside(record, pool.record_alone(case))
    return records


def _in_order(failures: Iterable[Record]) -> Iterator[Record]:
    """Yield failures in the order in which they are asked again: the smallest of each group that may have one cause.

    That of the largest group is the first. Then all others come, the smallest first.
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in sorted(failures, key=size):
        name = str(record.diagnosis[0]) if record.diagnosis else path_of(record.case)
        groups[record.verdict.kind, name].append(record)
    in_order = sorted(groups.values(), key=len, reverse=True)
    yield from (group[0] for group in in_order)
    yield from sorted((record for group in in_order for record in group[1:]), key=size)


def _beside(after_others: Record, alone: Record) -> Iterator[Record]:
    """Yield the record of a failure with the answer of a fresh process, if that says anything of the backend."""
    killed = isinstance(alone.verdict, ver.Died) and alone.verdict.cause == _KILLED
    # A busy machine is slow, and one without memory kills.
    if not killed and not isinstance(alone.verdict, ver.TimedOut):
        yield replace(after_others, alone=FreshAnswer(alone.verdict.kind, same=_same(after_others, alone)))


_KILLED = "SIGKILL"


def _same(after_others: Record, alone: Record) -> bool:
    """Return whether a failure is the same in a fresh process: in words, and in figures where sums have no rounding."""
    verdict = after_others.verdict
    if verdict.kind != alone.verdict.kind:
        return False
    if isinstance(verdict, ver.WrongShape) or (isinstance(verdict, ver.Differed) and verdict.rule == "exact"):
        # As texts, since NaN is not equal to itself.
        return repr(verdict) == repr(alone.verdict)
    before, again = failure(after_others), failure(alone)
    if before and again and before.words != again.words:
        return False
    # A search for names that ran out of time has none.
    both = after_others.diagnosis and alone.diagnosis
    return not both or not set(after_others.diagnosis).isdisjoint(alone.diagnosis)

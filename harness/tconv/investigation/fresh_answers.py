"""Failures asked again, each alone in a fresh process: whether the answer depends on the calls before it.

A plan that is remembered by the shapes alone, or a buffer that is not cleared, gives wrong answers that a fresh process
does not. Their values look like many other mistakes.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
    from tconv.execution.worker import Assignment
    from tconv.records.record import Record
    from tconv.records.record_file import Run

TIMES = 3
"""How often a failure is asked again."""
_FIRST = 6
"""So many failures are asked again in any run: those of as many groups, each of which may have a cause of its own."""
_LONGEST_SECONDS = 10.0
"""After this time no other failure is asked again: a process for each takes long where a runtime starts slowly."""


@dataclass(frozen=True, slots=True)
class FreshAnswers:
    """What came of failures that were asked again.

    Attributes:
        records: theirs, each with the answer of a fresh process beside its own.
        complete: whether all were asked that had to be: there was time, and the backend started each time.
    """

    records: list[Record]
    complete: bool


def fresh_answers(
    run: Run, failed: Container[str], assignment: Assignment, timeout: float, find: Callable[[str], Case | None]
) -> FreshAnswers:
    """Return what comes of failures that are asked again, each alone in a fresh process.

    The smallest failure of each of the largest groups is asked again, and where one of them has another answer in a
    fresh process, as many others as there is time for. A backend that does not start again, or an answer that does not
    come, says nothing: such failures stay as they are.

    Args:
        run: the records as they are in the file. The verdicts that other cases settle are no answers of the backend.
        failed: the ids of the cases that failed, as the gate says.
        assignment: what its workers were started for.
        timeout: seconds that a case may take.
        find: returns a case of the run by its id.
    """
    fresh = replace(assignment, dialect=run.dialect, repeat=TIMES)
    asking = _Asking(fresh, timeout, find, run.answers_vary)
    with suppress(TconvError):
        complete = asking.ask(_in_order(record for record in run.records if may_vary(record) and record.case in failed))
        # What has no answer comes last, as it may take all the time that there is.
        asking.ask(_in_order(record for record in run.records if _is_silent(record) and record.case in failed))
        return FreshAnswers(asking.records, complete)
    return FreshAnswers(asking.records, complete=False)


@dataclass(slots=True)
class _Asking:
    """Fresh processes for failures, as many as there is time for.

    Attributes:
        assignment: what each is started for.
        timeout: seconds that a case may take.
        find: returns a case of the run by its id.
        vary: whether it is known already that answers of the run vary.
        records: the records that were asked again, each with the answer of a fresh process beside its own.
        ends: when there is no time any more, by the monotonic clock.
    """

    assignment: Assignment
    timeout: float
    find: Callable[[str], Case | None]
    vary: bool
    records: list[Record] = field(default_factory=list)
    ends: float = field(default_factory=lambda: monotonic() + _LONGEST_SECONDS)

    def ask(self, in_order: Iterable[Record]) -> bool:
        """Ask the first of some failures again, or all where answers vary; return whether there was time for them."""
        for count, record in enumerate(in_order, start=1):
            if count > _FIRST and not (self.vary or any(answered.answer_varies for answered in self.records)):
                break
            if (seconds := self.ends - monotonic()) <= 0:
                return False
            if (case := self.find(record.case)) is not None:
                with Pool(self.assignment, 1, min(self.timeout, seconds)) as pool:
                    records = [*_beside(record, pool.record(case))]
                if not records and monotonic() >= self.ends:
                    return False
                self.records += records
        return True


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


def _is_silent(record: Record) -> bool:
    """Return whether a case had no answer, and was not asked again: an earlier call may be the cause of this too."""
    return isinstance(record.verdict, ver.TimedOut) and record.alone is None


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

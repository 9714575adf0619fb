"""What is learnt of the failures of a run, by all of its answers."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tconv.learning import JudgedCalls, denials, lessons, named_conditions, symptoms, without_misread, without_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects.readings import Together
    from tconv.learning import Lesson, Misread, Symptom
    from tconv.records.record import Record
    from tconv.records.record_file import Run


class Explanations(NamedTuple):
    """What is learnt of failures.

    Attributes:
        learnt: the rules that they follow.
        symptoms: what those that follow none of these rules have in common.
        denied: how many cases that agree deny the name of a failure, where they are more than those that it explains.
        misread: where a misreading is made on some calls alone, by its name.
    """

    learnt: tuple[Lesson, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    denied: Mapping[Together, int] = MappingProxyType({})
    misread: Mapping[Together, Misread] = MappingProxyType({})


NOTHING_LEARNT = Explanations()


def explanations(run: Run, failed: Sequence[Record], find: Callable[[str], Case | None]) -> Explanations:
    """Return what is learnt of the failures of a run.

    Args:
        run: the records, those that passed too.
        failed: the records that failed.
        find: returns a case by its id; None where the corpus has no such case.
    """
    calls = JudgedCalls(run.records, find, run.dialect)
    misread = named_conditions(calls, failed)
    learnt = lessons(run.records, find, run.dialect, frozenset(record.case for record in failed))
    learnt = without_misread(learnt, misread)
    if any(lesson.of_some for lesson in learnt):
        learnt = without_named(learnt, failed, denials(run.records, failed, find, run.dialect))
    explained = {case for lesson in learnt for case in lesson.cases}.union(*(where.cases for where in misread.values()))
    rest = [record for record in failed if record.case not in explained]
    denied = denials(run.records, rest, find, run.dialect)
    return Explanations(learnt, symptoms(calls, rest, denied), denied, misread)

"""Rules learnt from a run: which formulas a runtime uses where, what the text says, and how many answers fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.learning.learner import Learner
from tconv.learning.observed_geometry import SHOWING, observed_geometries
from tconv.learning.situations import situation_of
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.diagnosis import Diagnosis
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Combination
    from tconv.learning.lesson import Lesson
    from tconv.learning.observed_geometry import ObservedGeometry
    from tconv.learning.situations import Situation
    from tconv.records.record import Record


_MANY_TIMES = 2
"""So many times the failures of a rule under facts are explained by a name that says more."""


def lessons(
    records: Sequence[Record], find: Callable[[str], Case | None], dialect: Dialect, wanted: Container[str]
) -> tuple[Lesson, ...]:
    """Return what can be learnt of failures, those that explain most first.

    Nothing is computed for situations of which no wanted case deviates.

    Args:
        records: the records of a run, those that passed too.
        find: returns a case by its id; None where the corpus has no such case.
        dialect: the dialect of the run.
        wanted: the ids of the cases to explain.
    """
    cases = {record.case: find(record.case) for record in records if record.case in wanted and _of_geometry(record)}
    situations = {situation_of(case) for case in cases.values() if case is not None}
    if not situations:
        return ()
    of_situations = [
        lesson
        for learner in learners(records, find, dialect, situations)
        if any(observed.deviates and observed.case.id in wanted for observed in learner.geometries)
        for lesson in learner.lessons()
    ]
    return tuple(sorted(_merged(of_situations), key=lambda lesson: (-len(lesson.cases), lesson.cases)))


def without_named(
    lessons: Sequence[Lesson], failed: Mapping[str, Diagnosis], denied: Container[Combination]
) -> tuple[Lesson, ...]:
    """Return lessons without those that say less than the name of a misreading does.

    Rules that hold in some cases alone are what a misreading happens to give there, if it explains all of their
    failures that were explained, which are at least half, and others too. So are rules that hold under facts of their
    cases, if it explains more than twice as many failures.

    Args:
        lessons: the lessons.
        failed: why the output of each failure is wrong, by the id of its case.
        denied: names that cases which agree deny.
    """
    names = {case: {name for name in why.explained if name not in denied} for case, why in failed.items()}
    counts = Counter(name for of_case in names.values() for name in of_case)

    def named(lesson: Lesson) -> bool:
        explained = [names[case] for case in lesson.cases if names.get(case)]
        shared = set.intersection(*explained) if len(lesson.cases) <= 2 * len(explained) else set()
        times = 1 if lesson.partial else _MANY_TIMES
        return any(counts[name] > times * len(lesson.cases) for name in shared)

    return tuple(lesson for lesson in lessons if not (lesson.of_some and named(lesson)))


def learners(
    records: Sequence[Record],
    find: Callable[[str], Case | None],
    dialect: Dialect,
    situations: Container[Situation] | None = None,
) -> Iterator[Learner]:
    """Yield a learner for each situation of a run.

    Args:
        records: the records of a run.
        find: returns a case by its id; None where the corpus has no such case.
        dialect: the dialect of the run.
        situations: those that are wanted; None for all.
    """

    def wanted() -> Iterator[tuple[Record, Case]]:
        for record in records:
            case = find(record.case) if isinstance(record.verdict, SHOWING) else None
            if case is not None and (situations is None or situation_of(case) in situations):
                yield record, case

    by_situation: dict[Situation, list[ObservedGeometry]] = defaultdict(list)
    for observed in observed_geometries(wanted(), dialect):
        by_situation[observed.situation].append(observed)
    for situation, geometries in sorted(by_situation.items()):
        yield Learner(situation, geometries, dialect)


def _of_geometry(record: Record) -> bool:
    return record.placement is not None or isinstance(record.verdict, ver.Allowed | ver.WrongShape)


def _merged(lessons: Sequence[Lesson]) -> Iterator[Lesson]:
    """Yield lessons with those of the same rules in several situations made one."""
    groups: dict[tuple[object, ...], list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        groups[lesson.rules, lesson.where and lesson.where.key].append(lesson)
    for lessons_of_rules in groups.values():
        first = min(lessons_of_rules, key=lambda lesson: lesson.example.simplicity)
        yield replace(
            first,
            situations=tuple(situation for lesson in lessons_of_rules for situation in lesson.situations),
            cases=tuple(sorted(case for lesson in lessons_of_rules for case in lesson.cases)),
            fits=sum(lesson.fits for lesson in lessons_of_rules),
            of=sum(lesson.of for lesson in lessons_of_rules),
        )

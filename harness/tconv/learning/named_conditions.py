"""Names that hold on some calls alone: a misreading of one kernel, with the condition on the calls that reach it.

A kernel for groups, for 1x1 filters or for a layout may misread an attribute that all others read well. Then cases that
agree deny the name of its failures, until the condition is known.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.diagnosis.misreadings.misreading import PrecisionOtherwise
from tconv.expectation.problem import SMALL, share_problem
from tconv.learning.denials import changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.diagnosis import Diagnosis
    from tconv.diagnosis.misreadings import Misreading
    from tconv.dialects.readings import Combination
    from tconv.learning.judged_calls import Condition, JudgedCalls
    from tconv.learning.lesson import Lesson

_MOST_NAMES = 6
"""Names that are looked at, those of most failures."""
_FEWEST = 4
"""Failures that have the name, and right answers that deny it, from which a condition is learnt."""
_HARDLY_ANY = 0.01
"""Right answers that deny a name and are no more than this part of its failures are exceptions, and not other calls."""
_SAMPLE = 4096
"""So many right answers, and so many wrong ones, are asked whether a misreading would change them, evenly chosen."""
_MOST_COUNTED = 2**25
"""The work for which right answers under a condition are counted: each is as much as `_PER_CASE` and its elements."""
_PER_CASE = 2**10
_NEARLY = 0.9
"""The part of a name's failures for which its condition must hold."""
_MOSTLY = 0.75
"""The part of the wrong answers that a misreading would change and must give: else it fits some by chance."""


class Misread(NamedTuple):
    """Where a runtime misreads.

    Attributes:
        condition: the condition on its calls; `right` counts answers that the misreading would change.
        cases: the ids of all failures that the misreading gives.
        met: for how many of them the condition holds.
        right: the ids of cases with right answers for which it holds, and which the misreading would change.
        counted: whether all right answers for which it holds were looked at; else there may be more in `right`.
    """

    condition: Condition
    cases: frozenset[str]
    met: int
    right: frozenset[str] = frozenset()
    counted: bool = True

    @property
    def exceptions(self) -> str:
        """How many of the cases are not where the condition says, and how many answers there are right, in words."""
        elsewhere, right = len(self.cases) - self.met, self.condition.right
        least = "" if self.counted else "at least "
        unseen = "" if self.counted else "not all right answers were looked at"
        parts = (
            f"{elsewhere:,} of these {'is' if elsewhere == 1 else 'are'} elsewhere" if elsewhere else "",
            f"{least}{right:,} such {'answer is' if right == 1 else 'answers are'} right" if right else unseen,
        )
        return ", and ".join(filter(None, parts))


def named_conditions(calls: JudgedCalls, failed: Mapping[str, Diagnosis]) -> dict[Combination, Misread]:
    """Return where a runtime misreads, by the name of the misreading, for names that cases which agree deny.

    Args:
        calls: the calls of the run, those with right answers too.
        failed: why the output of each failure is wrong, by the id of its case.
    """
    names = {case: frozenset(why.explained) for case, why in failed.items()}
    counts = Counter(name for of_case in names.values() for name in of_case)
    by_name: dict[Combination, Misread] = {}
    explained: set[str] = set()
    sample = _sampled(calls.right_cases, calls)
    for name, _ in sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:_MOST_NAMES]:
        cases = [case for case, of_case in names.items() if name in of_case and case not in explained]
        if len(cases) < _FEWEST or not (misreadings := _changing(name, calls)):
            continue
        denying = _changed(misreadings, sample, calls)
        if len(denying) < max(_FEWEST, _HARDLY_ANY * len(cases)):
            # Hardly a case speaks against it: a name of fewer failures says less of these.
            explained.update(cases if len(denying) <= (1 - _NEARLY) * len(cases) else ())
        elif (misread := _misread(misreadings, cases, denying, calls)) is not None:
            by_name[name] = _with_right(misread, misreadings, sample, denying, calls)
            explained.update(cases)
    return by_name


def _misread(
    misreadings: Sequence[Misreading], cases: Sequence[str], denying: Sequence[str], calls: JudgedCalls
) -> Misread | None:
    """Return where calls are misread; None where no condition is known, or the name fits some cases by chance."""
    met = calls.condition(cases, denying)
    if met is None or len(met[1]) < _NEARLY * len(cases):
        return None
    others = [case for case in calls.wrong_cases if case not in set(cases)]
    fits = len(cases) >= _MOSTLY * (len(cases) + len(_changed(misreadings, _sampled(others, calls), calls)))
    return Misread(met[0], frozenset(cases), len(met[1])) if fits else None


def _with_right(
    misread: Misread,
    misreadings: Sequence[Misreading],
    sample: Sequence[str],
    denying: Sequence[str],
    calls: JudgedCalls,
) -> Misread:
    """Return where calls are misread with the right answers there, which a sample that finds a condition only guesses.

    Args:
        misread: where calls are misread.
        misreadings: those that are made there.
        sample: the ids of the cases of the sample.
        denying: those of them that the misreadings would change.
        calls: the calls of the run.
    """
    met = calls.meeting(misread.condition, calls.right_cases).difference(sample)
    made = [case for case_id in met if (case := calls.find(case_id)) is not None]
    # The smallest ones first, so that as many as possible are looked at.
    made.sort(key=lambda case: (case.simplicity[1], case.id))
    work = accumulate(_PER_CASE + case.simplicity[1] for case in made)
    looked_at = [case.id for case, so_far in zip(made, work, strict=True) if so_far <= _MOST_COUNTED]
    right = calls.meeting(misread.condition, denying).union(_changed(misreadings, looked_at, calls))
    condition = misread.condition._replace(right=len(right))
    return misread._replace(condition=condition, right=right, counted=len(looked_at) == len(made))


def without_misread(lessons: Sequence[Lesson], misread: Mapping[Combination, Misread]) -> tuple[Lesson, ...]:
    """Return lessons without those of which a misreading of some calls explains all failures, in fewer words."""

    def explained(lesson: Lesson) -> bool:
        return any(where.cases.issuperset(lesson.cases) for where in misread.values())

    return tuple(lesson for lesson in lessons if not explained(lesson))


def _changing(name: Combination, calls: JudgedCalls) -> list[Misreading]:
    """Return the misreadings of a name; none where it is a matter of chance which answers they change."""
    by_name = misreadings_by_name(calls.dialect)
    misreadings = [by_name[part] for part in name.names if part in by_name]
    # Whether fewer bits would be seen in an answer is such a matter.
    return [] if any(isinstance(part.change, PrecisionOtherwise) for part in misreadings) else misreadings


def _sampled(cases: Sequence[str], calls: JudgedCalls) -> list[str]:
    """Return some of the cases, evenly chosen, without those that are large."""
    candidates = ((case_id, calls.find(case_id)) for case_id in cases[:: -(-len(cases) // _SAMPLE) or 1])
    return [case_id for case_id, case in candidates if case is not None and case.simplicity[1] <= SMALL]


def _changed(misreadings: Sequence[Misreading], cases: Iterable[str], calls: JudgedCalls) -> list[str]:
    """Return those of some cases that misreadings would change."""
    candidates = ((case_id, calls.find(case_id)) for case_id in cases)
    return [
        case_id
        for case_id, case in candidates
        if case is not None and changes(misreadings, share_problem(case, calls.dialect))
    ]

"""New calls that test each term of a condition alone.

For example, a runtime skips output rows beyond 32. In the smoke tier failing outputs have 36 rows or more, and right
ones 31 or fewer. `dtype=f32 and output of the first axis >= 36` is printed, but the limits 33, 34 and 35 fit as well,
and so does the second term without the first one. An f32 call with 34 rows halves the limits. An f64 call with 36 rows
shows if the first term is needed.

The conditions that fit the records as well as the printed one are a version space (Mitchell, Generalization as search,
Artificial Intelligence 18, 1982). Each new call divides them as evenly as possible (query by committee, Seung et al.,
1992). There is a committee for each term. Its conditions have this term, another one in its place, or none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.patterns import path_of
from tconv.evidence.calls import is_right
from tconv.evidence.candidates import names_of
from tconv.evidence.hypotheses import Misreads, Says
from tconv.evidence.misread import changes, changing, differ, has_products
from tconv.verdict.kinds import WrongOutput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.dialects.readings import Combination
    from tconv.evidence.calls import Answer, Calls, Numbers
    from tconv.evidence.hypotheses import Explanation
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array, Mask

_WRONG, _UNSEEN = 0.01, 0.05
"""Factors on the weight of a condition that a call contradicts: by an explained failure, or by another answer (defects
may not show).
"""
_WITHOUT = 0.5
"""The weight of the condition without a term. All others together have the weight 1, and those with the same subject as
the term 1 more.
"""
_EVEN = 1e-3
"""Calls below this value, as a part of the largest one that is possible, divide no conditions."""
_ALIKE = 0.5
"""Calls of at least this part of the largest value are equally good: one of the least used sweep is asked."""
_TRIED = 200
"""The most new calls that are searched for one for which two names differ."""
FIRST = "for a formula or a name"
"""What a case is about that tests a formula or a name: it is asked before others, if the condition holds for it."""


@dataclass
class _Committee:
    """Conditions that differ in one term.

    Attributes:
        says: whether each of them holds for each new call, (conditions, calls).
        weight: their weights, (conditions,).
        asked: the number of calls that it has chosen.
    """

    says: Mask
    weight: Array
    asked: int = field(default=0)

    def divided(self) -> Array:
        """Return how evenly each new call divides the conditions: 0 if all of them say the same, at most 1."""
        holds = self.weight @ self.says / self.weight.sum()
        divided: Array = 4 * holds * (1 - holds)
        return divided

    def learn(self, number: int, *, holds: bool, factor: float) -> None:
        """Reduce the weight of the conditions that predict something else than a call shows."""
        self.weight = self.weight * np.where(self.says[:, number] == holds, 1, factor)


class Committees:
    """The committee of each term of an explanation's condition, and one for a further term.

    Args:
        each: the explanation.
        calls: the calls of the run.
        terms: the calls, and all new calls, for which each term holds.
        problems: the new calls of this explanation.
        start: the number of the first of them.
    """

    def __init__(
        self, each: Explanation, calls: Calls, terms: Mapping[str, Mask], problems: Sequence[Problem], start: int
    ) -> None:
        order = sorted(range(len(problems)), key=lambda at: (count_products(problems[at]), problems[at].case.id))
        self.problems = [problems[at] for at in order]
        new = start + np.array(order, dtype=np.int64)
        self._misreadings = changing(each.what.name, calls.dialect) if isinstance(each.what, Misreads) else []
        self._what = each.what
        self._left = np.ones(len(order), dtype=bool)
        self._sweeps = [path_of(of.case.id) for of in self.problems]
        self._used = Counter[str]()
        self._committees = [*_committees(each, calls, terms, new)]
        kept = [terms[term][new] for term in each.condition or () if term in terms]
        printed = np.logical_and.reduce([np.ones(len(order), dtype=bool), *kept])
        meeting = [(number, of) for number, of in enumerate(self.problems) if printed[number]]
        first = list[int]()
        # For each other name of all these failures the smallest call for which the two names differ.
        for other in _other_names(each, calls):
            misreadings = changing(other, calls.dialect)
            first += islice((n for n, of in meeting[:_TRIED] if differ(self._misreadings, misreadings, of)), 1)
        # The calls that test a formula or a name, if the condition of the explanation holds for them.
        self._first = [*dict.fromkeys([*first, *(number for number, of in meeting if of.case.about == FIRST)])]

    def choose(self) -> int | None:
        """Return the number of the call that divides a committee best, the smallest of several; None if none can.

        The committees take turns, and so do the sweeps of the cases from which calls are made: a defect may not show
        near some of them.
        """
        while self._first:
            if self._tells(number := self._first.pop(0)):
                return number
        for committee in sorted(self._committees, key=lambda of: of.asked):
            divided = np.where(self._left, committee.divided(), 0)
            while len(divided) and divided.max() > _EVEN:
                alike = np.flatnonzero(divided > _ALIKE * divided.max())
                number = int(min(alike, key=lambda at: (self._used[self._sweeps[at]], -divided[at])))
                divided[number] = 0
                if self._tells(number):
                    committee.asked += 1
                    return number
        return None

    def _tells(self, number: int) -> bool:
        """Return whether an answer can show something: not if there are no products, or no misreading changes it."""
        self._left[number], problem = False, self.problems[number]
        if isinstance(self._what, Says):
            return True
        if problem.values is None:
            return False
        output = problem.truth.compute_values(problem.values.primary.geometry)
        return has_products(output, problem) and (not self._misreadings or changes(self._misreadings, problem))

    def _confirms(self, answer: Answer) -> bool:
        """Return whether a call fails in the same way as the explained failures."""
        if answer.failure is None or not isinstance(self._what, Says):
            return answer.failure is not None and isinstance(answer.verdict, WrongOutput)
        return (answer.failure.kind, answer.failure.words) == (self._what.kind, self._what.words)

    def learn(self, number: int, answer: Answer) -> None:
        """Reduce the weight of conditions that predict something else than the answer to a call."""
        self._used[self._sweeps[number]] += 1
        confirms = self._confirms(answer)
        if confirms or is_right(answer.verdict) or answer.failure is not None:
            # If it fails in another way, perhaps the other failure hides the predicted one.
            holds = not is_right(answer.verdict)
            for committee in self._committees:
                committee.learn(number, holds=holds, factor=_WRONG if confirms else _UNSEEN)


def _other_names(each: Explanation, calls: Calls) -> list[Combination]:
    """Return the other names that give all failures of a misreading."""
    if not isinstance(each.what, Misreads) or not each.cases:
        return []
    names = (names_of(calls.answers[calls.numbers[case]]) for case in each.cases)
    return sorted(frozenset.intersection(*names) - {each.what.name}, key=str)


def _committees(each: Explanation, calls: Calls, terms: Mapping[str, Mask], new: Numbers) -> Iterator[_Committee]:
    """Yield the committees of an explanation's terms, and of a further term.

    Conditions that hold for the same new calls are one condition.

    Args:
        each: the explanation.
        calls: the calls of the run.
        terms: the calls, and all new calls, for which each term holds.
        new: the numbers of its new calls.
    """
    table, known, words = np.array([*terms.values()]), len(calls.problems), [*terms]
    kept = [text for text in each.condition or () if text in terms]
    members = np.zeros(known, dtype=bool)
    members[[calls.numbers[case] for case in each.cases]] = True
    right, every = calls.right & ~members, np.ones(table.shape[1], dtype=bool)
    for left in (*kept, None):
        rest = np.logical_and.reduce([every, *(terms[text] for text in kept if text != left)])
        holds = rest if left is None else rest & terms[left]
        inside = rest[:known]
        errors = (inside & members & ~holds[:known]).sum() + (inside & right & holds[:known]).sum()
        fits = (~table[:, :known][:, inside & members]).sum(axis=1) + table[:, :known][:, inside & right].sum(axis=1)
        fitting = np.flatnonzero(fits <= errors)
        near = [number for number in fitting if left is not None and _subject(words[number]) == _subject(left)]
        weights = defaultdict[bytes, float](float)
        for numbers in (near, fitting):
            rows = {(rest & table[number])[new].tobytes() for number in numbers}
            for row in sorted(rows):
                weights[row] += 1 / len(rows)
        weights[rest[new].tobytes()] += _WITHOUT
        yield _Committee(
            np.array([np.frombuffer(row, dtype=bool) for row in weights]), np.array([*weights.values()], dtype=float)
        )


def _subject(term: str) -> str:
    """Return the subject of a term."""
    return re.split(r" (?:is|>=|<|=|!=) |!?=", term)[0]


def count_products(problem: Problem) -> int:
    """Return the number of products of a call."""
    return prod(problem.case.x.shape) * prod(problem.case.w.shape[1:])

"""New calls that separate conditions which fit the records of a run equally well.

For example, a runtime skips output rows beyond 32. In the smoke tier failing outputs have 36 rows or more, and right
ones 31 or fewer. `output of the first axis >= 36` is printed, but the limits 33, 34 and 35, on any axis, fit as well. A
call with 34 rows halves these conditions.

The conditions that fit the records as well as the printed one are a version space (Mitchell, Generalization as search,
Artificial Intelligence 18, 1982). Each new call divides them as evenly as possible (query by committee, Seung et al.,
1992).
"""

from __future__ import annotations

import re
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.evidence.calls import is_right
from tconv.evidence.hypotheses import Misreads, Says
from tconv.evidence.misread import changes, changing
from tconv.verdict.kinds import WrongOutput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.evidence.calls import Answer, Calls, Numbers
    from tconv.evidence.hypotheses import Explanation
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Mask

_OWN, _NEAR, _WITHOUT = 1.0, 2.0, 0.5
"""The weights of conditions: the printed one, all that compare the same numbers, and the one without a term.

All conditions of each other kind have the weight 1 together.
"""
_WRONG, _UNSEEN = 0.01, 0.2
"""Factors on the weight of a condition that a call contradicts: by an explained failure, or by another answer (defects
may not show).
"""
_EVEN = 1e-6
"""Calls below this value divide no conditions."""
FIRST = "for a formula or a name"
"""What a case is about that tests a formula or a name: it is asked before others, if the condition holds for it."""


class Committee:
    """The conditions that fit the records as well as that of an explanation, and the new calls that divide them.

    These conditions have one term more, or one other term instead of one or two.

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
        self._new = start + np.array(order, dtype=np.int64)
        self._misreadings = changing(each.what.name, calls.dialect) if isinstance(each.what, Misreads) else []
        self._what = each.what
        self._asked: set[int] = set()
        weights = _fitting(each, calls, terms, self._new)
        self._says = np.array([np.frombuffer(row, dtype=bool) for row in weights])
        self._weight = np.array([*weights.values()])
        # The calls that test a formula or a name, if the condition of the explanation holds for them.
        self._first = [n for n, of in enumerate(self.problems) if of.case.about == FIRST and self._says[0, n]]

    def choose(self) -> int | None:
        """Return the number of the call that divides the conditions best, the smallest of several; None if none can."""
        says, weight = self._says, self._weight
        holds = weight @ says
        divided = holds * (weight.sum() - holds)
        divided[[*self._asked]] = 0
        divided[self._first] = np.inf
        while len(divided) and divided.max() > _EVEN:
            best = int(divided.argmax())
            self._asked.add(best)
            divided[best] = 0
            if self._tells(self.problems[best]):
                self._first = [number for number in self._first if number > best]
                return best
        return None

    def _tells(self, problem: Problem) -> bool:
        """Return whether an answer can show something: not if all values are the bias, or no misreading changes it."""
        few = problem.case.w.shape[1] * (problem.case.attributes.groups or 1)
        varied = problem.output is not None and len(np.unique(problem.output)) > few
        return isinstance(self._what, Says) or (
            varied and (not self._misreadings or changes(self._misreadings, problem))
        )

    def _confirms(self, answer: Answer) -> bool:
        """Return whether a call fails in the same way as the explained failures."""
        if answer.failure is None or not isinstance(self._what, Says):
            return answer.failure is not None and isinstance(answer.verdict, WrongOutput)
        return (answer.failure.kind, answer.failure.words) == (self._what.kind, self._what.words)

    def learn(self, number: int, answer: Answer) -> None:
        """Reduce the weight of conditions that predict something else than the answer to a call."""
        if self._confirms(answer):
            self._weight = self._weight * np.where(self._says[:, number], 1, _WRONG)
        elif is_right(answer.verdict):
            self._weight = self._weight * np.where(self._says[:, number], _UNSEEN, 1)
        elif answer.failure is not None:
            # It fails in another way: perhaps the other failure hides the predicted one.
            self._weight = self._weight * np.where(self._says[:, number], 1, _UNSEEN)


def _fitting(each: Explanation, calls: Calls, terms: Mapping[str, Mask], new: Numbers) -> dict[bytes, float]:
    """Return the weights of the conditions that fit as well as that of an explanation, which is the first one.

    Conditions that hold for the same new calls are one condition, with the largest of their weights.

    Args:
        each: the explanation.
        calls: the calls of the run.
        terms: the calls, and all new calls, for which each term holds.
        new: the numbers of its new calls.
    """
    weights: dict[bytes, float] = {}

    def add(conditions: Iterable[Mask], weight: float) -> None:
        rows = sorted({holds[new].tobytes() for holds in conditions})
        for row in rows:
            weights[row] = max(weights.get(row, 0.0), weight / len(rows))

    table, known, words = np.array([*terms.values()]), len(calls.problems), [*terms]
    kept = [text for text in each.condition or () if text in terms]
    members = np.zeros(known, dtype=bool)
    members[[calls.numbers[case] for case in each.cases]] = True
    right, every = calls.right & ~members, np.ones(table.shape[1], dtype=bool)
    holds = np.logical_and.reduce([every, *(terms[text] for text in kept)])
    add([holds], _OWN)
    for count in (0, 1, 2):
        for left in combinations(kept, count):
            among = np.logical_and.reduce([every, *(terms[text] for text in kept if text not in left)])
            inside = among[:known]
            errors = (inside & members & ~holds[:known]).sum() + (inside & right & holds[:known]).sum()
            fits = (~table[:, :known][:, inside & members]).sum(axis=1)
            fits += table[:, :known][:, inside & right].sum(axis=1)
            better, fitting = np.flatnonzero(fits < errors), np.flatnonzero(fits <= errors)
            near = [number for number in fitting if count == 1 and _subject(words[number]) == _subject(left[0])]
            add([among] if count == 1 else [], _WITHOUT)
            for numbers, weight in ((near, _NEAR), (better, _NEAR), (fitting, 1.0)):
                add([among & table[number] for number in numbers], weight)
    return weights


def _subject(term: str) -> str:
    """Return the subject of a term."""
    return re.split(r" (?:is|>=|<|=|!=) |!?=", term)[0]


def count_products(problem: Problem) -> int:
    """Return the number of products of a call."""
    return prod(problem.case.x.shape) * prod(problem.case.w.shape[1:])

"""The calls of a run whose values are known to be right or wrong, and the conditions under which they are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.expectation.problem import share_problem
from tconv.learning.conditions import HARDLY, condition_of
from tconv.learning.terms import features_of, terms_of
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import UnionType

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.learning.conditions import Numbers
    from tconv.learning.terms import Features
    from tconv.vocabulary import Mask

_WRONG = ver.WrongOutput | ver.WrongDtype | ver.Unstable


class Condition(NamedTuple):
    """Where wrong answers are.

    Attributes:
        terms: what holds for a call, all of them together; empty where nearly all answers are wrong.
        wrong: for how many wrong answers of the run it holds, whatever explains them.
        right: the number of right answers, of those that were searched, for which the condition holds.
    """

    terms: tuple[str, ...]
    wrong: int
    right: int

    @property
    def evidence(self) -> str:
        """How many of the answers under the condition are wrong, in words."""
        return f"{self.wrong:,} of {self.wrong + self.right:,} {'such ' if self.terms else ''}answers are wrong"

    def __str__(self) -> str:
        return " and ".join(self.terms)


@dataclass
class JudgedCalls:
    """The calls of a run whose values are known to be wrong or right; nothing is worked out until it is asked for.

    Attributes:
        verdicts: what came of each case, by its id, of those that passed too. What is neither right nor wrong is left
            out, such as a value that other cases deny.
        find: returns a case by its id; None where the corpus has no such case.
        dialect: the dialect of the run.
        wrong_kinds: the verdicts on wrong answers.
    """

    verdicts: Mapping[str, object]
    find: Callable[[str], Case | None]
    dialect: Dialect
    wrong_kinds: UnionType = _WRONG

    @cached_property
    def _known(self) -> list[tuple[str, bool, Features]]:
        """The id of each case, whether its answer is right, and its features."""
        known = []
        for case_id, verdict in self.verdicts.items():
            right = is_right(verdict)
            case = self.find(case_id) if right or isinstance(verdict, self.wrong_kinds) else None
            features = None if case is None else features_of(share_problem(case, self.dialect))
            if features is not None:
                known.append((case_id, right, features))
        return known

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each call, by the id of its case."""
        return {case: number for number, (case, _, _) in enumerate(self._known)}

    @cached_property
    def right(self) -> Mask:
        """Which answers are right, (calls,)."""
        return np.array([right for _, right, _ in self._known], dtype=bool)

    @property
    def right_cases(self) -> list[str]:
        """The ids of the cases with right answers."""
        return [case for case, right, _ in self._known if right]

    @property
    def wrong_cases(self) -> list[str]:
        """The ids of the cases with wrong answers."""
        return [case for case, right, _ in self._known if not right]

    @cached_property
    def _terms(self) -> dict[str, Mask]:
        return terms_of([features for _, _, features in self._known])

    @cached_property
    def _holds(self) -> Mask:
        """For which calls each term holds, (terms, calls)."""
        return np.array([*self._terms.values()], dtype=bool).reshape(len(self._terms), len(self._known))

    @cached_property
    def everywhere(self) -> Condition | None:
        """That nearly all answers are wrong; None where they are not."""
        right = int(self.right.sum())
        wrong = len(self.right) - right
        return Condition((), wrong, right) if right <= HARDLY * wrong else None

    def condition(
        self, wrong: Sequence[str], right: Sequence[str] | None = None
    ) -> tuple[Condition, tuple[str, ...]] | None:
        """Return the condition that explains most of some wrong answers, and which these are; None where none does.

        Args:
            wrong: the ids of their cases.
            right: those of the right answers for which it must hardly hold; None for all of the run.
        """
        rightly = np.flatnonzero(self.right) if right is None else self._numbered(right)
        terms = condition_of(self._holds, self._numbered(wrong), rightly)
        if not terms:
            return None
        met: Mask = np.logical_and.reduce(self._holds[list(terms)])
        words = [*self._terms]
        condition = Condition(
            tuple(words[term] for term in terms), int((met & ~self.right).sum()), int(met[rightly].sum())
        )
        return condition, tuple(case for case in wrong if case in self.numbers and met[self.numbers[case]])

    def meeting(self, condition: Condition, cases: Sequence[str]) -> frozenset[str]:
        """Return those of some cases for which a condition holds."""
        met: Mask = np.logical_and.reduce([self._terms[term] for term in condition.terms])
        return frozenset(case for case in cases if case in self.numbers and met[self.numbers[case]])

    def _numbered(self, cases: Sequence[str]) -> Numbers:
        return np.array([self.numbers[case] for case in cases if case in self.numbers], dtype=np.int64)


def is_right(verdict: object) -> bool:
    """Return whether a verdict is on values that the text, or another reading of it, gives."""
    return isinstance(verdict, ver.Allowed) and verdict.rule in ver.VALUE_RULES

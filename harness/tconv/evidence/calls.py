"""The calls of a run with what came of them, and the conditions that tell some of them from others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.evidence.conditions import HARDLY, find_condition
from tconv.evidence.facts import features_of, is_word, terms_of
from tconv.expectation.problem import share_problem
from tconv.records.failure import failure
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tconv.cases.case import Case
    from tconv.diagnosis import Diagnosis
    from tconv.dialects import Dialect
    from tconv.evidence.facts import Features
    from tconv.expectation.problem import Problem
    from tconv.records.failure import Failure
    from tconv.records.record import Record
    from tconv.vocabulary import Mask

    Numbers = np.ndarray[Any, np.dtype[np.int64]]


_OF_WORD = 6.0
"""Bits that name a term on a word: a type, a kind of group, a mode."""


class Answer(NamedTuple):
    """What came of a case.

    Attributes:
        record: its record.
        verdict: what is made of it: the record's verdict, or what other cases of the run say of it.
        why: why its output is wrong, as far as the output alone shows it.
        failure: what is compared of it with other failures; None if it is no failure that needs an explanation.
        may_vary: whether another call before it may have changed it, for all that is known.
    """

    record: Record
    verdict: object
    why: Diagnosis
    failure: Failure | None
    may_vary: bool = False


def answer_of(record: Record) -> Answer:
    """Return what came of a case, by its record alone."""
    fails = not isinstance(record.verdict, ver.Allowed | ver.Inconclusive | ver.NotApplicable)
    return Answer(record, record.verdict, record.why, failure(record) if fails else None, record.may_vary)


@dataclass(frozen=True)
class Calls:
    """The calls of a run; nothing is worked out until it is asked for.

    Attributes:
        answers: what came of each case, in the order of ids, of those that passed too.
        find: returns a case by its id; None if the corpus has no such case.
        dialect: the dialect of the run.
    """

    answers: Sequence[Answer]
    find: Callable[[str], Case | None]
    dialect: Dialect

    def followed_by(self, answers: Sequence[Answer], find: Callable[[str], Case | None]) -> Calls:
        """Return these calls and more of them; what is known of these is not worked out again.

        Args:
            answers: what came of the others.
            find: returns any case by its id.
        """
        more = Calls(answers, find, self.dialect)
        both = Calls([*self.answers, *answers], find, self.dialect)
        both.__dict__.update(problems=[*self.problems, *more.problems], features=[*self.features, *more.features])
        return both

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each call, by the id of its case."""
        return {answer.record.case: number for number, answer in enumerate(self.answers)}

    @cached_property
    def problems(self) -> list[Problem | None]:
        """The problem of each call; None if the corpus does not have the case."""
        cases = (self.find(answer.record.case) for answer in self.answers)
        return [None if case is None else share_problem(case, self.dialect) for case in cases]

    @cached_property
    def features(self) -> list[Features | None]:
        """What each call is like; None if the corpus does not have the case."""
        return [None if problem is None else features_of(problem) for problem in self.problems]

    @cached_property
    def terms(self) -> dict[str, Mask]:
        """For which calls each term holds, by its words; for none that the corpus does not have."""
        return self.terms_with(())

    def terms_with(self, more: Iterable[Problem]) -> dict[str, Mask]:
        """Return for which calls each term holds, and for which of more calls after them."""
        features = [*self.features, *map(features_of, more)]
        known = np.array([of is not None for of in features], dtype=bool)
        found = terms_of([of for of in features if of is not None])
        terms = {}
        for text, holds in found.items():
            terms[text] = np.zeros(len(features), dtype=bool)
            terms[text][known] = holds
        return terms

    @cached_property
    def _holds(self) -> Mask:
        """For which calls each term holds, (terms, calls)."""
        return np.array([*self.terms.values()], dtype=bool).reshape(len(self.terms), len(self.answers))

    @cached_property
    def new(self) -> Mask:
        """Which of them are no cases, but calls that tconv made to test explanations."""
        return self.holding(lambda answer: answer.record.asked is not None)

    @cached_property
    def failed(self) -> Mask:
        """Which calls failed, and need an explanation."""
        return self.holding(lambda answer: answer.failure is not None)

    @cached_property
    def wrong(self) -> Mask:
        """Which of them failed by values that stay the same, and that a value was expected of."""
        values = self.holding(lambda of: isinstance(of.verdict, ver.WrongOutput) and not of.record.varies)
        return self.failed & ~self.invalid & values

    @cached_property
    def vary(self) -> bool:
        """Whether a failure had another answer when it was asked again, so that others may have one too."""
        return any(answer.failure is not None and answer.record.answer_varies for answer in self.answers)

    @cached_property
    def may_vary(self) -> Mask:
        """Which answers another call may have changed, for all that is known."""
        return self.holding(lambda answer: answer.may_vary)

    @cached_property
    def invalid(self) -> Mask:
        """Of which calls a refusal is expected. What a runtime does with these says nothing of the others."""
        return np.array([problem is not None and problem.values is None for problem in self.problems], dtype=bool)

    @cached_property
    def right(self) -> Mask:
        """Which answers have the values of the text, or of a reading of it, and values that could be wrong.

        Of an operand of zeros most bugs make zeros too: such calls say something only if some of them fail.
        """
        failing = {role for number in np.flatnonzero(self.failed) for role in _zeros(self.problems[number])}

        def tells(problem: Problem | None) -> bool:
            if problem is None or problem.values is None:
                return False
            sizes = (*problem.case.x.shape, *problem.case.w.shape, *problem.values.primary.geometry.output)
            return 0 not in sizes and set(_zeros(problem)) <= failing

        telling = np.array([tells(problem) for problem in self.problems], dtype=bool)
        return telling & ~self.failed & self.holding(lambda answer: is_right(answer.verdict))

    @cached_property
    def passing(self) -> Mask:
        """Which answers the text allows, those too that say nothing of a bug."""
        return ~self.failed & self.holding(lambda answer: isinstance(answer.verdict, ver.Allowed))

    def holding(self, holds: Callable[[Answer], bool]) -> Mask:
        """Return for which calls something holds, (calls,)."""
        return np.array([holds(answer) for answer in self.answers], dtype=bool)

    @cached_property
    def costs(self) -> dict[str, float]:
        """The bits that name each term: of the few on words fewer than of the many on numbers."""
        of_number = log2(max(len(self.terms), 2))
        return {term: _OF_WORD if is_word(term) else of_number for term in self.terms}

    def condition(self, members: Mask, others: Mask, hardly: float = HARDLY) -> tuple[str, ...] | None:
        """Return the terms that hold for most of some calls together, and for hardly any of others; None if none do.

        Args:
            members: the calls that the condition is for, (calls,).
            others: those for which it must hardly hold.
            hardly: the others that it may hold for, as a part of the calls that it explains.
        """
        costs = np.array([*self.costs.values()])
        terms = find_condition(self._holds, costs, np.flatnonzero(members), np.flatnonzero(others), hardly)
        words = [*self.terms]
        return tuple(words[term] for term in terms) or None

    def meeting(self, terms: Sequence[str]) -> Mask:
        """Return for which calls all of some terms hold, (calls,); for all if there is no term."""
        met = np.ones(len(self.answers), dtype=bool)
        for term in terms:
            met &= self.terms[term]
        return met


def _zeros(problem: Problem | None) -> list[str]:
    """Return the operands of a call that are zeros."""
    operands = {} if problem is None else {"x": problem.case.x, "w": problem.case.w}
    return [role for role, operand in operands.items() if operand.data == "zeros"]


def is_right(verdict: object) -> bool:
    """Return whether a verdict is on values that the text, or another reading of it, gives."""
    return isinstance(verdict, ver.Allowed) and verdict.rule in ver.VALUE_RULES

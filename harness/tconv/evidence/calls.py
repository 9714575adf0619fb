"""The calls of a run with their answers, and the conditions that separate some calls from others."""

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
"""Bits that name a term on a word, such as a type, a kind of group or a mode."""


class Answer(NamedTuple):
    """The answer to a case.

    Attributes:
        record: its record.
        verdict: the record's verdict, or the ruling that follows from other cases of the run.
        why: what its output alone shows of why it is wrong.
        failure: the part that is compared with other failures; None if no explanation is needed.
        may_vary: whether an earlier call may have changed it, because it was not asked again.
    """

    record: Record
    verdict: object
    why: Diagnosis
    failure: Failure | None
    may_vary: bool = False


def answer_of(record: Record) -> Answer:
    """Return the answer to a case, from its record alone."""
    fails = not isinstance(record.verdict, ver.Allowed | ver.Inconclusive | ver.NotApplicable)
    return Answer(record, record.verdict, record.why, failure(record) if fails else None, record.may_vary)


@dataclass(frozen=True)
class Calls:
    """The calls of a run; each property is computed when it is first used.

    Attributes:
        answers: the answers to all cases, also to those that passed, in the order of ids.
        find: returns a case by its id; None if the corpus has no such case.
        dialect: the dialect of the run.
    """

    answers: Sequence[Answer]
    find: Callable[[str], Case | None]
    dialect: Dialect

    def followed_by(self, answers: Sequence[Answer], find: Callable[[str], Case | None]) -> Calls:
        """Return these calls and more of them; results for these calls are not computed again.

        Args:
            answers: the answers to the others.
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
        """The features of each call; None if the corpus does not have the case."""
        return [None if problem is None else features_of(problem) for problem in self.problems]

    @cached_property
    def terms(self) -> dict[str, Mask]:
        """The calls for which each term holds, by its words; a call without a case in the corpus meets no term."""
        return self.terms_with(())

    def terms_with(self, more: Iterable[Problem]) -> dict[str, Mask]:
        """Return the calls for which each term holds, with more calls appended."""
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
        """The calls for which each term holds, (terms, calls)."""
        return np.array([*self.terms.values()], dtype=bool).reshape(len(self.terms), len(self.answers))

    @cached_property
    def new(self) -> Mask:
        """The calls that are not cases: tconv made them to test explanations."""
        return self.holding(lambda answer: answer.record.asked is not None)

    @cached_property
    def failed(self) -> Mask:
        """The calls that failed and need an explanation."""
        return self.holding(lambda answer: answer.failure is not None)

    @cached_property
    def wrong(self) -> Mask:
        """The failures with stable wrong values, if values are expected."""
        values = self.holding(lambda of: isinstance(of.verdict, ver.WrongOutput) and not of.record.varies)
        return self.failed & ~self.invalid & values

    @cached_property
    def vary(self) -> bool:
        """Whether a failure had another answer when it was asked again: then other answers may vary too."""
        return any(answer.failure is not None and answer.record.answer_varies for answer in self.answers)

    @cached_property
    def may_vary(self) -> Mask:
        """The answers that another call may have changed."""
        return self.holding(lambda answer: answer.may_vary)

    @cached_property
    def invalid(self) -> Mask:
        """The calls for which a refusal is expected. Their answers show nothing about the other calls."""
        return np.array([problem is not None and problem.values is None for problem in self.problems], dtype=bool)

    @cached_property
    def right(self) -> Mask:
        """The answers with values of the text, or of a reading of it, if a bug could change these values.

        If an operand is all zeros, most bugs also give zeros: such calls count only if some of them fail.
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
        """The answers that the text allows, also those that show nothing about a bug."""
        return ~self.failed & self.holding(lambda answer: isinstance(answer.verdict, ver.Allowed))

    def holding(self, holds: Callable[[Answer], bool]) -> Mask:
        """Return the calls for whose answers a function returns True, (calls,)."""
        return np.array([holds(answer) for answer in self.answers], dtype=bool)

    @cached_property
    def costs(self) -> dict[str, float]:
        """The bits that name each term: terms on words are few and cost less, terms on numbers are many."""
        of_number = log2(max(len(self.terms), 2))
        return {term: _OF_WORD if is_word(term) else of_number for term in self.terms}

    def condition(self, members: Mask, others: Mask, hardly: float = HARDLY) -> tuple[str, ...] | None:
        """Return the terms that hold together for most of some calls and for few others; None if there are none.

        Args:
            members: the calls that the condition is for, (calls,).
            others: the calls for which it may hold only rarely.
            hardly: the most others for which it may hold, as a part of the calls that it explains.
        """
        costs = np.array([*self.costs.values()])
        terms = find_condition(self._holds, costs, np.flatnonzero(members), np.flatnonzero(others), hardly)
        words = [*self.terms]
        return tuple(words[term] for term in terms) or None

    def meeting(self, terms: Sequence[str]) -> Mask:
        """Return the calls for which all of some terms hold, (calls,); without terms all calls."""
        met = np.ones(len(self.answers), dtype=bool)
        for term in terms:
            met &= self.terms[term]
        return met


def _zeros(problem: Problem | None) -> list[str]:
    """Return the operands of a call that are all zeros."""
    operands = {} if problem is None else {"x": problem.case.x, "w": problem.case.w}
    return [role for role, operand in operands.items() if operand.data == "zeros"]


def is_right(verdict: object) -> bool:
    """Return whether a verdict allows values, as those of the text or of another reading of it."""
    return isinstance(verdict, ver.Allowed) and verdict.rule in ver.VALUE_RULES

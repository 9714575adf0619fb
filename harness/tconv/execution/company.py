"""Cases in company: valid calls are asked as one model of independent nodes, so that a session is paid for once.

In company only agreement is believed. A case with any other answer is asked again alone, and that answer is judged. The
first case of each company is asked alone too, as a control: a runtime may also be right in company and wrong alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from tconv.backends import outcome as out
from tconv.execution.call_result import alike, contrasted, described
from tconv.execution.stages import evaluated_in_stages
from tconv.expectation.problem import PREPARED, Problem
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.execution.call_result import CallResult
    from tconv.execution.evaluation import Evaluator
    from tconv.execution.position import Position
    from tconv.records.record import Record

_BELIEVED = ver.Agreed | ver.Mistrusted
"""The verdicts that are believed in company: on an output that is right under the primary reading."""
_ANSWERED = _BELIEVED | ver.Disputed
_HOPELESS = (8, 2), (8, 2), (1, 5)
"""When cases that are alike are asked alone from then on: at least so many failed in company (the first number), which
is more than one in so many (the second). A pair each for cases of one type, of one form, and of equal axes."""
_LEAST = 2
WORTHWHILE = 32
"""The size of a company that is worth it: beside so many nodes the cost of a session is small. Of a larger one, more
cases are asked again after a refusal."""


class Member(NamedTuple):
    """A case of a company."""

    place: int
    problem: Problem
    likes: tuple[object, ...]


class JudgedResult(NamedTuple):
    """The result of a call with its verdict."""

    result: CallResult
    verdict: ver.Verdict

    def is_like(self, other: JudgedResult) -> bool:
        """Return whether a backend did the same again: right answers may be rounded otherwise, wrong ones may not."""
        mine, others = self.verdict, other.verdict
        if isinstance(mine, ver.Disputed) and isinstance(others, ver.Disputed):
            return mine.readings == others.readings
        if mine.kind != others.kind:
            return False
        return isinstance(mine, _BELIEVED) or alike(self.result.outcome, other.result.outcome)


class Companion:
    """Asks the cases of a message in company where the backend and the case allow it, and the others alone.

    Args:
        evaluator: asks and judges.
        position: where to say which case, or which company, is asked.
        size: how many cases a company has at most, as far as the position has room; with 1 each is asked alone.
        deadly: cases of these forms have ended workers before, see `form_key`; they are asked alone.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        position: Position,
        size: int,
        deadly: frozenset[object] = frozenset(),
    ) -> None:
        self._evaluator = evaluator
        self._position = position
        self._size = min(size, position.most) if evaluator.keeps_company else 1
        self._deadly = deadly
        self._most = PREPARED
        self._asked: Counter[object] = Counter()
        self._failed: Counter[object] = Counter()

    def records(
        self, cases: Sequence[Case], *, apart: bool = False, staged: bool = True
    ) -> Iterator[tuple[int, Record]]:
        """Yield the record of each case with its index; those of a company come when it is full, or at the end.

        Args:
            cases: the cases.
            apart: whether each is asked alone.
            staged: whether those that are asked alone are judged a few together.
        """
        self._most = PREPARED if staged else 1
        problems = ((index, Problem(case, self._evaluator.dialect)) for index, case in enumerate(cases))
        if apart or self._size < _LEAST:
            yield from evaluated_in_stages(problems, self._evaluator, self._position, self._most)
            return
        alone: list[Member] = []
        companies: defaultdict[object, list[Member]] = defaultdict(list)
        for index, problem in problems:
            self._position.begin(index)
            likes = () if _may_be_refused(problem) else _likes(problem.case)
            together = bool(likes) and not self._is_hopeless(likes)
            members = companies[problem.case.x.dtype] if together else alone
            members.append(Member(index, problem, likes))
            if len(members) == (self._size if together else PREPARED):
                yield from self._chosen(members) if together else self._each(members)
                members.clear()
        for members in companies.values():
            yield from self._chosen(members)
        yield from self._each(alone)

    def _is_hopeless(self, likes: Iterable[object]) -> bool:
        """Return whether a case is like those that fail in company."""
        return not self._deadly.isdisjoint(likes) or any(
            self._failed[like] >= failures and self._failed[like] * share > self._asked[like]
            for like, (failures, share) in zip(likes, _HOPELESS, strict=True)
        )

    def _count(self, likes: Iterable[object], *, believed: bool) -> None:
        """Remember whether the answer to a case is one that would be believed of company."""
        for like in likes:
            self._asked[like] += 1
            self._failed[like] += not believed

    def _chosen(self, members: Sequence[Member]) -> Iterator[tuple[int, Record]]:
        """Ask a company, without the cases that are like one that has failed meanwhile: these are asked alone."""
        parted: tuple[list[Member], list[Member]] = [], []
        for member in members:
            parted[self._is_hopeless(member.likes)].append(member)
        company, hopeless = parted
        yield from self._each(hopeless)
        yield from self._together(company)

    def _each(self, members: Sequence[Member]) -> Iterator[tuple[int, Record]]:
        """Ask cases alone."""
        likes = {member.place: member.likes for member in members}
        problems = [(member.place, member.problem) for member in members]
        for place, record in evaluated_in_stages(problems, self._evaluator, self._position, self._most):
            self._count(likes[place], believed=isinstance(record.verdict, _BELIEVED))
            yield place, record

    def _together(self, members: Sequence[Member]) -> Iterator[tuple[int, Record]]:
        """Ask a company, and yield its records."""
        if len(members) < _LEAST:
            yield from self._each(members)
            return
        results = self._ask(members)
        if not isinstance(results, list):
            yield from self._parted(members, results)
            return
        unanswered = []
        for member, result in zip(members, results, strict=True):
            if result is None:
                unanswered.append(member)
            else:
                yield member.place, self._settled(member, members, result)
        yield from self._chosen(unanswered)

    def _ask(self, members: Sequence[Member]) -> list[CallResult | None] | out.Outcome:
        self._position.begin(*(member.place for member in members))
        return self._evaluator.ask_together([member.problem for member in members])

    def _settled(self, member: Member, members: Sequence[Member], result: CallResult) -> Record:
        """Return the record of an answer in company where it is believed; else of the answer alone."""
        problem, verdict = member.problem, self._evaluator.judge(member.problem, result)
        # A refusal's words name a node of the company's model, so that they are asked for again too.
        believed = isinstance(verdict, _BELIEVED) and not isinstance(result.outcome, out.Refused)
        self._count(member.likes, believed=believed)
        if believed and member is not members[0]:
            return self._evaluator.record(problem, result, verdict)
        in_company, alone = JudgedResult(result, verdict), self._alone(member)
        if alone.is_like(in_company):
            return self._evaluator.record(problem, *alone)
        return self._evaluator.record(problem, alone.result, self._difference(member, members, in_company, alone))

    def _difference(
        self, member: Member, members: Sequence[Member], in_company: JudgedResult, alone: JudgedResult
    ) -> ver.DiffersInCompany | ver.Unstable:
        """Return the verdict on a case that is answered in another way in company than alone, which is asked again."""
        results = self._ask(members)
        result = results[members.index(member)] if isinstance(results, list) else None
        again = None if result is None else JudgedResult(result, self._evaluator.judge(member.problem, result))
        again_alone = self._alone(member)
        words = _apart(in_company, alone)
        if again is not None and again.is_like(in_company) and again_alone.is_like(alone):
            return ver.DiffersInCompany(_ids(members), *words)
        then = "no answer" if again is None else again.verdict.kind
        message = f"{words[0]} in company and {words[1]} alone, and then {then} and {again_alone.verdict.kind}"
        return ver.Unstable(message)

    def _parted(self, members: Sequence[Member], outcome: out.Outcome) -> Iterator[tuple[int, Record]]:
        """Ask the halves of a company that has one outcome; where every member agrees then, the company differs."""
        half = len(members) // 2
        records = [*self._together(members[:half]), *self._together(members[half:])]
        if all(isinstance(record.verdict, _ANSWERED) for _, record in records):
            again, ids = self._ask(members), _ids(members)
            for member, (place, record) in zip(members, sorted(records, key=itemgetter(0)), strict=True):
                verdict: ver.Verdict
                if type(again) is type(outcome):
                    verdict = ver.DiffersInCompany(ids, described(outcome), self._alone(member).verdict.kind)
                else:
                    verdict = ver.Unstable(f"{described(outcome)} in company of {len(ids)} cases, and then answered")
                yield place, replace(record, verdict=verdict)
            return
        yield from records

    def _alone(self, member: Member) -> JudgedResult:
        self._position.begin(member.place)
        result = self._evaluator.ask(member.problem)
        return JudgedResult(result, self._evaluator.judge(member.problem, result))


def _apart(in_company: JudgedResult, alone: JudgedResult) -> tuple[str, str]:
    """Return words for both by which they can be told apart: their kinds, or outputs where these are of one kind."""
    if in_company.verdict.kind != alone.verdict.kind:
        return in_company.verdict.kind, alone.verdict.kind
    return contrasted(in_company.result.outcome, alone.result.outcome)


def _may_be_refused(problem: Problem) -> bool:
    """Return whether the text has no value, or may refuse: runtimes often do then, and a refusal is one of them all."""
    return problem.values is None or bool(problem.values.refusals)


def _likes(case: Case) -> tuple[object, ...]:
    """Return what cases have in common that a runtime is likely to treat alike: type, form and axes.

    Nothing of a case that is not for company: one that is invalid, or does not declare its sizes.
    """
    if case.breaks is not None or case.shapes != "static":
        return ()
    return case.x.dtype, form_key(case), axes_key(case)


def form_key(case: Case) -> tuple[object, ...]:
    """Return type, mode, groups, the number of axes, and what is written."""
    attributes = case.attributes
    optional = (
        attributes.output_padding,
        attributes.output_shape,
        attributes.pads_begin,
        attributes.pads_end,
        attributes.groups,
    )
    written = tuple(value is not None for value in optional)
    return case.x.dtype, attributes.auto_pad, written, attributes.groups, len(case.x.shape)


def axes_key(case: Case) -> tuple[object, ...]:
    """Return type, and sizes and attributes along the spatial axes: most refusals depend on nothing else."""
    attributes = case.attributes
    along = (
        attributes.strides,
        attributes.dilations,
        attributes.pads_begin,
        attributes.pads_end,
        attributes.output_padding,
        attributes.output_shape,
    )
    return case.x.dtype, attributes.auto_pad, case.x.shape[2:], case.w.shape[2:], *along


def _ids(members: Sequence[Member]) -> tuple[str, ...]:
    return tuple(member.problem.case.id for member in members)

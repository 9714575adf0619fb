"""Why a run fails: the hypotheses that describe its failures in the fewest bits, each with its evidence.

For example, a runtime flips the filter of grouped calls. In the smoke tier `filter-flipped` gives 307 of its 321 wrong
outputs. This misreading would also change right answers of dense calls, which contradict it without a condition.
`group!=dense` holds for the 307 failures and for none of these right answers, so the explanation is: as if
filter-flipped, if group!=dense. The 14 other failures, whose data are not integers, are explained separately.

The hypothesis that saves the most bits is taken first, and its failures are removed. This is repeated (a greedy cover).
`explain` says when the whole cover is made again. Failures that no hypothesis explains stay without an explanation.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.patterns import path_of
from tconv.diagnosis import single_explanations
from tconv.evidence.candidates import Candidate, names_of, suggest
from tconv.evidence.conditions import BELIEVED, HARDLY, SELDOM, bits_saved
from tconv.evidence.contexts import explain_contexts
from tconv.evidence.hypotheses import (
    CONTRADICTED,
    DOUBTED,
    STANDARDS,
    Errs,
    Explanation,
    Follows,
    Misreads,
    Relates,
    Says,
)
from tconv.evidence.misread import changed, denied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tconv.dialects.readings import Combination
    from tconv.evidence.calls import Answer, Calls
    from tconv.vocabulary import Mask

_HARDLY_ANY = 0.01
"""So few calls against a misreading or a rule, as a part of those that it explains, are exceptions."""
_NEARLY = 0.9
"""The condition of a misreading must hold for this part of the failures that it gives."""


def explain(calls: Calls) -> tuple[Explanation, ...]:
    """Return the explanations of the failures of a run, those that save most bits first.

    The cover is made again if it shows that a name is wrong. For example, a runtime rounds the filter to integers and
    flips it. With integers rounding changes nothing: 380 outputs are those of `filter-flipped`, and no right answer
    contradicts this name, so the first cover has it without a condition. But 114 outputs of real numbers are wrong, a
    flipped filter gives other ones, and no other name or rule explains them: they deny the name. In the second cover
    they count against it. It has the condition `data=integers`, and the 114 have their own explanation. A name that
    is denied twice is removed, so this ends.
    """
    left = calls.failed.copy()
    if not (left & ~calls.new).any():
        return ()
    found = [*explain_contexts(calls)]
    left[[calls.numbers[case] for of in found for case in of.cases]] = False
    candidates, weighed = [*suggest(calls)], cache(partial(_weigh, calls=calls))
    cover, denied_before = _cover(candidates, left, calls, weighed), set[object]()
    while denials := dict(_find_denials(cover, left, calls)):
        removed = {of for of in denials if of.what in denied_before}
        candidates = [
            replace(of, against=of.against | denials[of]) if of in denials else of
            for of in candidates
            if of not in removed
        ]
        denied_before |= {of.what for of in denials}
        cover = _cover(candidates, left, calls, weighed)
    return (*found, *_tested(cover, calls))


def _cover(
    candidates: Sequence[Candidate], left: Mask, calls: Calls, weighed: Callable[[Candidate, bytes], _Weighed | None]
) -> list[_Weighed]:
    """Return the hypotheses that explain the remaining failures, those that save most bits first.

    Args:
        candidates: the hypotheses.
        left: the failures.
        calls: the calls of the run.
        weighed: returns a hypothesis with some of its failures, as bytes of a mask, under its best condition.
    """
    left, cover = left.copy(), list[_Weighed]()
    while True:
        best: _Weighed | None = None
        most = [_most(of, left, calls) for of in candidates]
        for number in sorted(range(len(most)), key=lambda number: -most[number]):
            if not most[number] or (best and most[number] <= best.saved):
                break
            candidate = candidates[number]
            found = weighed(candidate, (candidate.confirmed & left).tobytes())
            if found is not None and found.saved > (best.saved if best else 0):
                best = found
        if best is None:
            return cover
        cover.append(best)
        left &= ~(best.members | (calls.new & best.claimed))


def _find_denials(cover: Sequence[_Weighed], left: Mask, calls: Calls) -> Iterator[tuple[Candidate, Mask]]:
    """Yield misreadings that name another bug by mistake, and the wrong outputs that deny them.

    A new call that breaks one term alone may deny it too. For example, a runtime reads the first item of a batch
    instead of the last one. In each failure of the tier the batch has two items, and the first one is repeated. With
    three items the second one is not. If several other failures of cases break the same term, they have another cause.

    A second bug also makes such outputs. It is recognized by its own condition, which holds for few outputs of the
    misreading.

    A term of the name's condition may exclude no right answer, and a single failure without another explanation. This
    failure denies the name too.
    """
    unexplained = left & ~np.logical_or.reduce([np.zeros_like(left), *(of.members for of in cover)])
    for name in cover:
        candidate = name.candidate
        if not candidate.misreadings or name.condition is None:
            continue
        wrong = calls.wrong & ~candidate.confirmed
        # If answers depend on earlier calls, those of new calls do too, and new calls are not asked again.
        others = wrong & (name.holds | _near(name, wrong, unexplained, calls)) & ~(calls.new & calls.vary)
        for of in cover:
            if isinstance(of.candidate.what, Follows):
                others &= ~of.claimed
            elif of is not name and of.candidate.misreadings:
                alike = changed(of.candidate.misreadings, of.holds & name.claimed, calls)
                if alike.sum() <= HARDLY * (of.holds & others).sum():
                    others &= ~of.holds
        denials = denied(candidate.misreadings, others, calls)
        if (denials & calls.new).any() or denials.sum() > _HARDLY_ANY * name.claimed.sum():
            yield candidate, denials


def _near(name: _Weighed, wrong: Mask, unexplained: Mask, calls: Calls) -> Mask:
    """Return the calls outside of a name's condition, or new inside of it, that may deny the name, (calls,).

    Args:
        name: the misreading with its condition.
        wrong: the wrong outputs that it does not give.
        unexplained: the calls without an explanation.
        calls: the calls of the run.
    """
    near, terms = name.near, name.condition or ()
    for term in terms:
        broken = ~calls.terms[term]
        outside = broken & calls.meeting([of for of in terms if of != term])
        if (wrong & ~calls.new & broken).sum() > _HARDLY_ANY * name.claimed.sum():
            near = near & ~broken
        lone = outside & unexplained & wrong & ~(calls.new | calls.may_vary & calls.vary)
        if lone.sum() < STANDARDS[Errs].fewest and not (calls.right & outside).any():
            # The term excludes no right answer, and too few failures for a cause of their own.
            near = near | lone
    return near


def explain_alone(answers: Sequence[Answer]) -> tuple[Explanation, ...]:
    """Return the misreadings that give the outputs of failures, if no other calls are known, as in a shard."""
    failed = {answer.record.case: answer.why.explained for answer in answers if answer.failure and names_of(answer)}
    members: dict[Combination, list[str]] = defaultdict(list)
    for case, name in single_explanations(failed).items():
        members[name].append(case)
    return tuple(Explanation(Misreads(name), None, tuple(of), len(of), frozenset(), 0) for name, of in members.items())


def _most(candidate: Candidate, left: Mask, calls: Calls) -> float:
    """Return the most bits that a hypothesis can save."""
    count = int((candidate.confirmed & left).sum())
    if not count:
        return 0.0
    return STANDARDS[type(candidate.what)].strength * count + _bits(count, 0, count, _others(candidate, calls))


def _others(candidate: Candidate, calls: Calls) -> int:
    return int((calls.right | candidate.against).sum())


def _bits(met: int, against: int, count: int, others: int) -> float:
    """Return the bits saved by a condition that holds for `met` of `count` failures and `against` of `others`."""
    return float(bits_saved(np.array([met], float), np.array([against], float), count, others)[0])


def _weigh(candidate: Candidate, its: bytes, calls: Calls) -> _Weighed | None:
    """Return a hypothesis under its best condition; None if there is none.

    Args:
        candidate: the hypothesis.
        its: the failures that it gives and that are not yet explained, as the bytes of a mask.
        calls: the calls of the run.
    """
    members, what = np.frombuffer(its, dtype=bool), candidate.what
    standard = STANDARDS[type(what)]
    # New calls alone show no cause of a failure.
    if (members & ~calls.new).sum() < standard.fewest:
        return None
    against = _find_against(candidate, members, calls)
    terms = _find_terms(candidate, members, against, calls)
    if isinstance(what, Relates) and not terms and len(_sweeps(members, calls)) > 1:
        # For example, values below a limit do not contradict the limit.
        return _explained(candidate, None, members, np.zeros_like(members), calls)
    if terms is None:
        return _explained(candidate, None, members, against, calls) if isinstance(what, Misreads) else None
    holds = calls.meeting(terms)
    against = against & ~calls.failed if isinstance(what, Says) else against
    met, contradicting = members & holds, against & holds
    if candidate.misreadings and terms:
        contradicting = contradicting | changed(candidate.misreadings, calls.right & holds & ~against, calls)
    new = (met | contradicting) & calls.new
    # Many failures of cases are not chance: then several new calls may hide the defect, as if they crop a wrong column.
    hidden = 0 if isinstance(what, Misreads | Follows) else HARDLY * met.sum()
    if (contradicting & new).sum() > standard.new_exceptions * new.sum() and contradicting.sum() > hidden:
        return None
    # New calls may suggest a condition. It must hold for failures of cases too, and for fewer other answers of cases.
    failing, others = ((of & ~calls.new).sum() for of in (met, contradicting))
    if failing < standard.fewest or (terms and others >= failing):
        return None
    if terms and contradicting.sum() > standard.exceptions * met.sum():
        return None
    # The condition holds for nearly all failures: the few others have the same cause.
    nearly = isinstance(what, Misreads | Follows) and met.sum() >= _NEARLY * members.sum()
    return _explained(candidate, terms, members if nearly else met, contradicting, calls)


def _find_against(candidate: Candidate, members: Mask, calls: Calls) -> Mask:
    """Return the calls that contradict a hypothesis if its condition holds for them; for a misreading only a sample."""
    if not candidate.misreadings:
        return candidate.against
    sweeps = _sweeps(members, calls)
    near = calls.right & np.array([path_of(case) in sweeps for case in calls.numbers], dtype=bool)
    against = candidate.against | changed(candidate.misreadings, near, calls)
    against |= changed(candidate.misreadings, calls.right & ~near, calls)
    found: Mask = against | changed(candidate.misreadings, calls.right & calls.new, calls)
    return found


def _find_terms(candidate: Candidate, members: Mask, against: Mask, calls: Calls) -> tuple[str, ...] | None:
    """Return the condition of a hypothesis: empty if it holds for nearly all calls, None if there is none."""
    if isinstance(candidate.what, Says):
        return _find_reason(members, against, calls)
    if not isinstance(candidate.what, Errs | Relates):
        new, few = calls.new, STANDARDS[type(candidate.what)].new_exceptions
        everywhere = (against & ~new).sum() <= _HARDLY_ANY * (members & ~new).sum()
        if everywhere and not (against & new).any():
            return ()
        # A few new calls may hide the defect of all calls.
        terms = calls.condition(members, against)
        return () if terms is None and everywhere and (against & new).sum() <= few * (members & new).sum() else terms
    terms = calls.condition(members, against, SELDOM)
    if terms and (against & calls.new & calls.meeting(terms)).any():
        # A new call tests the condition: one that no call contradicts is better, if it is true for all failures.
        exact = calls.condition(members, against, 0.0)
        terms = exact if exact and calls.meeting(exact)[members].all() else terms
    if against.sum() > HARDLY * calls.wrong.sum():
        return terms
    # The runtime is wrong nearly everywhere: other terms only show which answers are right by chance.
    holds = calls.meeting(terms or ())
    if isinstance(candidate.what, Relates) and ((members & ~holds) | (against & holds)).any():
        return ()
    return tuple(term for term in terms or () if calls.terms[term][members].all())


def _find_reason(members: Mask, against: Mask, calls: Calls) -> tuple[str, ...] | None:
    """Return the condition on calls that fail in the same words.

    A runtime that has two reasons to refuse a call reports the one that it checks first. So other failures do not count
    against a condition that holds for no right answer. They count if no such condition is found, and if they are more
    than the calls with the same words.
    """
    others = against & ~calls.failed
    terms = calls.condition(members, others)
    holds = calls.meeting(terms or ())
    exact = not ((members & ~holds) | (others & holds)).any()
    if terms and (exact or (calls.failed & ~members & holds).sum() <= (members & holds).sum()):
        return terms
    return calls.condition(members, against) or terms


def _explained(
    candidate: Candidate, terms: tuple[str, ...] | None, members: Mask, against: Mask, calls: Calls
) -> _Weighed | None:
    """Return a hypothesis under a condition; None if it may be chance."""
    strong, others = isinstance(candidate.what, Misreads | Follows), _others(candidate, calls)
    met, contradicting = int((members & calls.meeting(terms or ())).sum()), int(against.sum())
    strength = STANDARDS[type(candidate.what)].strength
    if strong and contradicting > _HARDLY_ANY * met:
        strength = DOUBTED if terms is None else CONTRADICTED
    where = 0.0 if terms is None else _bits(met, contradicting, int(members.sum()), others)
    saved = strength * met + where - sum(calls.costs[term] for term in terms or ())
    # One output is enough for a misreading, except in a run whose answers vary: another call may have made the output.
    settled = not calls.vary or bool((members & ~calls.may_vary).any())
    shown = strong and strength > CONTRADICTED and settled
    if saved < BELIEVED and not shown:
        return None
    # No call contradicts a loss of bits, as chance decides where it is visible. A single failure shows no condition.
    is_lossy = isinstance(candidate.what, Misreads) and not candidate.misreadings
    old = members & ~calls.new
    return _Weighed(saved, candidate, None if is_lossy or old.sum() == 1 else terms, calls, old, against)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """A hypothesis under a condition, and the bits that it saves.

    Attributes:
        saved: the bits.
        candidate: the hypothesis.
        condition: the terms; None if the condition is unknown.
        calls: the calls of the run.
        members: the failures that it explains, (calls,).
        against: the calls that contradict it, also new ones, (calls,).
    """

    saved: float
    candidate: Candidate
    condition: tuple[str, ...] | None
    calls: Calls
    members: Mask
    against: Mask

    @cached_property
    def holds(self) -> Mask:
        """The calls for which its condition holds."""
        return self.calls.meeting(self.condition or ())

    @cached_property
    def near(self) -> Mask:
        """The new calls for which all terms of its condition hold, or all but one."""
        terms = self.condition or ()
        return self.calls.new & (sum((self.calls.terms[term].astype(int) for term in terms), 0) >= len(terms) - 1)

    @property
    def claimed(self) -> Mask:
        """The failures that it gives, if its condition holds for them."""
        claimed: Mask = self.candidate.confirmed & self.holds
        return claimed

    def explanation(self, of_others: Mask) -> Explanation:
        """Return the explanation that is printed.

        Args:
            of_others: the failures that other hypotheses give.
        """
        ids, calls, old = [*self.calls.numbers], self.calls, ~self.calls.new
        alike = calls.invalid == bool(calls.invalid[self.members].all())
        confirmed = self.candidate.confirmed
        # New calls test it if no other hypothesis explains them.
        near = self.near & (self.claimed | ~of_others)
        deny = (self.against & self.holds) | (confirmed & ~self.holds)
        if isinstance(self.candidate.what, Misreads | Follows):
            # A wrong output that no name explains contradicts it.
            deny |= calls.wrong & self.holds & ~confirmed & calls.holding(lambda answer: not answer.why.explained)
        return Explanation(
            self.candidate.what,
            self.condition,
            tuple(ids[number] for number in np.flatnonzero(self.members)),
            int((self.members & self.holds).sum()),
            frozenset(ids[number] for number in np.flatnonzero(self.against & old)),
            int(((calls.right | self.candidate.against) & old).sum()),
            self.candidate.clause,
            int((near & (self.claimed | (calls.right & ~self.holds))).sum()),
            int((near & deny).sum()),
            int((calls.passing & self.holds & old & ~self.against & alike).sum()),
        )


def _tested(cover: Sequence[_Weighed], calls: Calls) -> Iterator[Explanation]:
    """Yield the explanations that are printed."""
    for weighed in cover:
        others = (of.claimed for of in cover if of is not weighed)
        yield weighed.explanation(np.logical_or.reduce([np.zeros_like(calls.failed), *others]))


def _sweeps(members: Mask, calls: Calls) -> set[str]:
    """Return the sweeps of some calls."""
    ids = [*calls.numbers]
    return {path_of(ids[number]) for number in np.flatnonzero(members)}

"""New calls that test the explanations of a run: each is made from a case of the run.

A new call is a failure with one size or attribute changed. For a learnt formula it has other numbers for all attributes
of the formula.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

from tconv.cases.patterns import path_of
from tconv.corpus.writing import settings
from tconv.evidence.changed_cases import (
    KNOBS,
    LARGEST,
    MANY,
    SIZES,
    WORDS,
    axes_of,
    built,
    is_possible,
    knobs_of,
    settings_with,
)
from tconv.evidence.committee import FIRST, Committees, count_products
from tconv.evidence.explanation import explain
from tconv.evidence.hypotheses import Follows, Misreads
from tconv.expectation.problem import Problem
from tconv.vocabulary import NEUTRAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.evidence.calls import Answer, Calls
    from tconv.evidence.hypotheses import Explanation

MOST = 50
"""The most new calls of a run."""
STEPS = 2
"""The number of times that new calls are chosen; later choices use earlier answers."""
_OF_EACH = 4
"""The new calls for an explanation in a step, if there are many explanations."""
_BASES = 4
"""The failures from which new calls are made."""
_BETWEEN = 64
"""The most numbers tried between the limit of a term and the next number of a right answer."""
_DISTINCT = 2
"""The new numbers of each attribute of a formula, in a step."""
_LARGEST = 2**20
"""The most products, output elements and numbers of attributes of a new call."""
_TURNS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65)
"""Further numbers of a size, apart from those of the condition: sizes of vectors in kernels, and their neighbours."""
_FEW_TURNS = (1, 2, 3, 5, 8)
"""Numbers of a size that the condition does not mention."""
_IN_FORMULAS = {
    "X": "spatial", "K": "kernel", "s": "strides", "d": "dilations", "op": "output_padding", "pads": "pads_end",
    **{name: name for name in ("output_shape", *NEUTRAL)},
}  # fmt: skip
"""The attribute of each name in a formula."""


def ask_new_calls(
    calls: Calls, explanations: Sequence[Explanation], ask: Callable[[list[Case]], Sequence[Answer]]
) -> Calls:
    """Ask new calls that test the explanations of a run; return the calls of the run with them.

    Args:
        calls: the calls of the run.
        explanations: the explanations of its failures.
        ask: returns the answers to new calls.
    """
    asked: dict[str, Case] = {}
    find_old = calls.find

    def find(case: str) -> Case | None:
        return asked.get(case) or find_old(case)

    for step in range(STEPS):
        tested = [each for each in (explain(calls) if step else explanations) if each.is_testable]
        answers: list[Answer] = []
        # The steps share the remaining calls.
        most = (MOST - len(asked)) // (STEPS - step) // max(len(tested), 1)
        tested = tested[: (MOST - len(asked)) // _OF_EACH]
        for new in _choose(tested, calls, answers, max(most, _OF_EACH)):
            asked |= {case.id: case for case in new}
            answers += ask(new)
        if not answers:
            return calls
        calls = calls.followed_by(answers, find)
    return calls


def _choose(
    explanations: Sequence[Explanation], calls: Calls, answers: Sequence[Answer], most: int
) -> Iterator[list[Case]]:
    """Yield at most `most` times a new call for each explanation; each choice uses the answers to those before it."""
    seen = {problem.case.content for problem in calls.problems if problem is not None}
    made: list[list[Problem]] = []
    for each in explanations:
        cases = chain(_changed(each, calls), _with_other_numbers(each, calls), _with_other_sizes(each, calls))
        found = (Problem(case, calls.dialect) for case in filter(None, cases))
        of_each = {of.case.content: of for of in found if of.case.content not in seen and _can_be_asked(of)}
        seen |= of_each.keys()
        made.append([*of_each.values()])
    terms = calls.terms_with([of for of_each in made for of in of_each])
    committees, start = [], len(calls.problems)
    for each, problems in zip(explanations, made, strict=True):
        committees.append(Committees(each, calls, terms, problems, start))
        start += len(problems)
    for _ in range(most):
        chosen = [(committee, number) for committee in committees if (number := committee.choose()) is not None]
        if not chosen:
            return
        yield [committee.problems[number].case for committee, number in chosen]
        for (committee, number), answer in zip(chosen, answers[-len(chosen) :], strict=True):
            committee.learn(number, answer)


def _can_be_asked(problem: Problem) -> bool:
    values, case = problem.values, problem.case
    if values is None or values.refusals or _has_huge_numbers(case):
        return False
    output = values.primary.geometry.output
    elements = case.x.shape[0] * case.w.shape[1] * (case.attributes.groups or 1) * prod(output)
    return 0 < elements <= _LARGEST and count_products(problem) <= _LARGEST


def _has_huge_numbers(case: Case) -> bool:
    """Return whether a case has numbers whose products do not fit into the 64 bits of formulas."""
    return any(number > _LARGEST for name in NEUTRAL for number in case.signature.per_axis(name))


def _failing(each: Explanation, calls: Calls) -> list[Case]:
    """Return the failures for which the condition of an explanation holds, the simplest first."""
    met = calls.meeting([term for term in each.condition or () if term in calls.terms])
    numbers = [number for case in each.cases if met[number := calls.numbers[case]]]
    cases = [problem.case for number in numbers if (problem := calls.problems[number]) is not None]
    small = [case for case in cases if not _has_huge_numbers(case)]
    return sorted(small, key=lambda case: (case.x.data != "integers", case.simplicity))


def _with_other_numbers(each: Explanation, calls: Calls) -> Iterator[Case | None]:
    """Yield two cases in which all attributes of a learnt formula have numbers that no failure has."""
    if not isinstance(each.what, Follows) or not (failing := _failing(each, calls)):
        return
    names = {name for rule in each.what.rules for name in re.findall("[A-Za-z_]+", str(rule.formula))}
    base = failing[0]
    written, rank = settings(base), len(base.x.shape) - 2
    for turn in range(_DISTINCT):
        change: dict[str, Any] = {"spatial": [12 + turn + axis for axis in range(rank)]}
        for knob in (knob for name, knob in _IN_FORMULAS.items() if name in names):
            seen = {number for case in failing for number in _entries(case, knob)}
            every = range(20 if knob == "output_shape" else 1, LARGEST.get(knob, MANY))
            unseen = [number for number in every if number not in seen]
            if len(unseen) > turn + rank:
                change[knob] = unseen[turn : turn + rank]
        yield _named(base, {**written, **change}, FIRST)


def _with_other_sizes(each: Explanation, calls: Calls) -> Iterator[Case | None]:
    """Yield a failure of a misreading with another batch, number of groups and so on: it gives these outputs too.

    For example, a runtime reads the first item of a batch instead of the last one. In a batch of two this repeats the
    first item, and in a batch of three it does not. If it reverses the taps of the last axis alone, the outputs of
    calls with one axis are those of a flipped filter.
    """
    if isinstance(each.what, Misreads) and (failing := _failing(each, calls)):
        base, kernel = failing[0], failing[0].w.shape[2:]
        changes = [*((size, 3, 0) for size in SIZES), ("rank", len(kernel) + 1, 0)]
        changes += [("kernel", 2, axis) for axis, taps in enumerate(kernel) if taps == 1]
        yield from (_named(base, settings_with(base, *change, calls.dialect), FIRST) for change in changes)


def _entries(case: Case, knob: str) -> Sequence[int]:
    """Return the numbers of an attribute of a case, one for each axis."""
    if knob in {"spatial", "kernel"}:
        return (case.x if knob == "spatial" else case.w).shape[2:]
    return case.attributes.output_shape or () if knob == "output_shape" else case.signature.per_axis(knob)


def _changed(each: Explanation, calls: Calls) -> Iterator[Case | None]:
    """Yield failures with one size or attribute changed: near the limits of terms, and of what no term mentions."""
    condition, failing = each.condition or (), _failing(each, calls)
    near = {term: (*_TURNS, *_numbers(term, condition, calls)) for term in condition}
    knobs = {knob for term in condition for knob in knobs_of(term)}
    # A defect does not show in each of them, so they are as different as possible.
    for base in failing[:: -(-len(failing) // _BASES) or 1]:
        rank = len(base.x.shape) - 2
        for knob in sorted(KNOBS - {"output"} | knobs):
            for axis in range(1 if knob in {*WORDS, *SIZES} else rank):
                of = [near[term] for term in condition if knob in knobs_of(term) and axis in axes_of(term, rank)]
                numbers = sorted({number for own in of or [_FEW_TURNS] for number in own})
                for value in WORDS.get(knob) or [number for number in numbers if is_possible(knob, number)]:
                    yield _named(base, settings_with(base, knob, value, axis, calls.dialect))


def _numbers(term: str, condition: Sequence[str], calls: Calls) -> Iterator[int]:
    """Yield numbers next to the limit of a term, and between it and the next number of a right answer.

    The other terms of the condition hold for this answer.
    """
    right = calls.right & calls.meeting([other for other in condition if other != term])
    for text in re.findall(r"\d+", term):
        limit, head = int(text), term[: term.rindex(text)]
        yield from (limit - 1, limit, limit + 1, 2 * limit, 2 * limit + 1, 3 * limit)
        others = {int(rest): other for other in calls.terms if (rest := other.removeprefix(head)).isdigit()}
        between = [number for number, of in others.items() if (right & (calls.terms[of] ^ calls.terms[term])).any()]
        below = max((number for number in between if number < limit), default=1)
        above = min((number for number in between if number > limit), default=limit)
        yield from range(below, above, -(-(above - below) // _BETWEEN) or 1)


def _named(base: Case, written: Mapping[str, Any], about: str = "") -> Case | None:
    """Return the case with some settings, and an id made from them; None if no such case is possible."""
    name = blake2b(json.dumps(written, sort_keys=True).encode(), digest_size=8).hexdigest()
    return built(f"{path_of(base.id)}[asked={name}]", written, about)

"""Measure how exactly the failures of wrong kernels are explained, with an automatic judge; and what explaining costs.

Kernels are drawn from the grammar of `wrong_kernels.py`, and each is run over the gate tier. Then tconv asks it new
calls of its own, as a run does. The explanations are compared with the true condition, on the records and on other new
calls. These are cases of the tier with one size or attribute changed. Half of them are at the border of the printed
conditions. In the others, a value changes that these conditions do not mention, or that the true one depends on. The
explanations of a kernel are

- exact if their conditions together hold for all calls that the kernel changes, and for no other;
- misleading if a condition holds for less than 90% of its own new calls, or if a named misreading gives another output
  than the kernel on such a call;
- vague if they are neither: too wide, too narrow, or a part is not explained;
- silent if nothing is printed.

Kernels that change fewer than three records are counted separately. If a kernel's condition holds and its output is the
same, or is judged as right, nothing follows. All kernels that are not exact are printed.

Run `python bench/explaining.py [--count 100] [--seed 5] [--small]`. At the small size, 12 kernels, the exit code is 1
if fewer than 50 of 100 are exact, or if one is misleading. With `--backend NAME` (repeatable), it asks a runtime 200
new calls for each rule that a run learns of it. Then the exit code is 1 if fewer than 95 of 100 follow a rule.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from random import Random
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np

import wrong_kernels
from figures import Figure, run, timed
from tconv.backends import Produced
from tconv.cases.layouts import to_ncx
from tconv.cases.patterns import path_of
from tconv.corpus import Corpus
from tconv.corpus.case_file import DEFAULTS, Settings, spread_per_axis
from tconv.corpus.writing import settings
from tconv.diagnosis import explains
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.evidence import facts as evidence_facts
from tconv.evidence.calls import Calls, answer_of
from tconv.evidence.changed_cases import KNOBS, LISTS, MANY, SIZES, WORDS, built, is_possible, knobs_of, settings_with
from tconv.evidence.explanation import explain
from tconv.evidence.hypotheses import Follows, Misreads
from tconv.evidence.new_calls import ask_new_calls
from tconv.evidence.rules import learners_of
from tconv.execution.asking import Asking
from tconv.execution.evaluation import Evaluator
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem, share_problem
from tconv.records.record import Record
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import NEUTRAL, DType
from wrong_kernels import DIALECT, Kernel, draw, facts_of, ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from tconv.backends import Outcome
    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.diagnosis.misreadings.misreading import Misreading
    from tconv.dialects import Dialect
    from tconv.evidence.hypotheses import Explanation
    from tconv.vocabulary import Array, Mask
    from wrong_kernels import Facts

LEAST = 0.5
"""The least part of the kernels whose explanation must be exact, at the small size."""
SMALL = 12
"""The number of kernels at the small size."""
MOST_PRODUCTS = 2**18
"""The most products of a case that is run: 99% of the valid cases of the gate tier have no more."""
FEWEST = 3
"""The fewest records that a kernel must change: nothing follows from one or two."""
NEW_CALLS = 500
OWN = 0.9
"""The least part of its own new calls for which a condition must hold."""
FEWEST_OWN = 10
"""The fewest new calls of a condition that are enough to judge it."""
GRADES = ("exact", "vague", "misleading", "silent", "too few records")
FOLLOWED = 0.95
"""The least part of the new calls that must follow a rule: another bug changes the output of a few."""


class Played:
    """A runtime that answers a given problem with a given output."""

    def __init__(self, dialect: Dialect = DIALECT) -> None:
        backend: Any = self
        self._evaluator = Evaluator(backend, "played", dialect, None, contexts=True)
        self._answer: Outcome | None = None

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:  # noqa: ARG002 - a backend's interface
        """Return the output."""
        assert self._answer is not None
        return self._answer

    def record(self, case: Case, answer: Outcome) -> Record:
        """Return the record of an output."""
        self._answer = answer
        return self._evaluator.evaluate(case)


@dataclass
class Base:
    """The cases that kernels are run over.

    Attributes:
        corpus: the corpus that has them.
        cases: the cases with a value, by id, in the order of ids.
    """

    corpus: Corpus
    cases: dict[str, Facts]

    @cached_property
    def right(self) -> dict[str, Record]:
        """The records of right answers, by id."""
        records = {}
        for case_id, facts in self.cases.items():
            problem = Problem(facts.case, DIALECT)
            verdict = judge(problem, Produced(problem.output), DType.F32)  # type: ignore[arg-type] # it has a value
            records[case_id] = Record(case_id, "played", DIALECT.name, verdict, 0.0)
        return records

    @cached_property
    def features(self) -> list[Any]:
        """The features of each case."""
        return [evidence_facts.features_of(share_problem(facts.case, DIALECT)) for facts in self.cases.values()]

    def explain(
        self, records: Mapping[str, Record], ask: Callable[[Case], Record] | None = None
    ) -> tuple[Calls, tuple[Explanation, ...]]:
        """Return the calls of a run and the explanations of its failures. The last calls are those of the active step.

        Args:
            records: the records of the cases, by id.
            ask: returns the record of a new call; None if no new calls are asked.
        """
        calls = Calls([answer_of(records[case]) for case in self.cases], self.corpus.find, DIALECT)
        found = explain(calls)
        if ask is not None:
            calls = ask_new_calls(calls, found, lambda new: [answer_of(ask(case)) for case in new])
            found = explain(calls)
        return calls, found


class NewCall(NamedTuple):
    """A call that is in no tier.

    Attributes:
        facts: its facts.
        wrong: the kernel's output; None if the kernel does not change it.
    """

    facts: Facts
    wrong: Produced | None


@dataclass(frozen=True)
class Judgement:
    """The judge's result for the explanations of a kernel.

    Attributes:
        kernel: the kernel.
        grade: one of `GRADES`.
        failures: the number of records that it changes.
        explanations: the printed explanations.
        why: why they are not exact.
    """

    kernel: Kernel
    grade: str
    failures: int
    explanations: Sequence[Explanation] = ()
    why: Sequence[str] = ()

    def __str__(self) -> str:
        printed = [f"    printed: {described(each)}" for each in self.explanations]
        reasons = [f"    {reason}" for reason in self.why]
        return "\n".join([f"{self.grade}: {self.kernel}; {self.failures} failures", *printed, *reasons])


def described(each: Explanation) -> str:
    """Return an explanation as one line."""
    where = "no condition" if each.condition is None else each.where or "everywhere"
    return (
        f"{type(each.what).__name__} {each.what} | {where} | {len(each.cases)} explained, {len(each.against)} against"
    )


def play(kernel: Kernel, base: Base) -> tuple[dict[str, Record], set[str]]:
    """Return the records that a kernel changes, and the cases that it should change but that are judged as right."""
    played, changed, unsaid = Played(), {}, set()
    for case_id, facts in base.cases.items():
        if kernel.is_wrong_for(facts):
            answer = wrong_kernels.outcome(kernel, Problem(facts.case, DIALECT))
            record = None if answer is None else played.record(facts.case, answer)
            if record is not None and isinstance(record.verdict, ver.WrongOutput):
                changed[case_id] = record
            else:
                unsaid.add(case_id)
    return changed, unsaid


def judged(kernel: Kernel, base: Base, random: Random) -> Judgement:
    """Run a kernel over the cases, and judge the explanations of its failures."""
    changed, unsaid = play(kernel, base)
    if len(changed) < FEWEST:
        return Judgement(kernel, "too few records", len(changed))
    played = Played()

    def ask(case: Case) -> Record:
        problem, facts = Problem(case, DIALECT), facts_of(case)
        answer = wrong_kernels.outcome(kernel, problem) if facts is not None and kernel.is_wrong_for(facts) else None
        record = played.record(case, answer or Produced(problem.output))  # type: ignore[arg-type] # it has a value
        return replace(record, asked=Settings.model_validate(json.loads(json.dumps(settings(case)))))

    calls, found = base.explain({**base.right, **changed}, ask)
    if not found:
        return Judgement(kernel, "silent", len(changed))
    new = new_calls(kernel, found, calls, base, random)
    conditions = [each.condition or () for each in found]
    holds = holding({term for terms in conditions for term in terms}, [of.facts for of in new], calls, base)
    met = [np.logical_and.reduce([holds[term] for term in terms] or [np.ones(len(new), bool)]) for terms in conditions]
    met = [of if each.condition is not None else np.zeros_like(of) for of, each in zip(met, found, strict=True)]
    says = np.array([case not in unsaid for case in base.cases], bool)
    meeting = [calls.meeting(each.condition)[: len(says)] for each in found if each.condition is not None]
    wide = np.logical_or.reduce([np.zeros_like(says), *meeting])
    is_wrong = np.array([case in changed for case in base.cases], bool)
    new_wrong = np.array([of.wrong is not None for of in new], bool)
    new_wide = np.logical_or.reduce(met)
    misleading = [reason for each, of in zip(found, met, strict=True) for reason in misleads(each, new, of, new_wrong)]
    differ = [
        *differences("records", list(base.cases), wide & says, is_wrong),
        *differences("new calls", [text_of(of.facts.case) for of in new], new_wide, new_wrong),
    ]
    grade = "misleading" if misleading else "vague" if differ else "exact"
    return Judgement(kernel, grade, len(changed), found, [*misleading, *differ])


def misleads(each: Explanation, new: Sequence[NewCall], met: Mask, wrong: Mask) -> Iterator[str]:
    """Yield why an explanation is misleading."""
    count, right = int(met.sum()), int((met & ~wrong).sum())
    if count >= FEWEST_OWN and right > (1 - OWN) * count:
        yield f"the kernel is right for {right} of the {count} new calls of `{each.where}`"
    if not isinstance(each.what, Misreads):
        return
    by_name = misreadings_by_name(DIALECT)
    misreadings = [by_name[name] for name in each.what.name.names if name in by_name]
    under = [of for of, counts in zip(new, met & wrong, strict=True) if counts]
    others = [of for of in under if misreadings and not gives(misreadings, of)]
    if others:
        example = text_of(others[0].facts.case)
        yield f"{each.what} gives another output in {len(others)} of {len(under)} new calls: {example}"


def gives(misreadings: Sequence[Misreading], call: NewCall) -> bool:
    """Return whether misreadings give the kernel's output."""
    problem = share_problem(call.facts.case, DIALECT)
    assert call.wrong is not None
    return explains(misreadings, problem, to_ncx(call.wrong.array, problem.call.data_format), DType.F32)


def differences(of: str, names: Sequence[str], printed: Mask, true: Mask) -> Iterator[str]:
    """Yield the number of calls for which the printed conditions hold but not the true one, and the reverse."""
    for here, words in ((true & ~printed, "do not hold for"), (printed & ~true, "hold for")):
        if here.any():
            which = "right" if words == "hold for" else "wrong"
            total = int((~true if which == "right" else true).sum())
            example = names[int(np.flatnonzero(here)[0])]
            yield f"{of}: the conditions {words} {here.sum()} of {total} that are {which}: {example}"


def text_of(case: Case) -> str:
    """Return a new call in words."""
    return " ".join(f"{name}={value}".replace(" ", "") for name, value in settings(case).items())


def holding(terms: Collection[str], new: Sequence[Facts], calls: Calls, base: Base) -> dict[str, Mask]:
    """Return for which new calls each term holds.

    The calls of the run are looked at together with them, and all limits of these are tried, even if they are many.
    """
    problems = [*(share_problem(facts.case, DIALECT) for facts in new), *calls.problems[len(base.features) :]]
    features = [evidence_facts.features_of(problem) for problem in problems if problem is not None]
    with patch.object(evidence_facts, "_LIMITS", 10**6):
        every = evidence_facts._terms([*features, *base.features])  # type: ignore[list-item]  # noqa: SLF001
        return {text: holds[: len(new)] for text, holds in every if text in terms}


def new_calls(kernel: Kernel, found: Sequence[Explanation], calls: Calls, base: Base, random: Random) -> list[NewCall]:
    """Return new calls: half at the border of the printed conditions, half with a change that these do not mention."""
    facts = list(base.cases.values())
    printed = [
        int(number) for each in found for number in np.flatnonzero(calls.meeting(each.condition or ())[: len(facts)])
    ]
    true = [number for number, of in enumerate(facts) if kernel.is_wrong_for(of)]
    terms = sorted({term for each in found for term in each.condition or ()})
    mentioned = {knob for term in terms for knob in knobs_of(term)}
    # The attributes of the true condition change too, even if they are mentioned.
    true_knobs = knobs_of(OF_KERNELS[kernel.size.partition(" ")[0]])
    others = [*sorted(KNOBS - mentioned), *sorted(true_knobs) * 3]
    every = list(range(len(facts)))
    # A call that tconv asked itself is not new.
    seen = {problem.case.content for problem in calls.problems if problem is not None}
    new: list[NewCall] = []
    for number in range(20 * NEW_CALLS):
        if len(new) == NEW_CALLS:
            break
        case = facts[random.choice(random.choice([printed, printed, true, every]))].case
        at_border = bool(terms) and len(new) < NEW_CALLS / 2
        term = random.choice(terms) if at_border else ""
        knobs = sorted(knobs_of(term)) or others
        changed = with_change(case, random.choice(knobs), numbers_of(term), random, f"new/{number}")
        if changed is None or changed.content in seen:
            continue
        seen.add(changed.content)
        answered = answered_by(kernel, changed)
        new += [answered] if answered is not None else []
    return new


def answered_by(kernel: Kernel, case: Case) -> NewCall | None:
    """Return a kernel's answer to a call; None if it cannot be judged."""
    facts = facts_of(case)
    if facts is None or facts.elements > MOST_PRODUCTS:
        return None
    if not kernel.is_wrong_for(facts):
        return NewCall(facts, None)
    problem = Problem(case, DIALECT)
    wrong = wrong_kernels.outcome(kernel, problem)
    if wrong is None or not isinstance(judge(problem, wrong, DType.F32), ver.WrongOutput):
        return None
    return NewCall(facts, wrong)


OF_KERNELS = {
    "channels": "channels / groups", "outputs": "out_channels / groups", "groups": "groups", "batch": "batch",
    "kernel": "kernel", "stride": "strides", "dilation": "dilations", "output": "output",
}  # fmt: skip
"""The sizes of a kernel's condition, by their names in a term."""
TURNS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)


def numbers_of(term: str) -> tuple[int, ...]:
    """Return the numbers next to the border of a term."""
    numbers = [int(number) for number in re.findall(r"\d+", term)]
    if "multiple of" in term:
        numbers = [numbers[-1] * times for times in (1, 2, 3)]
    return tuple(number + off for number in numbers for off in (-1, 0, 1))


def with_change(case: Case, knob: str, near: Sequence[int], random: Random, case_id: str) -> Case | None:
    """Return a case with one size or attribute changed; None if there is no such case."""
    axis = random.randrange(len(case.x.shape) - 2)
    value = random.choice(WORDS[knob]) if knob in WORDS else turned(case, knob, axis, near, random)
    return built(f"{path_of(case.id)}/{case_id}", settings_with(case, knob, value, axis, DIALECT))


def turned(case: Case, knob: str, axis: int, near: Sequence[int], random: Random) -> int:
    """Return another number: one next to the border, a neighbour of the old one, or any."""
    full = {**DEFAULTS, **settings(case)}
    groups, most = full.get("groups") or 1, MANY if knob == "output" else 65
    if knob == "output":
        values = Problem(case, DIALECT).values
        value = values.primary.geometry.output[axis] if values else 1
    elif knob in SIZES:
        sizes = {**full, "groups": groups}
        value = sizes[knob.removesuffix(" / groups")] // (groups if knob.endswith("/ groups") else 1)
    else:
        value = spread_per_axis(full.get(knob, NEUTRAL.get(knob, 0)), len(case.x.shape) - 2)[axis]
    if knob.endswith("/ groups"):
        # The number in the term may count the channels of all groups.
        near = (*near, *(number // groups for number in near))
    choices = [n for n in (*near, value - 1, value + 1) if is_possible(knob, n, most) and n != value]
    beside = bool(choices) and (bool(near) or random.choice([True, False]))
    return random.choice(choices if beside else [n for n in TURNS if is_possible(knob, n, most)])


def rules_on_new_calls(backend: str, count: int, random: Random) -> Iterator[tuple[Explanation, int, int]]:
    """Yield each rule that a smoke run prints for a runtime, how many new calls follow it, and their number."""
    corpus = Corpus.load()
    cases = {case.id: case for case in corpus.cases("smoke")}
    with Pool(Asking(backend)) as pool:

        def ask(new: Sequence[Case]) -> list[Record]:
            cases.update({case.id: case for case in new})
            records = pool.records(new)
            return [replace(records[case.id], asked=Settings.model_validate(settings(case))) for case in new]

        records = [record for _, record in sorted(pool.records([*cases.values()]).items())]
        calls = Calls([*map(answer_of, records)], cases.get, pool.dialect)
        calls = ask_new_calls(calls, explain(calls), lambda new: [*map(answer_of, ask(new))])
        known = [answer.record for answer in calls.answers]
        for each in explain(calls):
            if isinstance(each.what, Follows) and each.condition is not None:
                members = [cases[case] for case in each.cases]
                new = list(new_members(each, members, pool.dialect, count, random))
                learners = learners_of([*known, *ask(new)], cases.get, pool.dialect)
                asked, rules, follow, tell = [case.id for case in new], each.what.rules, 0, 0
                for learner in learners:
                    shown = learner.show(rules) & np.isin(learner.cases, asked)
                    follow, tell = follow + int((shown & learner.follows(rules)).sum()), tell + int(shown.sum())
                yield each, follow, tell


def rules_hold(backend: str) -> bool:
    """Ask a runtime new calls for each of its rules, print the results, and return whether nearly all calls follow."""
    rules, hold = 0, True
    for each, follow, tell in rules_on_new_calls(backend, 200, Random(1)):  # noqa: S311 - random but repeatable
        print(f"{backend}: {follow} of {tell} new calls that tell it follow: {each.what} | {each.where}", flush=True)
        rules, hold = rules + 1, hold and follow >= FOLLOWED * tell
    print(f"{backend}: {f'all {rules} rules hold' if hold else 'a rule does not hold'}", flush=True)
    return hold


def new_members(
    each: Explanation, members: Sequence[Case], dialect: Dialect, count: int, random: Random
) -> Iterator[Case]:
    """Yield calls that no run has asked, for which the condition of an explanation holds."""
    made: dict[object, Case] = {}
    for number in range(10 * count):
        case = random.choice(members)
        for _ in range(random.choice([1, 2, 3])):
            knob = random.choice([name for name in LISTS if name != "pads_begin"])
            case = with_change(case, knob, (), random, f"rule-{number}") or case
        problem = Problem(case, dialect)
        if problem.values is not None and 0 not in problem.values.primary.geometry.output:
            made[case.content] = case
    new = [case for content, case in made.items() if content not in {of.content for of in members}]
    features = [evidence_facts.features_of(share_problem(of, dialect)) for of in (*new, *members)]
    with patch.object(evidence_facts, "_LIMITS", 10**6):
        terms = dict(evidence_facts._terms(features))  # type: ignore[arg-type] # noqa: SLF001
    holds = [terms[term] for term in each.condition or () if term in terms]
    yield from islice((case for place, case in enumerate(new) if all(of[place] for of in holds)), count)


@cache
def judgements(count: int, seed: int) -> tuple[Base, list[Judgement]]:
    """Draw kernels, judge the explanations, and print those that are not exact. Cached, because it can be repeated."""
    corpus = Corpus.load()
    facts = [of for of in ordered(corpus.cases("gate")) if of.elements <= MOST_PRODUCTS]
    base = Base(corpus, {of.case.id: of for of in sorted(facts, key=lambda of: of.case.id)})
    random, found = Random(seed), []  # noqa: S311 - random but repeatable
    for number in range(count):
        each = judged(draw(random), base, Random(number))  # noqa: S311 - as above
        found.append(each)
        if each.grade != "exact":
            print(f"{number}: {each}", flush=True)
    return base, found


def measured(arguments: argparse.Namespace) -> dict[str, Figure]:
    """Return how many kernels are explained exactly, and the cost."""
    count = SMALL if arguments.small else arguments.count
    base, kernels = judgements(count, arguments.seed)
    grades = Counter(each.grade for each in kernels)
    share = grades["exact"] / max(count - grades["too few records"], 1)
    figures = {"exact, of those with enough records": Figure([share], band=(LEAST, 1.0))}
    vague = [each for each in kernels if each.grade == "vague"]
    right = [each for each in vague if not any(reason.startswith("records") for reason in each.why)]
    figures["vague, and right on all records"] = Figure([len(right)], "kernels")
    figures |= {
        grade: Figure([grades[grade]], "kernels", band=(0, 0) if grade == "misleading" else None) for grade in GRADES
    }
    largest = max(kernels, key=lambda each: each.failures)
    return figures | cost(largest.kernel, base)


def cost(kernel: Kernel, base: Base) -> dict[str, Figure]:
    """Return the cost of explaining in a fresh process, as in `tconv report`."""
    changed, _ = play(kernel, base)
    records = {**base.right, **changed}
    share_problem.cache_clear()
    seconds = timed(lambda: base.explain(records), process_time)
    return {
        "records": Figure([len(records)], "records"),
        "failures": Figure([len(changed)], "records"),
        "to explain them": Figure([seconds], "s"),
        "a record": Figure([1e6 * seconds / len(records)], "us"),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How exactly the failures of wrong kernels are explained.")
    parser.add_argument("--count", type=int, default=100, help="kernels (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=5, help="another one draws other kernels (default: %(default)s)")
    help_of_rules = "print instead how many of 200 new calls of a runtime follow each of its rules; may be repeated"
    parser.add_argument("--backend", action="append", default=[], help=help_of_rules)
    if backends := parser.parse_known_args()[0].backend:
        sys.exit(sum(not rules_hold(backend) for backend in backends) > 0)
    sys.exit(run("explaining", measured, parser))

"""The rules of a runtime in one situation: the formulas that its answers follow, and which answers follow them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tconv.evidence.axis_rules import in_terms_of, learn_expected, learn_followed
from tconv.evidence.hypotheses import Rule
from tconv.evidence.observed_axes import FULL, OF_TEXT, QUANTITIES, SPACINGS, axes_of
from tconv.evidence.observed_geometry import SHOWING, observed_geometries, situation_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.evidence.formulas import Formula
    from tconv.evidence.observed_axes import Axes
    from tconv.evidence.observed_geometry import ObservedGeometry, Situation
    from tconv.records.record import Record
    from tconv.vocabulary import Array, Mask


@dataclass
class Learner:
    """The outputs of one situation, and the formulas that are learnt from them.

    Attributes:
        situation: the situation.
        shown: its records with their cases, also those that agree with the text.
        dialect: the text.
    """

    situation: Situation
    shown: Sequence[tuple[Record, Case]]
    dialect: Dialect
    _given: dict[tuple[str, Formula], Mask] = field(default_factory=dict, init=False)

    @cached_property
    def geometries(self) -> list[ObservedGeometry]:
        """The geometries of its outputs."""
        return list(observed_geometries(self.shown, self.dialect))

    @cached_property
    def cases(self) -> Array:
        """The id of the case of each output."""
        return np.array([observed.case.id for observed in self.geometries], dtype=object)

    def deviates(self, wanted: Container[str]) -> bool:
        """Return whether at least one of some outputs, by case ids, deviates from the text's geometry."""
        some = ((record, case) for record, case in self.shown if record.case in wanted)
        return any(observed.deviates for observed in observed_geometries(some, self.dialect))

    @cached_property
    def _deviate(self) -> Mask:
        return np.array([observed.deviates for observed in self.geometries], dtype=bool)

    @cached_property
    def _known(self) -> Mask:
        """The outputs whose values show at least one placement."""
        return np.array([bool(observed.placement.pads_begin) for observed in self.geometries], dtype=bool)

    @cached_property
    def _lost(self) -> Mask:
        """The outputs whose values have no placement: they are wrong in another way, or also in another way."""
        searched = np.array([observed.placement.searched for observed in self.geometries], dtype=bool)
        return searched & ~self._known

    @cached_property
    def _as_written(self) -> Axes:
        return axes_of((observed.signature, observed.expected, observed.placement) for observed in self.geometries)

    @cached_property
    def axes(self) -> Axes:
        """The axes of all outputs; a single formula gives strides or dilations that the values do not show."""
        followed = {quantity: self._learn(self._as_written, quantity) for quantity in SPACINGS}
        return replace(self._as_written, spacing={name: of[0] for name, of in followed.items() if len(of) == 1})

    @cached_property
    def expected(self) -> dict[str, Formula | None]:
        """The text's own formulas, by quantity."""
        return {quantity: learn_expected(self.situation, self.dialect, quantity) for quantity in QUANTITIES}

    @cached_property
    def followed(self) -> dict[str, tuple[Formula, ...]]:
        """The formulas that the answers follow, by quantity, if some deviate."""
        return {
            quantity: self._learn(self._as_written if quantity in SPACINGS else self.axes, quantity)
            for quantity in QUANTITIES
        }

    def _learn(self, axes: Axes, quantity: str) -> tuple[Formula, ...]:
        return learn_followed(axes, quantity, self.expected[quantity])

    def rule_sets(self) -> Iterator[tuple[Rule, ...]]:
        """Yield the sets of rules that several deviating answers follow."""
        counts = Counter(self._rules_of(int(number)) for number in np.flatnonzero(self._deviate))
        yield from (rules for rules, count in counts.items() if rules and count > 1)

    def _rules_of(self, number: int) -> tuple[Rule, ...]:
        """Return the rules of an answer that differ from the text's; empty if no rules explain all of it."""
        rules = []
        for quantity in QUANTITIES:
            formulas, is_of_text = self.followed[quantity], self.of_text(quantity)[number]
            fitting = next((formula for formula in formulas if self.gives(quantity, formula)[number]), None)
            if not is_of_text and fitting is None:
                return ()
            # A rule for all answers is also the rule of an answer for which it gives the text's number.
            if fitting is not None and (not is_of_text or len(formulas) == 1):
                of_text_terms = in_terms_of(self.expected[quantity], fitting, self.axes.terms)
                says_text = any(name in OF_TEXT.values() for _, name in fitting.terms)
                rules.append(Rule(quantity, of_text_terms, None if says_text else self.expected[quantity]))
        return tuple(rule for rule in rules if str(rule.formula) != str(rule.expected))

    def of_text(self, quantity: str) -> Mask:
        """Return the outputs with the expected quantity, or that of the text's formula from their other numbers."""
        formula, expected = self.expected[quantity], self._are(quantity, self.axes.expected[quantity])
        return expected if formula is None else expected | self.gives(quantity, formula)

    def tells(self, quantity: str) -> Mask:
        """Return the outputs that show a quantity, or that none of its values gives them."""
        return self._known | self._lost | (quantity == "size")

    def follows(self, rules: Sequence[Rule]) -> Mask:
        """Return the outputs that follow rules, if their values show it."""
        return _all(self.gives(rule.quantity, rule.formula) for rule in rules)

    def show(self, rules: Sequence[Rule]) -> Mask:
        """Return the outputs whose values show if they follow rules.

        An output without a placement is also wrong in another way: it does not show this.
        """
        return ~self._lost & _all(self.tells(rule.quantity) for rule in rules)

    def is_exactly(self, rules: Sequence[Rule]) -> Mask:
        """Return the outputs that deviate from the text, follow these rules, and follow the text in all else."""
        others = {*QUANTITIES} - {rule.quantity for rule in rules}
        return _all([self._deviate, self.follows(rules), *map(self.of_text, others)])

    def gives(self, quantity: str, formula: Formula) -> Mask:
        """Return the outputs whose quantity a formula gives on each axis, if the values show it."""
        if (quantity, formula) not in self._given:
            self._given[quantity, formula] = self._are(quantity, formula.values(self.axes.terms))
        return self._given[quantity, formula]

    def _are(self, quantity: str, numbers: Array) -> Mask:
        """Return the outputs whose quantity has these numbers, one for each axis, if the values show it."""
        axes, terms = self.axes, self.axes.terms
        if quantity == "pads_begin":
            # Beyond this range no tap meets the output.
            numbers = np.minimum(np.maximum(numbers, -terms["size"]), terms[FULL])
        wrong = (numbers != axes.observed[quantity]) & axes.shown[quantity]
        fits: Mask = np.bincount(axes.outputs, weights=wrong, minlength=len(self.geometries)) == 0
        if quantity == "size":
            return fits
        for number in np.flatnonzero(fits & self._known) if quantity == "pads_begin" else ():
            begins = self.geometries[number].placement.pads_begin
            if len(begins) > 1:
                fits[number] = tuple(numbers[axes.outputs == number].tolist()) in begins
        return fits & ~self._lost

    def clause(self, rules: Sequence[Rule]) -> str:
        """Return the text's words on the first question to which these rules give another answer."""
        if rules[0].quantity in SPACINGS:
            return ""
        mode, sized = self.situation.auto_pad, self.situation.output_shape
        same = mode.startswith("same")
        if rules[0].quantity == "size" and same and not sized:
            question = "same"
        elif sized:
            question = {"explicit": "sized_explicit", "valid": "sized_valid"}.get(mode, f"odd_sized{mode[4:]}")
        elif same:
            question = f"odd{mode[4:]}"
        else:
            return ""
        return self.dialect.cites.get(question, "")


def _all(masks: Iterable[Mask]) -> Mask:
    every: Mask = np.logical_and.reduce([*masks])
    return every


class RuleEvidence(NamedTuple):
    """A set of rules with its evidence from the answers of a run.

    Attributes:
        rules: the rules.
        cases: the ids of the answers that deviate from the text exactly as these rules do.
        against: the ids of the answers that do not follow the rules.
        clause: the text's words on the question.
    """

    rules: tuple[Rule, ...]
    cases: frozenset[str]
    against: frozenset[str]
    clause: str


def learn_rules(
    records: Iterable[Record], find: Callable[[str], Case | None], dialect: Dialect, wanted: Container[str]
) -> list[RuleEvidence]:
    """Return the evidence for each set of rules that several answers of a run follow.

    Args:
        records: the records of a run, also those that passed.
        find: returns a case by its id; None if the corpus has no such case.
        dialect: the dialect of the run.
        wanted: the ids of the cases to explain.
    """
    learners = list(learners_of(records, find, dialect))
    clauses: dict[tuple[Rule, ...], str] = {}
    for learner in learners:
        if learner.deviates(wanted):
            for rules in learner.rule_sets():
                clauses.setdefault(rules, learner.clause(rules))
    found = []
    for rules, clause in clauses.items():
        cases, against = set[str](), set[str]()
        texts = [{str(rule.expected)} for rule in rules]
        for learner in learners:
            exactly = learner.is_exactly(rules)
            cases.update(learner.cases[exactly])
            against.update(learner.cases[learner.show(rules) & ~learner.follows(rules)])
            for rule, of in zip(rules, texts, strict=True):
                of.update([str(learner.expected[rule.quantity])] if exactly.any() and rule.expected else [])
        # One formula of a runtime may replace several of the text's.
        said = [rule if len(of) == 1 else replace(rule, expected=None) for rule, of in zip(rules, texts, strict=True)]
        found.append(RuleEvidence(tuple(said), frozenset(cases), frozenset(against), clause))
    return found


def learners_of(records: Iterable[Record], find: Callable[[str], Case | None], dialect: Dialect) -> Iterator[Learner]:
    """Yield a learner for each situation of a run.

    Args:
        records: the records of a run.
        find: returns a case by its id; None if the corpus has no such case.
        dialect: the dialect of the run.
    """
    by_situation: dict[Situation, list[tuple[Record, Case]]] = defaultdict(list)
    for record in records:
        case = find(record.case) if isinstance(record.verdict, SHOWING) else None
        if case is not None:
            by_situation[situation_of(case)].append((record, case))
    for situation, shown in sorted(by_situation.items()):
        yield Learner(situation, shown, dialect)

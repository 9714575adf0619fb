"""What is learnt of one situation: the formulas that its answers follow, and which answers follow them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tconv.evidence.axis_rules import MOST, in_terms_of, learn_expected, learn_followed
from tconv.evidence.axis_terms import OF_TEXT
from tconv.evidence.hypotheses import Rule
from tconv.evidence.observed_geometry import QUANTITIES, SHOWING, SPACINGS, observed_geometries
from tconv.evidence.text_axes import text_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.evidence.formulas import Formula
    from tconv.evidence.observed_geometry import ObservedAxis, ObservedGeometry
    from tconv.evidence.situations import Situation
    from tconv.records.record import Record


@dataclass
class Learner:
    """The outputs of one situation, and what is learnt of them.

    Attributes:
        situation: the situation.
        geometries: those of its outputs, those that agree with the text too.
        dialect: the text.
    """

    situation: Situation
    geometries: Sequence[ObservedGeometry]
    dialect: Dialect

    @cached_property
    def spacing(self) -> dict[str, tuple[Formula, ...]]:
        """The formulas that strides and dilations follow, if some answers deviate."""
        axes = [axis for observed in self.geometries for axis in observed.axes({})]
        return {quantity: learn_followed(axes, quantity) for quantity in SPACINGS}

    @cached_property
    def axes(self) -> dict[str, list[ObservedAxis]]:
        """The axes of each answer, by the case's id."""
        single = {quantity: formulas[0] for quantity, formulas in self.spacing.items() if len(formulas) == 1}
        return {observed.case.id: list(observed.axes(single)) for observed in self.geometries}

    @cached_property
    def all_axes(self) -> list[ObservedAxis]:
        """The axes of all answers."""
        return [axis for axes in self.axes.values() for axis in axes]

    @cached_property
    def expected(self) -> dict[str, Formula | None]:
        """The text's own formulas, by quantity: they hold on the answers' axes, and on any others of the situation."""
        axes = [*text_axes(self.situation, self.dialect), *self.all_axes]
        return {quantity: learn_expected(axes, quantity) for quantity in QUANTITIES}

    @cached_property
    def followed(self) -> dict[str, tuple[Formula, ...]]:
        """The formulas that the answers follow, by quantity, where some deviate."""
        rest = [quantity for quantity in QUANTITIES if quantity not in SPACINGS]
        return {**self.spacing, **{quantity: learn_followed(self.all_axes, quantity) for quantity in rest}}

    def rule_sets(self) -> Iterator[tuple[Rule, ...]]:
        """Yield the sets of rules that several deviating answers follow."""
        counts = Counter(self.rules_of(observed) for observed in self.geometries if observed.deviates)
        yield from (rules for rules, count in counts.items() if rules and count > 1)

    def rules_of(self, observed: ObservedGeometry) -> tuple[Rule, ...]:
        """Return the rules of an answer that are not the text's; none where no rules give all of it."""
        rules = []
        for quantity in QUANTITIES:
            formulas, of_text = self.followed[quantity], self.of_text(observed, quantity)
            fitting = next((formula for formula in formulas if self.gives(observed, quantity, (formula,))), None)
            if not of_text and fitting is None:
                return ()
            # A rule for all answers is the rule of this one too, where it gives what the text gives.
            if fitting is not None and (not of_text or len(formulas) == 1):
                of_text_terms = in_terms_of(self.expected[quantity], fitting, self.all_axes)
                says_text = any(name in OF_TEXT.values() for _, name in fitting.terms)
                rules.append(Rule(quantity, of_text_terms, None if says_text else self.expected[quantity]))
        return tuple(rule for rule in rules if str(rule.formula) != str(rule.expected))

    def of_text(self, observed: ObservedGeometry, quantity: str) -> bool:
        """Return whether a quantity is what is expected, or what its formula gives for the answer's other numbers."""
        formula = self.expected[quantity]
        if formula is not None and self.gives(observed, quantity, (formula,)):
            return True
        return observed.gives(quantity, [axis.expected[quantity] for axis in self.axes[observed.case.id]])

    def follows(self, observed: ObservedGeometry, rules: Sequence[Rule]) -> bool | None:
        """Return whether an answer is these rules'; None if its values do not tell.

        An answer that lies nowhere is wrong in another way too: it does not say whether the rules were followed.
        """
        if observed.lost or not all(observed.tells(rule.quantity) for rule in rules):
            return None
        return all(self.gives(observed, rule.quantity, (rule.formula,)) for rule in rules)

    def is_exactly(self, observed: ObservedGeometry, rules: Sequence[Rule]) -> bool:
        """Return whether an answer deviates from the text, and is these rules' and the text's in all else."""
        formulas = {rule.quantity: rule.formula for rule in rules}
        return observed.deviates and all(
            self.gives(observed, quantity, (formulas[quantity],))
            if quantity in formulas
            else self.of_text(observed, quantity)
            for quantity in QUANTITIES
        )

    def gives(self, observed: ObservedGeometry, quantity: str, formulas: Sequence[Formula]) -> bool:
        """Return whether one of these formulas gives a quantity of an answer on all axes, as far as its values tell."""
        axes = self.axes[observed.case.id]
        return any(
            observed.gives(quantity, [formula.value(axis.observed_terms) for axis in axes]) for formula in formulas
        )

    def gives_most(self, quantity: str, formula: Formula) -> bool:
        """Return whether a formula gives a quantity of nearly all answers."""
        return sum(self.gives(observed, quantity, (formula,)) for observed in self.geometries) >= MOST * len(
            self.geometries
        )

    def clause(self, rules: Sequence[Rule]) -> str:
        """Return the text's words on the first question that these rules answer differently."""
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


class RuleEvidence(NamedTuple):
    """What the answers of a run say of a set of rules.

    Attributes:
        rules: the rules.
        cases: the ids of the answers that deviate from the text, and are exactly these rules'.
        against: the ids of the answers that the rules do not give.
        clause: the text's words on the question.
    """

    rules: tuple[Rule, ...]
    cases: frozenset[str]
    against: frozenset[str]
    clause: str


def learn_rules(
    records: Iterable[Record], find: Callable[[str], Case | None], dialect: Dialect, wanted: Container[str]
) -> list[RuleEvidence]:
    """Return what the answers of a run say of each set of rules that several of them follow.

    Args:
        records: the records of a run, those that passed too.
        find: returns a case by its id; None if the corpus has no such case.
        dialect: the dialect of the run.
        wanted: the ids of the cases to explain.
    """
    learners = list(learners_of(records, find, dialect))
    clauses: dict[tuple[Rule, ...], str] = {}
    for learner in learners:
        if any(observed.deviates and observed.case.id in wanted for observed in learner.geometries):
            for rules in learner.rule_sets():
                clauses.setdefault(rules, learner.clause(rules))
    found = []
    for rules, clause in clauses.items():
        cases, against = set[str](), set[str]()
        texts = [{str(rule.expected)} for rule in rules]
        for learner in learners:
            for observed in learner.geometries:
                if learner.is_exactly(observed, rules):
                    cases.add(observed.case.id)
                    for rule, of in zip(rules, texts, strict=True):
                        of.update([str(learner.expected[rule.quantity])] if rule.expected else [])
                elif learner.follows(observed, rules) is False:
                    against.add(observed.case.id)
        # One formula may stand for several of the text's.
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
    shown = ((record, find(record.case)) for record in records if isinstance(record.verdict, SHOWING))
    by_situation: dict[Situation, list[ObservedGeometry]] = defaultdict(list)
    for observed in observed_geometries(((record, case) for record, case in shown if case is not None), dialect):
        by_situation[observed.situation].append(observed)
    for situation, geometries in sorted(by_situation.items()):
        yield Learner(situation, geometries, dialect)

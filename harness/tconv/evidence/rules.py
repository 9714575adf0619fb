"""The rules of a runtime in one situation: the formulas that its answers follow, and which answers follow them.

The rule sheet of a runtime has its formulas and the text's in every situation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tconv.evidence.axis_rules import MOST, in_terms_of, learn_expected, learn_followed, text_axes
from tconv.evidence.hypotheses import Rule
from tconv.evidence.observed_geometry import (
    OF_TEXT,
    QUANTITIES,
    SHOWING,
    SPACINGS,
    observed_geometries,
    situation_names,
    situation_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.evidence.formulas import Formula
    from tconv.evidence.observed_geometry import ObservedAxis, ObservedGeometry, Situation
    from tconv.records.record import Record


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

    @cached_property
    def geometries(self) -> list[ObservedGeometry]:
        """The geometries of its outputs."""
        return list(observed_geometries(self.shown, self.dialect))

    def deviates(self, wanted: Container[str]) -> bool:
        """Return whether at least one of some outputs, by case ids, deviates from the text's geometry."""
        some = ((record, case) for record, case in self.shown if record.case in wanted)
        return any(observed.deviates for observed in observed_geometries(some, self.dialect))

    @cached_property
    def spacing(self) -> dict[str, tuple[Formula, ...]]:
        """The formulas that strides and dilations follow, if some answers deviate."""
        axes = [axis for axes in self._as_written.values() for axis in axes]
        return {quantity: learn_followed(axes, quantity) for quantity in SPACINGS}

    @cached_property
    def _as_written(self) -> dict[str, list[ObservedAxis]]:
        """The axes of each answer, by the case's id, without formulas for strides or dilations."""
        return {observed.case.id: list(observed.axes({})) for observed in self.geometries}

    @cached_property
    def axes(self) -> dict[str, list[ObservedAxis]]:
        """The axes of each answer, by the case's id."""
        single = {quantity: formulas[0] for quantity, formulas in self.spacing.items() if len(formulas) == 1}
        if not single:
            return self._as_written
        return {observed.case.id: list(observed.axes(single)) for observed in self.geometries}

    @cached_property
    def all_axes(self) -> list[ObservedAxis]:
        """The axes of all answers."""
        return [axis for axes in self.axes.values() for axis in axes]

    @cached_property
    def expected(self) -> dict[str, Formula | None]:
        """The text's own formulas, by quantity: they hold on the answers' axes, and on all others of the situation."""
        axes = [*text_axes(self.situation, self.dialect), *self.all_axes]
        return {quantity: learn_expected(axes, quantity) for quantity in QUANTITIES}

    @cached_property
    def followed(self) -> dict[str, tuple[Formula, ...]]:
        """The formulas that the answers follow, by quantity, if some deviate."""
        rest = [quantity for quantity in QUANTITIES if quantity not in SPACINGS]
        return {**self.spacing, **{quantity: learn_followed(self.all_axes, quantity) for quantity in rest}}

    def rule_sets(self) -> Iterator[tuple[Rule, ...]]:
        """Yield the sets of rules that several deviating answers follow."""
        counts = Counter(self.rules_of(observed) for observed in self.geometries if observed.deviates)
        yield from (rules for rules, count in counts.items() if rules and count > 1)

    def rules_of(self, observed: ObservedGeometry) -> tuple[Rule, ...]:
        """Return the rules of an answer that differ from the text's; empty if no rules explain all of it."""
        rules = []
        for quantity in QUANTITIES:
            formulas, of_text = self.followed[quantity], self.of_text(observed, quantity)
            fitting = next((formula for formula in formulas if self.gives(observed, quantity, (formula,))), None)
            if not of_text and fitting is None:
                return ()
            # A rule for all answers is also the rule of an answer for which it gives the text's number.
            if fitting is not None and (not of_text or len(formulas) == 1):
                of_text_terms = in_terms_of(self.expected[quantity], fitting, self.all_axes)
                says_text = any(name in OF_TEXT.values() for _, name in fitting.terms)
                rules.append(Rule(quantity, of_text_terms, None if says_text else self.expected[quantity]))
        return tuple(rule for rule in rules if str(rule.formula) != str(rule.expected))

    def of_text(self, observed: ObservedGeometry, quantity: str) -> bool:
        """Return whether a quantity is as expected, or as the text's formula gives it from the other numbers."""
        formula = self.expected[quantity]
        if formula is not None and self.gives(observed, quantity, (formula,)):
            return True
        return observed.gives(quantity, [axis.expected[quantity] for axis in self.axes[observed.case.id]])

    def follows(self, observed: ObservedGeometry, rules: Sequence[Rule]) -> bool | None:
        """Return whether an answer follows these rules; None if its values do not show it.

        If the values have no placement, the answer is also wrong in another way: it does not show if the rules were
        followed.
        """
        if observed.lost or not all(observed.tells(rule.quantity) for rule in rules):
            return None
        return all(self.gives(observed, rule.quantity, (rule.formula,)) for rule in rules)

    def is_exactly(self, observed: ObservedGeometry, rules: Sequence[Rule]) -> bool:
        """Return whether an answer deviates from the text, follows these rules, and follows the text in all else."""
        formulas = {rule.quantity: rule.formula for rule in rules}
        return observed.deviates and all(
            self.gives(observed, quantity, (formulas[quantity],))
            if quantity in formulas
            else self.of_text(observed, quantity)
            for quantity in QUANTITIES
        )

    def gives(self, observed: ObservedGeometry, quantity: str, formulas: Sequence[Formula]) -> bool:
        """Return whether one of these formulas gives a quantity on each axis, if the values show it."""
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
            for observed in learner.geometries:
                if learner.is_exactly(observed, rules):
                    cases.add(observed.case.id)
                    for rule, of in zip(rules, texts, strict=True):
                        of.update([str(learner.expected[rule.quantity])] if rule.expected else [])
                elif learner.follows(observed, rules) is False:
                    against.add(observed.case.id)
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


@dataclass(frozen=True, slots=True)
class SheetLine:
    """A quantity in one or more situations.

    Attributes:
        situations: the situations.
        quantity: `stride`, `dilation`, `size` or `pads_begin`.
        formulas: the runtime's formulas, that of most answers first; empty if none was found.
        expected: the text's formula; None if none was found in the same terms.
        fits, of: the number of answers that one of the formulas gives, and the number of all answers.
    """

    situations: tuple[Situation, ...]
    quantity: str
    formulas: tuple[Formula, ...]
    expected: Formula | None
    fits: int
    of: int

    @property
    def deviates(self) -> bool:
        """Whether the runtime's formulas differ from the text's."""
        return self.expected is not None and tuple(map(str, self.formulas)) != (str(self.expected),)

    @property
    def where(self) -> str:
        """The names of the situations."""
        return situation_names(self.situations)

    @property
    def computes(self) -> str:
        """The runtime's formulas, in one line."""
        return " or ".join(map(str, self.formulas)) or "no formula that was found"

    def __str__(self) -> str:
        text = f"the text says {self.expected}" if self.deviates else "as the text says"
        if self.expected is None:
            text = "and the text has no formula that was found"
        return f"{self.where}: {self.quantity} is {self.computes}, {text}; {self.fits} of {self.of} answers fit"


def sheet(records: Sequence[Record], find: Callable[[str], Case | None], dialect: Dialect) -> tuple[SheetLine, ...]:
    """Return a runtime's rules in all situations that it answered; a rule of several situations has one line.

    Strides and dilations have a line only if they differ from the text's.

    Args:
        records: the records of a run.
        find: returns a case by its id; None if the corpus has no such case.
        dialect: the dialect of the run.
    """
    groups: dict[tuple[str, ...], list[SheetLine]] = defaultdict(list)
    for learner in learners_of(records, find, dialect):
        for line in _lines(learner):
            groups[line.quantity, *map(str, line.formulas), str(line.expected)].append(line)
    merged = [_merged(lines) for lines in groups.values()]
    return tuple(sorted(merged, key=lambda line: (QUANTITIES.index(line.quantity), line.situations)))


def _lines(learner: Learner) -> Iterator[SheetLine]:
    for quantity in QUANTITIES:
        followed, expected = learner.followed[quantity], learner.expected[quantity]
        if quantity in SPACINGS and not followed:
            continue
        whole = len(followed) == 1 and learner.gives_most(quantity, followed[0])
        formulas = followed if whole or expected is None else (expected, *followed)
        telling = [observed for observed in learner.geometries if observed.tells(quantity)]
        # A runtime with its own size may still begin as the text's formula says, computed with the text's size.
        by_text = expected in formulas
        fits = sum(
            learner.gives(observed, quantity, formulas) or (by_text and learner.of_text(observed, quantity))
            for observed in telling
        )
        if not followed and fits < len(telling) / 2:
            # The runtime does not follow the text's formula, and no other formula was found.
            formulas, fits = (), 0
        if telling:
            yield SheetLine((learner.situation,), quantity, formulas, expected, fits, len(telling))


def _merged(lines: Sequence[SheetLine]) -> SheetLine:
    first = lines[0]
    situations = tuple(situation for line in lines for situation in line.situations)
    fits, of = sum(line.fits for line in lines), sum(line.of for line in lines)
    return SheetLine(situations, first.quantity, first.formulas, first.expected, fits, of)

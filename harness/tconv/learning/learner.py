"""What is learnt of one situation: the formulas that its answers follow, and which answers follow them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tconv.learning.axis_rules import MOST, in_terms_of, learn_expected, learn_followed
from tconv.learning.lesson import Lesson, Rule
from tconv.learning.observed_geometry import QUANTITIES, SPACINGS
from tconv.learning.shared_facts import shared_facts
from tconv.learning.text_axes import text_axes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.dialects import Dialect
    from tconv.learning.formulas import Formula
    from tconv.learning.observed_geometry import ObservedAxis, ObservedGeometry
    from tconv.learning.situations import Situation


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
        """The formulas that strides and dilations follow, where some deviate."""
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

    def lessons(self) -> Iterator[Lesson]:
        """Yield a lesson for each set of rules that deviating answers follow."""
        members: dict[tuple[Rule, ...], list[ObservedGeometry]] = defaultdict(list)
        for observed in self.geometries:
            if observed.deviates and (rules := self._rules(observed)):
                members[rules].append(observed)
        for rules, geometries in members.items():
            if len(geometries) > 1:
                yield self._lesson(rules, geometries)

    def _rules(self, observed: ObservedGeometry) -> tuple[Rule, ...]:
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
                rules.append(Rule(quantity, of_text_terms, self.expected[quantity]))
        return tuple(rule for rule in rules if str(rule.formula) != str(rule.expected))

    def of_text(self, observed: ObservedGeometry, quantity: str) -> bool:
        """Return whether a quantity is what is expected, or what its formula gives for the answer's other numbers."""
        formula = self.expected[quantity]
        if formula is not None and self.gives(observed, quantity, (formula,)):
            return True
        return observed.gives(quantity, [axis.expected[quantity] for axis in self.axes[observed.case.id]])

    def _lesson(self, rules: tuple[Rule, ...], members: Sequence[ObservedGeometry]) -> Lesson:
        following = {
            observed.case.id
            for observed in self.geometries
            if all(self.gives(observed, rule.quantity, (rule.formula,)) for rule in rules)
        }
        # An answer that lies nowhere is wrong in another way too: it does not say whether these rules were followed.
        telling = [observed for observed in self.geometries if observed.case.id in following or not observed.lost]
        where = None
        if len(following) < MOST * len(telling):
            rest = [_facts(observed) for observed in telling if observed.case.id not in following]
            where = shared_facts([_facts(observed) for observed in members], rest)
        applicable = [
            observed
            for observed in telling
            if (where is None or where.holds(_facts(observed))) and all(observed.tells(rule.quantity) for rule in rules)
        ]
        return Lesson(
            (self.situation,),
            rules,
            where,
            tuple(sorted(observed.case.id for observed in members)),
            sum(observed.case.id in following for observed in applicable),
            len(applicable),
            min((observed.case for observed in members), key=lambda case: case.simplicity),
            self._clause(rules),
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

    def _clause(self, rules: Sequence[Rule]) -> str:
        """Return the text's words on the first question that these rules answer otherwise."""
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


def _facts(observed: ObservedGeometry) -> dict[str, str]:
    """Return the facts of a case, and what follows from the sizes of all its axes."""
    placement, expected = observed.placement, observed.expected
    total = [
        full + op - size
        for full, op, size in zip(
            expected.full, observed.signature.per_axis("output_padding"), placement.output, strict=True
        )
    ]
    case = observed.case
    pads = (*observed.signature.per_axis("pads_begin"), *observed.signature.per_axis("pads_end"))
    return {
        "any_pads": str(any(pads)).lower(),
        "depthwise": str(case.kind_of_group in {"depthwise", "multiplier"}).lower(),
        **case.facts,
        "total_padding_odd": str(any(padding % 2 for padding in total)).lower(),
        "total_padding_negative": str(any(padding < 0 for padding in total)).lower(),
        "kernel_below_stride": str(any(k < s for k, s in zip(expected.kernel, expected.strides, strict=True))).lower(),
    }

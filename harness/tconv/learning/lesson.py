"""A lesson: rules that a runtime follows where a text says something else, and the evidence for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.learning.axis_rules import MOST
from tconv.learning.situations import situation_names

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.learning.formulas import Formula
    from tconv.learning.shared_facts import Shared
    from tconv.learning.situations import Situation


@dataclass(frozen=True, slots=True)
class Rule:
    """What a runtime computes differently than the text says.

    Attributes:
        quantity: `stride`, `dilation`, `size` or `pads_begin` of an axis.
        formula: what the runtime computes.
        expected: what the text says, as a formula of the same terms; None where none was found.
    """

    quantity: str
    formula: Formula
    expected: Formula | None

    def __str__(self) -> str:
        computed = "as it is written" if str(self.formula) == self.quantity else self.formula
        return f"{self.quantity} is {computed}" + (f", the text says {self.expected}" if self.expected else "")


@dataclass(frozen=True)
class Lesson:
    """Rules that explain failures of one kind of call.

    Attributes:
        situations: where they apply.
        rules: what is computed differently there.
        where: the facts that tell the cases apart that follow these rules; None where nearly all of the situation do,
            or where no facts tell them apart.
        cases: the ids of the answers that deviate, and are exactly these rules'.
        fits, of: how many answers of `of` asked there are these rules', those that agree with the text too included.
        example: the smallest case that tells the rules from the text's.
        clause: the text's words on the question, where it has one.
    """

    situations: tuple[Situation, ...]
    rules: tuple[Rule, ...]
    where: Shared | None
    cases: tuple[str, ...]
    fits: int
    of: int
    example: Case
    clause: str = ""

    def __str__(self) -> str:
        return f"{self._some}{self.rules_text}; {self.fits} of {self.of} answers fit"

    @property
    def rules_text(self) -> str:
        """The rules, and where they apply, without the number of answers that fit."""
        return f"{self._under}: {'; '.join(map(str, self.rules))}"

    @property
    def condition(self) -> str:
        """Where the rules apply, and whether they do so in all cases there."""
        return self._some + self._under

    @property
    def _under(self) -> str:
        return f"under {situation_names(self.situations)}" + (f" where {self.where}" if self.where else "")

    @property
    def _some(self) -> str:
        return "in some cases " if self.partial else ""

    @property
    def of_some(self) -> bool:
        """Whether other answers of these situations do not follow the rules, whatever tells them apart."""
        return self.partial or self.where is not None

    @property
    def partial(self) -> bool:
        """Whether other answers do not follow the rules, and no facts tell these apart."""
        return self.where is None and self.fits < MOST * self.of

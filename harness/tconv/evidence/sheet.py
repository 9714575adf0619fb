"""The rule sheet of a runtime: for every situation, the formulas that its answers follow, beside the text's."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.evidence.observed_geometry import QUANTITIES, SPACINGS
from tconv.evidence.rules import learners_of
from tconv.evidence.situations import situation_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.evidence.formulas import Formula
    from tconv.evidence.rules import Learner
    from tconv.evidence.situations import Situation
    from tconv.records.record import Record


@dataclass(frozen=True, slots=True)
class SheetLine:
    """A quantity in one or more situations.

    Attributes:
        situations: where.
        quantity: `stride`, `dilation`, `size` or `pads_begin`.
        formulas: what the runtime computes, the formula of most answers first; none where no formula was found.
        expected: what the text says; None where no formula of the same terms says it.
        fits, of: how many answers one of the formulas gives, of how many.
    """

    situations: tuple[Situation, ...]
    quantity: str
    formulas: tuple[Formula, ...]
    expected: Formula | None
    fits: int
    of: int

    @property
    def deviates(self) -> bool:
        """Whether the runtime computes something else than the text says."""
        return self.expected is not None and tuple(map(str, self.formulas)) != (str(self.expected),)

    @property
    def where(self) -> str:
        """The situations, named."""
        return situation_names(self.situations)

    @property
    def computes(self) -> str:
        """What the runtime computes, in one line."""
        return " or ".join(map(str, self.formulas)) or "no formula that was found"

    def __str__(self) -> str:
        text = f"the text says {self.expected}" if self.deviates else "as the text says"
        if self.expected is None:
            text = "and the text has no formula that was found"
        return f"{self.where}: {self.quantity} is {self.computes}, {text}; {self.fits} of {self.of} answers fit"


def sheet(records: Sequence[Record], find: Callable[[str], Case | None], dialect: Dialect) -> tuple[SheetLine, ...]:
    """Return a runtime's rules in every situation that it answered, the same rules of several situations in one line.

    Strides and dilations have a line only where they are not the text's.

    Args:
        records: the records of a run.
        find: returns a case by its id; None where the corpus has no such case.
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
        # Beside a size of its own a runtime may still begin where the text does, by the size that the text has.
        by_text = expected in formulas
        fits = sum(
            learner.gives(observed, quantity, formulas) or (by_text and learner.of_text(observed, quantity))
            for observed in telling
        )
        if not followed and fits < len(telling) / 2:
            # The text's formula is not the runtime's, and no other one was found.
            formulas, fits = (), 0
        if telling:
            yield SheetLine((learner.situation,), quantity, formulas, expected, fits, len(telling))


def _merged(lines: Sequence[SheetLine]) -> SheetLine:
    first = lines[0]
    situations = tuple(situation for line in lines for situation in line.situations)
    fits, of = sum(line.fits for line in lines), sum(line.of for line in lines)
    return SheetLine(situations, first.quantity, first.formulas, first.expected, fits, of)

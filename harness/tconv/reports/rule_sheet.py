"""The rule sheet of a runtime: its formulas and the text's for each quantity, in every situation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.evidence.axis_rules import MOST
from tconv.evidence.observed_axes import QUANTITIES, SPACINGS
from tconv.evidence.rules import learners_of
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.evidence.formulas import Formula
    from tconv.evidence.observed_geometry import Situation
    from tconv.evidence.rules import Learner
    from tconv.records.record import Record

LEGEND = (
    "X, K, s, d, op: an axis's input and kernel size, stride, dilation and output_padding; i: its number; s and d are "
    "those that the values show"
)
_SAME = {AutoPad.SAME_UPPER, AutoPad.SAME_LOWER}


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
        whole = len(followed) == 1 and learner.gives(quantity, followed[0]).mean() >= MOST
        formulas = followed if whole or expected is None else (expected, *followed)
        telling = learner.tells(quantity)
        # A runtime with its own size may still begin as the text's formula says, computed with the text's size.
        by_text = [learner.of_text(quantity)] if expected in formulas else []
        given = [*(learner.gives(quantity, formula) for formula in formulas), *by_text]
        count, fits = int(telling.sum()), int((telling & np.logical_or.reduce([~telling, *given])).sum())
        if not followed and fits < count / 2:
            # The runtime does not follow the text's formula, and no other formula was found.
            formulas, fits = (), 0
        if count:
            yield SheetLine((learner.situation,), quantity, formulas, expected, fits, count)


def _merged(lines: Sequence[SheetLine]) -> SheetLine:
    situations = tuple(situation for line in lines for situation in line.situations)
    fits, of = sum(line.fits for line in lines), sum(line.of for line in lines)
    return replace(lines[0], situations=situations, fits=fits, of=of)


def situation_names(situations: Iterable[Situation]) -> str:
    """Return a name for several situations together, as short as possible."""
    modes: dict[bool, list[str]] = {False: [], True: []}
    for situation in sorted(situations):
        modes[situation.output_shape].append(situation.auto_pad)
    without, beside = modes[False], modes[True]
    if without == beside:
        return f"{_modes(without)}, with output_shape and without"
    parts = [_modes(without)] if without else []
    parts += [f"output_shape with {_modes(beside)}"] if beside else []
    return ", and ".join(parts)


def _modes(modes: list[str]) -> str:
    if len(modes) == len(AutoPad):
        return "any mode"
    words = [mode for mode in modes if mode not in _SAME]
    return " or ".join([*words, *(["same_*"] if set(modes) >= _SAME else [mode for mode in modes if mode in _SAME])])

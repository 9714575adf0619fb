"""Situations: what decides which rule of a text applies to a call, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.cases.case import Case


@dataclass(frozen=True, slots=True, order=True)
class Situation:
    """A padding mode, and whether output_shape is given."""

    output_shape: bool
    auto_pad: str


def situation_of(case: Case) -> Situation:
    """Return the situation of a case."""
    return Situation(case.attributes.output_shape is not None, case.attributes.auto_pad or AutoPad.EXPLICIT)


def situation_names(situations: Iterable[Situation]) -> str:
    """Return a name for several situations together, as short as it can be."""
    modes: dict[bool, list[str]] = {False: [], True: []}
    for situation in sorted(situations):
        modes[situation.output_shape].append(situation.auto_pad)
    without, beside = modes[False], modes[True]
    if without == beside:
        return f"{_modes(without)}, with output_shape and without"
    parts = [_modes(without)] if without else []
    parts += [f"output_shape beside {_modes(beside)}"] if beside else []
    return ", and ".join(parts)


def _modes(modes: list[str]) -> str:
    if len(modes) == len(AutoPad):
        return "any mode"
    words = [mode for mode in modes if mode not in _SAME]
    return " or ".join([*words, *(["same_*"] if set(modes) >= _SAME else [mode for mode in modes if mode in _SAME])])


_SAME = {AutoPad.SAME_UPPER, AutoPad.SAME_LOWER}

"""The cases of a sweep's rows.

The parts of a case depend on few axes each: operands not on the pads, attributes not on the data. So a part is made
once for each combination of the labels that it depends on, and cases share it; a case costs what its own object does.
"""

from __future__ import annotations

from functools import lru_cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tconv.cases.case import Case, Facts
from tconv.corpus.building import (
    LIST_SETTINGS,
    OPERAND_SETTINGS,
    PRESENTATION_SETTINGS,
    WORD_SETTINGS,
    build,
    completed,
    lists_of,
    merged,
    operands_of,
    presentation_of,
    words_of,
)
from tconv.corpus.facts import facts_from
from tconv.vocabulary import Attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.corpus.building import Operands
    from tconv.corpus.sweep import Axis, Sweep

T = TypeVar("T")
_SHARED = 256
"""How many combinations of labels are remembered of each part."""
_LAYOUTS = frozenset({"data_format", "filter_format"})
_DECIDING = (LIST_SETTINGS | WORD_SETTINGS | OPERAND_SETTINGS) - {"dtype", "data", "seed"}


class _Part(Generic[T]):
    """A part of a sweep's cases, made once for each combination of the labels that it depends on.

    Args:
        sweep: the sweep.
        deciding: whether the part depends on an axis.
        make: makes the part of completed settings.
    """

    def __init__(self, sweep: Sweep, deciding: Callable[[Axis], bool], make: Callable[[Mapping[str, Any]], T]) -> None:
        numbers = [number for number, axis in enumerate(sweep.axes) if deciding(axis)]
        axes = [sweep.axes[number] for number in numbers]
        # Of a single axis, itemgetter returns no tuple.
        self._labels = itemgetter(*numbers, *numbers[:1]) if numbers else lambda _: ()

        @lru_cache(maxsize=_SHARED)
        def made(labels: tuple[int, ...]) -> T:
            layers = (axis.layers[label] for axis, label in zip(axes, labels, strict=False))
            return make(completed(merged(sweep.layer, *layers)))

        self._made = made

    def __call__(self, row: Sequence[int]) -> T:
        """Return the part of the case in a row."""
        return self._made(self._labels(row))


class Expansion:
    """What makes the cases of a sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._lists = _Part(sweep, partial(_sets, LIST_SETTINGS), lists_of)
        self._words = _Part(sweep, partial(_sets, WORD_SETTINGS), words_of)
        self._operands = _Part(sweep, partial(_sets, OPERAND_SETTINGS), operands_of)
        self._presentation = _Part(sweep, partial(_sets, frozenset(PRESENTATION_SETTINGS)), presentation_of)
        self._fields: dict[str, Any] = {"smoke": sweep.smoke, "about": sweep.about, "cites": sweep.cites}
        # A case is possible or not whatever its data, its element type and its layouts, as long as they are known.
        self._refuse_impossible = _Part(sweep, _decides, _refuse_impossible)

    def case(self, row: Sequence[int]) -> Case:
        """Return the case in a row.

        Raises:
            ImpossibleCase: its settings make no case.
        """
        self._refuse_impossible(row)
        attributes, operands = Attributes(**self._lists(row), **self._words(row)), self._operands(row)
        x, w, b = operands
        return Case(
            self._sweep.case_id(row),
            attributes,
            x,
            w,
            b,
            **self._presentation(row),
            **self._fields,
            facts=Facts(partial(self._facts, row, attributes, operands)),
        )

    def _facts(self, row: Sequence[int], attributes: Attributes, operands: Operands) -> dict[str, str]:
        axes = self._sweep.axes
        layers = (axis.layers[label] for axis, label in zip(axes, row, strict=True))
        settings = completed(merged(self._sweep.layer, *layers))
        return facts_from(settings, attributes, operands, self._sweep.labels(row))


def _sets(settings: frozenset[str], axis: Axis) -> bool:
    """Return whether an axis sets any of these settings."""
    return any(not settings.isdisjoint(layer) for layer in axis.layers)


def _refuse_impossible(settings: Mapping[str, Any]) -> None:
    """Raise ImpossibleCase where settings make no case."""
    build("", settings, {})


def _decides(axis: Axis) -> bool:
    """Return whether an axis decides which cases are possible; of layouts, only an unknown word does."""
    return any(
        key in _DECIDING and not (key in _LAYOUTS and not isinstance(value, dict))
        for layer in axis.layers
        for key, value in layer.items()
    )

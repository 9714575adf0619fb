"""The cases of a sweep's rows.

The parts of a case depend on few axes each: operands not on the pads, attributes not on the data. So a part is made
once for each combination of the labels that it depends on, and cases share it; a case costs what its own object does.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, partial
from operator import getitem, itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tconv.cases.case import Case, Facts
from tconv.corpus.building import (
    COPIED_SETTINGS,
    DEFAULTS,
    DERIVING_SETTINGS,
    LIST_SETTINGS,
    OPERAND_SETTINGS,
    WORD_SETTINGS,
    attributes_of,
    completed,
    copied_of,
    lists_of,
    merged,
    operands_of,
    refuse_impossible,
    words_of,
)
from tconv.corpus.facts import DERIVED, derived_of, empty_of, source_of, texts_of
from tconv.vocabulary import Attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import FactsPart
    from tconv.corpus.building import Operands
    from tconv.corpus.sweep import Sweep

T = TypeVar("T")
_SHARED = 256
"""How many combinations of labels are remembered of each part."""
_LAYOUTS = frozenset({"data_format", "filter_format"})


class _Part(Generic[T]):
    """A part of a sweep's cases, made once for each combination of the labels that it depends on.

    Args:
        sweep: the sweep.
        settings: what the part depends on.
        make: makes the part of completed settings.
    """

    def __init__(self, sweep: Sweep, settings: frozenset[str], make: Callable[[Mapping[str, Any]], T]) -> None:
        numbers = _axes(sweep, settings)
        axes = [sweep.axes[number] for number in numbers]
        self._labels = _labels(numbers)

        @lru_cache(maxsize=_SHARED)
        def made(labels: tuple[int, ...]) -> T:
            layers = (axis.layers[label] for axis, label in zip(axes, labels, strict=False))
            return make(completed(merged(sweep.layer, *layers)))

        self._made = made

    def __call__(self, row: Sequence[int]) -> T:
        """Return the part of the case in a row."""
        return self._made(self._labels(row))


def _axes(sweep: Sweep, settings: frozenset[str]) -> list[int]:
    """Return the numbers of the axes that decide some of these settings."""
    deciding = (any(not settings.isdisjoint(layer) for layer in axis.layers) for axis in sweep.axes)
    return [number for number, decides in enumerate(deciding) if decides]


def _labels(axes: Sequence[int]) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """Return what takes the labels of these axes from a row; that of the first comes again at the end."""
    # Of a single axis, itemgetter returns no tuple.
    return itemgetter(*axes, *axes[:1]) if axes else lambda _: ()


class Expansion:
    """What makes the cases of a sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._lists = _Part(sweep, LIST_SETTINGS, lists_of)
        self._words = _Part(sweep, WORD_SETTINGS, words_of)
        self._operands = _Part(sweep, OPERAND_SETTINGS, operands_of)
        self._copied = _Part(sweep, frozenset(COPIED_SETTINGS), copied_of)
        self._fields: dict[str, Any] = {"about": sweep.about, "cites": sweep.cites}
        self._derived = _Part(sweep, DERIVING_SETTINGS, lambda settings: derived_of(settings, attributes_of(settings)))
        self._source = _Part(sweep, frozenset({"bias_source", "filter_source"}), source_of)
        self._deciding = _labels(_axes(sweep, _deciding(sweep)))
        self._possible: set[tuple[int, ...]] = set()

    def case(self, row: Sequence[int]) -> Case:
        """Return the case in a row.

        Raises:
            ImpossibleCase: its settings make no case.
        """
        attributes, operands = Attributes(**self._lists(row), **self._words(row)), self._operands(row)
        x, w, b = operands
        case = Case(
            self._sweep.case_id(row),
            attributes,
            x,
            w,
            b,
            **self._copied(row),
            **self._fields,
            facts=Facts(partial(self._facts, row, operands)),
        )
        if (deciding := self._deciding(row)) not in self._possible:
            refuse_impossible(case)
            if len(self._possible) == _SHARED:
                self._possible.clear()
            self._possible.add(deciding)
        return case

    def _facts(self, row: Sequence[int], operands: Operands) -> tuple[FactsPart, ...]:
        return (
            self._shared_texts,
            *map(getitem, self._texts, row),
            self._source(row),
            self._derived(row),
            empty_of(operands),
            *(texts[row[number]] for number, texts in self._apart.items()),
        )

    @cached_property
    def _shared_texts(self) -> FactsPart:
        """The facts that the settings of all cases are."""
        return {**texts_of(DEFAULTS), **_texts(self._sweep.layer)}

    @cached_property
    def _texts(self) -> list[list[FactsPart]]:
        """The facts that the settings of each label of each axis are; the label stands for that of its axis' name."""
        return [
            [
                {key: label if key == axis.name else text for key, text in _texts(layer).items()}
                for label, layer in zip(axis.labels, axis.layers, strict=True)
            ]
            for axis in self._sweep.axes
        ]

    @cached_property
    def _apart(self) -> dict[int, list[FactsPart]]:
        """The labels that are facts of their own, by the number of the axis: no setting of it alone has its name."""
        axes, keys = self._sweep.axes, [[set(texts) for texts in of_labels] for of_labels in self._texts]
        return {
            number: [{axis.name: label} for label in axis.labels]
            for number, axis in enumerate(axes)
            if axis.name in DERIVED
            or not all(axis.name in of_label for of_label in keys[number])
            or any(axis.name in of_label for of_axis in keys[number + 1 :] for of_label in of_axis)
        }


def _texts(layer: Mapping[str, Any]) -> FactsPart:
    """Return the facts that settings are; what takes an earlier value back brings the default, where there is one."""
    return texts_of({key: DEFAULTS.get(key) if value is None else value for key, value in layer.items()})


def _deciding(sweep: Sweep) -> frozenset[str]:
    """Return the settings that decide which cases are possible: not data and element type, nor layouts that are known.

    A layout that is not known is written as a mapping; what overrides it, wherever that is, decides too.
    """
    layers = [sweep.layer, *(layer for axis in sweep.axes for layer in axis.layers)]
    unknown = {name for layer in layers for name in _LAYOUTS if isinstance(layer.get(name), dict)}
    settings = LIST_SETTINGS | WORD_SETTINGS | OPERAND_SETTINGS | {"bias_source"}
    return settings - {"dtype", "data", "seed"} - (_LAYOUTS - unknown)

"""A sweep: the product of its axes without the skipped combinations; a row of label numbers for each case."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from tconv.cases.patterns import label
from tconv.corpus.building import ImpossibleCase, merged
from tconv.corpus.case_file import Settings
from tconv.corpus.expansion import Expansion
from tconv.documents.document import error_at
from tconv.errors import FileError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Case, Cite
    from tconv.corpus import case_file
    from tconv.documents.document import Document
    from tconv.vocabulary import Mask

LARGEST_SWEEP = 500_000
"""Combinations; more are refused before any is made."""
MOST_AXES = 32
"""An array of numpy may have at most 64 dimensions."""

Rows = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its name, its labels, and the settings of each label."""

    name: str
    labels: tuple[str, ...]
    layers: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """What a sweep leaves out: label numbers by axis, and why."""

    when: Mapping[int, frozenset[int]]
    because: str

    def covers(self, rows: Rows) -> Mask:
        """Return which rows it leaves out."""
        mask = np.ones(len(rows), dtype=bool)
        for axis, indices in self.when.items():
            mask &= np.isin(rows[:, axis], list(indices))
        return mask


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep of a case file.

    Attributes:
        id: the path of all its cases, without labels.
        axes: in the order of the file; the first varies slowest.
        skips: what is left out.
        layer: the settings that all of its cases share.
        place: the file and the location in it, for messages.
    """

    id: str
    about: str
    cites: tuple[Cite, ...]
    axes: tuple[Axis, ...]
    skips: tuple[Skipped, ...]
    layer: Mapping[str, Any]
    smoke: bool
    document: Document
    place: tuple[str | int, ...]

    @property
    def radix(self) -> tuple[int, ...]:
        """The number of labels of each axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    @cached_property
    def _texts(self) -> list[list[str]]:
        """What an id has of each label of each axis."""
        return [[f"{axis.name}={text}" for text in axis.labels] for axis in self.axes]

    @cached_property
    def _expansion(self) -> Expansion:
        return Expansion(self)

    @property
    def digest(self) -> str:
        """A digest of everything that decides which rows there are and which dialects can express them."""
        words = [self.layer, [[axis.name, axis.labels, axis.layers] for axis in self.axes]]
        skips = [[sorted((axis, sorted(labels)) for axis, labels in skip.when.items())] for skip in self.skips]
        return blake2b(json.dumps([words, skips], default=str).encode(), digest_size=16).hexdigest()

    def product(self) -> Rows:
        """Return all combinations, (n, axes), skipped ones included."""
        grid = np.indices(self.radix, dtype=np.int32)
        return grid.reshape(len(self.radix), -1).T

    def rows(self) -> Rows:
        """Return the combinations that are cases, (n, axes)."""
        rows = self.product()
        mask = np.ones(len(rows), dtype=bool)
        for skip in self.skips:
            mask &= ~skip.covers(rows)
        return rows[mask]

    def row(self, labels: Mapping[str, str]) -> Rows | None:
        """Return the row, (1, axes), of these labels, or None where they are not a case of this sweep."""
        if set(labels) != {axis.name for axis in self.axes}:
            return None
        if any(labels[axis.name] not in axis.labels for axis in self.axes):
            return None
        row = np.array([[axis.labels.index(labels[axis.name]) for axis in self.axes]], dtype=np.int32)
        return None if any(skip.covers(row)[0] for skip in self.skips) else row

    def labels(self, row: Sequence[int]) -> dict[str, str]:
        """Return the labels of a row by axis."""
        return {axis.name: axis.labels[i] for axis, i in zip(self.axes, row, strict=True)}

    def case_id(self, row: Sequence[int]) -> str:
        """Return the id of the case in a row."""
        return f"{self.id}[{','.join(texts[i] for texts, i in zip(self._texts, row, strict=True))}]"

    def case(self, row: Sequence[int]) -> Case:
        """Return the case in a row.

        Raises:
            FileError: its settings make no case.
        """
        try:
            return self._expansion.case(row)
        except ImpossibleCase as error:
            what = f"{error} in {self.case_id(row)}; skip it or correct it"
            raise error_at(self.document, self.place, what) from None


def read_sweep(
    model: case_file.Sweep, path: str, base: Settings, cites: tuple[Cite, ...], document: Document, index: int
) -> Sweep:
    """Return the sweep that a file's model describes.

    Raises:
        FileError: an axis or a skip is not as it must be, or nothing is left.
    """
    place = ("sweeps", index)
    if (count := len(model.axes)) > MOST_AXES:
        raise error_at(
            document, (*place, "axes"), f"a sweep must have at most {MOST_AXES} axes (got {count}); split it", key=True
        )
    axes = tuple(_axis(name, values, document, (*place, "axes", name)) for name, values in model.axes.items())
    if (size := prod(len(axis.labels) for axis in axes)) > LARGEST_SWEEP:
        raise error_at(
            document,
            (*place, "axes"),
            f"a sweep must have at most {LARGEST_SWEEP} combinations (got {size}); split it",
            key=True,
        )
    skips = tuple(
        _skip(skip, axes, document, (*place, "skip", number, "when")) for number, skip in enumerate(model.skip)
    )
    layer = merged(base.written(), model.with_.written())
    sweep = Sweep(f"{path}/{model.name}", model.about, cites, axes, skips, layer, model.smoke, document, place)
    if not len(sweep.rows()):
        raise error_at(document, (*place, "skip"), "a sweep must have a case left (got none); skip less", key=True)
    return sweep


def _axis(name: str, values: list[Any] | dict[str, Settings], document: Document, place: tuple[str | int, ...]) -> Axis:
    if isinstance(values, dict):
        if not _NAME.fullmatch(name):
            message = f"an axis must have a name of letters, digits, '_', '.', '+' and '-' (got {name!r}); rename it"
            raise error_at(document, place, message, key=True)
        return Axis(name, tuple(values), tuple(settings.written() for settings in values.values()))
    if name not in Settings.model_fields:
        raise error_at(
            document,
            place,
            f"an axis with a list must be an attribute or a size (got {name!r}){nearest(name, Settings.model_fields)}"
            "; give a mapping of labels to settings otherwise",
            key=True,
        )
    layers = tuple(_setting(name, value, document, (*place, number)) for number, value in enumerate(values))
    labels = tuple(label(value.get("raw", value) if isinstance(value, dict) else value) for value in values)
    seen: set[str] = set()
    for number, text in enumerate(labels):
        if text in seen:
            raise error_at(document, (*place, number), f"the values of an axis must differ (got {text!r} again)")
        if not _LABEL.fullmatch(text):
            message = f"an axis must have values that an id can hold (got {text!r}); give a mapping of labels instead"
            raise error_at(document, (*place, number), message)
        seen.add(text)
    return Axis(name, labels, layers)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_LABEL = re.compile(r"[^\s\x00-\x1f\x7f\[\]{},=|]+")
"""What may stand in an id, a pattern and a line of output; the braces of an operand's mapping may not."""


def _setting(name: str, value: Any, document: Document, place: tuple[str | int, ...]) -> dict[str, Any]:  # noqa: ANN401
    try:
        return Settings.model_validate({name: value}).written()
    except ValidationError as error:
        raise _wrong_value(error, name, value, document, place) from None


def _wrong_value(
    error: ValidationError, name: str, value: object, document: Document, place: tuple[str | int, ...]
) -> FileError:
    expected = [str(detail.get("ctx", {}).get("expected", "")) for detail in error.errors()]
    choices = {text for words in expected for text in words.split("'")[1::2]}
    hint = f" one of {', '.join(sorted(choices))}" if choices else f" a value of {name}"
    return error_at(document, place, f"must be{hint} (got {value!r}){nearest(str(value), choices)}")


def _skip(skip: case_file.Skip, axes: tuple[Axis, ...], document: Document, place: tuple[str | int, ...]) -> Skipped:
    names = [axis.name for axis in axes]
    when: dict[int, frozenset[int]] = {}
    for name, value in skip.when.items():
        if name not in names:
            raise error_at(
                document, (*place, name), f"must be an axis of the sweep (got {name!r}){nearest(name, names)}", key=True
            )
        axis = axes[names.index(name)]
        texts = [label(entry) for entry in (value if isinstance(value, list) else [value])]
        for text in texts:
            if text not in axis.labels:
                raise error_at(
                    document,
                    (*place, name),
                    f"must be one of {', '.join(axis.labels)} (got {text!r}){nearest(text, axis.labels)}",
                )
        when[names.index(name)] = frozenset(axis.labels.index(text) for text in texts)
    return Skipped(when, skip.because)

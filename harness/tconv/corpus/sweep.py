"""A sweep: the product of its axes without the skipped combinations; each case is a row of label numbers.

The product of a sweep with a `cover` is too large. Every combination is a case that can be run by its id, but the rows
are few: they have every pair of labels and some triples.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.context import PREFIX
from tconv.cases.patterns import facts_of, path_of
from tconv.corpus.building import ImpossibleCase, build, hint_default_spatial
from tconv.corpus.case_file import merge_settings
from tconv.corpus.covering import Cover, cover_axes
from tconv.corpus.facts import DERIVED
from tconv.documents import place_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Case, Cite
    from tconv.cases.patterns import Pattern
    from tconv.documents import Document
    from tconv.vocabulary import Mask, Tier

_BLOCK = 8192
"""Rows that are made together."""
Rows = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its name, its labels, and the settings of each label."""

    name: str
    labels: tuple[str, ...]
    layers: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Combinations that a sweep leaves out: label numbers by axis, and the reason."""

    when: Mapping[int, frozenset[int]]
    because: str

    def covers(self, rows: Rows) -> Mask:
        """Return which rows are left out."""
        mask = np.ones(len(rows), dtype=bool)
        for axis, indices in self.when.items():
            mask &= np.isin(rows[:, axis], list(indices))
        return mask


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep of a case file.

    Attributes:
        id: the path of all its cases, without labels.
        about: what it tests.
        cites: the clauses that it tests.
        axes: in the order of the file; the first varies slowest.
        skips: the combinations that are left out.
        layer: the settings that all of its cases share.
        tier: the smallest tier with all of its cases; None if smaller tiers have some of them.
        cover: the tuples of its few rows; None if the rows are all combinations.
        document: the file, for messages.
        place: the keys and indices of the sweep in the file.
    """

    id: str
    about: str
    cites: tuple[Cite, ...]
    axes: tuple[Axis, ...]
    skips: tuple[Skipped, ...]
    layer: Mapping[str, Any]
    tier: Tier | None
    cover: Cover | None
    document: Document
    place: tuple[str | int, ...]

    @property
    def exhaustive(self) -> bool:
        """Whether its cases are in the exhaustive tier alone; then they are never in memory together."""
        return self.tier == "exhaustive"

    @property
    def is_selected(self) -> bool:
        """Whether `tiers.json` stores chosen rows of it."""
        return self.tier is None or self.cover is not None

    @property
    def radix(self) -> tuple[int, ...]:
        """The number of labels of each axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    @cached_property
    def _texts(self) -> list[list[str]]:
        """The text of each label of each axis in an id."""
        return [[f"{axis.name}={text}" for text in axis.labels] for axis in self.axes]

    @property
    def digest(self) -> str:
        """A digest of all that decides which rows exist and which dialects can express them."""
        words = [self.layer, [[axis.name, axis.labels, axis.layers] for axis in self.axes]]
        skips = [[sorted((axis, sorted(labels)) for axis, labels in skip.when.items())] for skip in self.skips]
        cover = [] if self.cover is None else [str(self.cover)]
        return blake2b(json.dumps([words, skips, *cover], default=str).encode(), digest_size=16).hexdigest()

    def combinations(self) -> Iterator[Rows]:
        """Yield all combinations in blocks, (n, axes), including skipped ones: a sweep may have millions."""
        size = prod(self.radix)
        for start in range(0, size, _BLOCK):
            yield self.numbered(np.arange(start, min(start + _BLOCK, size)))

    def rows(self) -> Rows:
        """Return the combinations that are cases, (n, axes); with a cover, its few rows."""
        return np.concatenate(list(self.blocks())) if self.cover is None else self._covering

    def blocks(self) -> Iterator[Rows]:
        """Yield these combinations in blocks, (n, axes)."""
        if self.cover is not None:
            return iter([self._covering])
        return filter(len, map(self._without_skipped, self.combinations()))

    def sample(self, count: int) -> Rows:
        """Return about `count` of the combinations that are cases, (n, axes), the same every time."""
        size = prod(self.radix)
        chosen = np.random.default_rng(int(self.digest, 16)).choice(size, min(count, size), replace=False)
        return self._without_skipped(self.numbered(np.sort(chosen)))

    @cached_property
    def _covering(self) -> Rows:
        """The plain twins, then the rows of the cover."""
        assert self.cover is not None  # noqa: S101 - only a sweep with a cover asks for it
        plain = [1 if axis.name.startswith(PREFIX) else len(axis.labels) for axis in self.axes]
        twins = [row for row in np.ndindex(*plain) if self.row_is_case(row)]
        return cover_axes(self.radix, self.cover, self.row_is_case, int(self.digest, 16), twins)

    def row_is_case(self, row: Sequence[int]) -> bool:
        """Return whether a row is not left out."""
        # numpy takes twenty times as long for a single row, and a cover asks for a hundred thousand.
        return not any(all(row[axis] in labels for axis, labels in skip.when.items()) for skip in self.skips)

    def _skipped(self, rows: Rows) -> Mask:
        mask = np.zeros(len(rows), dtype=bool)
        for skip in self.skips:
            mask |= skip.covers(rows)
        return mask

    def numbers(self, rows: Rows) -> list[int]:
        """Return the numbers of combinations; the first axis varies slowest."""
        return [int(number) for number in np.ravel_multi_index(tuple(rows.T.astype(np.int64)), self.radix)]

    def numbered(self, numbers: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]]) -> Rows:
        """Return the combinations of these numbers; the first axis varies slowest."""
        return np.stack(np.unravel_index(np.asarray(numbers, np.int64), self.radix), axis=1).astype(np.int32)

    def _without_skipped(self, rows: Rows) -> Rows:
        return rows[~self._skipped(rows)]

    def row(self, labels: Mapping[str, str]) -> list[int] | None:
        """Return the row of these labels; None if they are not a case of this sweep."""
        if self.cover is not None:
            # An id must leave out neutral levels, so that each case has one id.
            neutral = {axis.name: axis.labels[0] for axis in self.axes if axis.name.startswith(PREFIX)}
            if any(labels.get(name) == text for name, text in neutral.items()):
                return None
            labels = neutral | dict(labels)
        names = {axis.name for axis in self.axes}
        if set(labels) != names or any(labels[axis.name] not in axis.labels for axis in self.axes):
            return None
        row = [axis.labels.index(labels[axis.name]) for axis in self.axes]
        return row if self.row_is_case(row) else None

    def named_row(self, text: str) -> list[int] | None:
        """Return the row of the case with this id, if the sweep has a cover; None if there is none.

        Such an id leaves out neutral levels. As a pattern, it would also match cases with other levels.
        """
        row = None if self.cover is None or path_of(text) != self.id else self.row(facts_of(text))
        return row if row is not None and self.case_id(row) == text else None

    def case_id(self, row: Sequence[int]) -> str:
        """Return the id of the case in a row; with a cover, neutral levels of a context are left out."""
        labels = [
            texts[label]
            for axis, texts, label in zip(self.axes, self._texts, row, strict=True)
            if label or self.cover is None or not axis.name.startswith(PREFIX)
        ]
        return f"{self.id}[{','.join(labels)}]"

    def matching(self, pattern: Pattern, rows: Rows) -> Mask:
        """Return which rows match the conditions of a pattern.

        A fact is the same for all rows, unless it depends on an axis or on several settings.
        """
        mask, names = np.ones(len(rows), dtype=bool), [axis.name for axis in self.axes]
        # The cheapest conditions come first: those on axes need no case.
        for name, allowed in sorted(pattern.conditions.items(), key=lambda condition: condition[0] not in names):
            if name in names:
                number = names.index(name)
                labels = self.axes[number].labels
                mask &= np.isin(rows[:, number], [n for n, text in enumerate(labels) if text in allowed])
                continue
            numbers = np.flatnonzero(mask)
            varies = name in DERIVED or any(name in layer for axis in self.axes for layer in axis.layers)
            asked = rows[numbers if varies else numbers[:1]].tolist()
            mask[numbers] = [self.case(row).facts.get(name) in allowed for row in asked]
        return mask

    def case(self, row: Sequence[int]) -> Case:
        """Return the case in a row.

        Raises:
            FileError: its settings make no case.
        """
        layers = self.layer, *(axis.layers[label] for axis, label in zip(self.axes, row, strict=True))
        case_id = self.case_id(row)
        try:
            return build(case_id, *layers, about=self.about, cites=self.cites)
        except ImpossibleCase as error:
            hint = hint_default_spatial(merge_settings(*layers), str(error))
            raise place_error(self.document, self.place, f"{error} in {case_id}{hint}; skip it or correct it") from None

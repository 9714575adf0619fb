"""Columns of rows that share parts: what thousands of rows have in common is looked at once."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, count, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.cases.case import Facts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tconv.vocabulary import Array

    Parts = tuple[Mapping[str, Any], ...]


class Column(NamedTuple):
    """A column of rows.

    Attributes:
        values: what parts of rows have in it, the first of them None; a value may be there several times.
        places: for each row, (rows,), which of the values it has; 0 where no part of it has one.
    """

    values: list[Any]
    places: Array


def columns(rows: Sequence[Parts], names: Collection[str] | None = None) -> dict[str, Column]:
    """Return the columns of rows, by name.

    Args:
        rows: each is the union of its parts; a later part replaces what an earlier one says. A part that several rows
            have is looked at once.
        names: the columns that are asked for; None for all.
    """
    values: defaultdict[str, list[Any]] = defaultdict(lambda: [None])
    places: defaultdict[str, Array] = defaultdict(lambda: np.zeros(len(rows), np.intp))
    for parts in zip_longest(*rows, fillvalue={}):
        ids = list(map(id, parts))
        by_id = dict(zip(ids, parts, strict=True))
        of_part, distinct = dict(zip(by_id, count(), strict=False)), list(by_id.values())
        present = dict.fromkeys(chain.from_iterable(distinct))
        if not (wanted := present if names is None else present.keys() & names):
            continue
        of_row = np.fromiter(map(of_part.__getitem__, ids), np.intp, len(rows))
        for name in wanted:
            place = np.arange(len(distinct)) + len(values[name])
            values[name] += [part.get(name) for part in distinct]
            has = np.array([name in part for part in distinct])
            places[name] = np.where(has[of_row], place[of_row], places[name])
    return {name: Column(values[name], places[name]) for name in values}


def parts_of(facts: Mapping[str, str]) -> Parts:
    """Return the parts of a case's facts, which other cases have too."""
    return facts.parts if isinstance(facts, Facts) else (facts,)

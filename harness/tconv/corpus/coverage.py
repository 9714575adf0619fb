"""What a tier covers: values, pairs, triples and quadruples of axis values, by dialect, and what never occurs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from tconv.corpus.covering_arrays import tuple_numbers
from tconv.corpus.tiers import expressible
from tconv.dialects import DIALECTS
from tconv.expectation.owed import Inexpressible, expectation
from tconv.vocabulary import TIERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.corpus.corpus import Corpus
    from tconv.corpus.sweep import Rows, Sweep
    from tconv.dialects import Dialect
    from tconv.vocabulary import Mask, Tier

STRENGTHS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Covered:
    """How many tuples of a strength a tier has, how many any case has, and how many the axes would give."""

    strength: int
    covered: int
    reachable: int
    conceivable: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of a sweep in a dialect.

    Attributes:
        sweep: the sweep's id.
        dialect_name: the dialect's name.
        cases: how many of the tier's cases the dialect can express.
        counts: what is covered, for each strength.
        never: values and pairs that no expressible case of the sweep has, with the reason.
    """

    sweep: str
    dialect_name: str
    cases: int
    counts: tuple[Covered, ...]
    never: tuple[tuple[str, str], ...]


def coverage(corpus: Corpus, tier: Tier) -> Iterator[Coverage]:
    """Yield the coverage of every sweep in every dialect; one of a larger tier has every tuple of its axes there."""
    for sweep in corpus.sweeps.values():
        if sweep.tier is not None and TIERS.index(sweep.tier) > TIERS.index(tier):
            continue
        rows = sweep.rows()
        chosen = _membership(rows, np.concatenate(list(corpus.tiers.blocks(sweep, tier))))
        for name, mask in expressible(sweep).items():
            yield Coverage(
                sweep.id,
                name,
                int((mask & chosen).sum()),
                tuple(_counted(rows, sweep.radix, strength, mask, chosen) for strength in STRENGTHS),
                tuple(_never(sweep, rows, mask, DIALECTS[name])),
            )


def _membership(rows: Rows, chosen: Rows) -> Mask:
    members = {row.tobytes() for row in np.ascontiguousarray(chosen)}
    return np.array([row.tobytes() in members for row in np.ascontiguousarray(rows)], dtype=bool)


def _counted(rows: Rows, radix: tuple[int, ...], strength: int, mask: Mask, chosen: Mask) -> Covered:
    if strength > len(radix):
        return Covered(strength, 0, 0, 0)
    numbers, conceivable = tuple_numbers(rows, radix, strength)
    covered, reachable = (len(np.unique(numbers[rows_of])) for rows_of in (mask & chosen, mask))
    return Covered(strength, covered, reachable, conceivable)


def _never(sweep: Sweep, rows: Rows, mask: Mask, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the values that never occur, and the pairs whose values do occur but not together."""
    if not mask.any():
        yield "every case", _reason(sweep, rows[0], dialect)
        return
    possible = rows[mask]
    absent: set[tuple[int, int]] = set()
    for axis, size in enumerate(sweep.radix):
        present = set(possible[:, axis].tolist())
        for value in set(range(size)) - present:
            absent.add((axis, value))
            yield _never_because(sweep, rows, dialect, {axis: value})
    for axes in combinations(range(len(sweep.radix)), 2):
        present_pairs = set(map(tuple, possible[:, axes].tolist()))
        for pair in product(*(range(sweep.radix[axis]) for axis in axes)):
            values = dict(zip(axes, pair, strict=True))
            if pair not in present_pairs and not absent & set(values.items()):
                yield _never_because(sweep, rows, dialect, values)


def _never_because(sweep: Sweep, rows: Rows, dialect: Dialect, values: dict[int, int]) -> tuple[str, str]:
    """Return the values in words, and why no case of the sweep has them."""
    words = ",".join(f"{sweep.axes[axis].name}={sweep.axes[axis].labels[value]}" for axis, value in values.items())
    if len(cases := _holding(rows, values)):
        return words, _reason(sweep, cases[0], dialect)
    skipped = _holding(sweep.product(), values)
    reasons = dict.fromkeys(skip.because for skip in sweep.skips if skip.covers(skipped).any())
    return words, "skipped: " + "; ".join(reasons)


def _holding(rows: Rows, values: dict[int, int]) -> Rows:
    """Return the rows that have these values, label numbers by axis."""
    return rows[np.logical_and.reduce([rows[:, axis] == value for axis, value in values.items()])]


def _reason(sweep: Sweep, row: Rows, dialect: Dialect) -> str:
    """Return why the dialect cannot express the case in a row."""
    expected = expectation(sweep.case(row.tolist()), dialect)
    if not isinstance(expected, Inexpressible):
        raise TypeError(f"{sweep.id} must be inexpressible in {dialect.name}")
    return f"{expected.violation.constraint}: {expected.violation.clause}"

"""Which values, pairs, triples and quadruples of labels the rows of a sweep cover, in each dialect.

Libraries for covering arrays build rows from axes and declared constraints. Here the rows exist already, and skips and
dialects decide which tuples are reachable. So rows of the sweep are chosen greedily, those with most new tuples first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.case import PRESENTATION
from tconv.dialects import SPOKEN
from tconv.expectation.expected import NotApplicable, can_express, expect
from tconv.vocabulary import TIERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.corpus.corpus import Corpus
    from tconv.corpus.sweep import Axis, Rows, Sweep
    from tconv.dialects import Dialect
    from tconv.vocabulary import Mask, Tier

_WITHOUT_EFFECT = {"data_format", "filter_format", *PRESENTATION} - {"bias_source", "output_shape_source", "spelling"}
"""Settings that do not decide whether a dialect can express a case."""
_CANDIDATES = 512
"""For each choice, so many random rows are compared, and so many that have the first missing tuple."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def number_tuples(rows: Rows, radix: Sequence[int], strength: int) -> tuple[Numbers, int]:
    """Return the numbers of the tuples of `strength` values in each row, and the count of all tuples.

    Returns:
        (n, combinations of axes) numbers, each in 0..count-1; and count.
    """
    chosen = list(combinations(range(len(radix)), strength))
    numbers = np.empty((len(rows), len(chosen)), dtype=np.int64)
    offset = 0
    for column, axes in enumerate(chosen):
        sizes = [radix[axis] for axis in axes]
        numbers[:, column] = offset + np.ravel_multi_index(tuple(rows[:, axis] for axis in axes), sizes)
        offset += prod(sizes)
    return numbers, offset


def cover(rows: Rows, radix: Sequence[int], strength: int, expressible: Sequence[Mask]) -> list[int]:
    """Return the numbers, ascending, of rows that together have every reachable tuple for every mask.

    Args:
        rows: (n, axes) label numbers.
        radix: the number of labels of each axis.
        strength: the number of values in a tuple; if there are no more axes than that, every row is needed.
        expressible: for each dialect, the rows that it can express. A tuple is reachable if one of these has it.
    """
    if len(radix) <= strength:
        return list(range(len(rows)))
    masks = list({mask.tobytes(): mask for mask in expressible if mask.any()}.values())
    numbers, count = number_tuples(rows, radix, strength)
    missing = np.zeros((len(masks), count), dtype=bool)
    for tuples, mask in zip(missing, masks, strict=True):
        tuples[numbers[mask].ravel()] = True
    member = np.array(masks).T
    chosen: list[int] = []
    generator = np.random.Generator(np.random.Philox(key=strength))
    while missing.any():
        candidates = _candidates(numbers, missing, member, generator)
        gain = sum(missing[m][numbers[candidates]].sum(axis=1) * member[candidates, m] for m in range(len(masks)))
        best = int(candidates[np.argmax(gain)])
        chosen.append(best)
        for m in np.flatnonzero(member[best]):
            missing[m, numbers[best]] = False
    return sorted(chosen)


def count_uncovered(
    rows: Rows, radix: Sequence[int], strength: int, expressible: Sequence[Mask], chosen: Sequence[int]
) -> int:
    """Return how many reachable tuples of a mask are in none of the chosen rows of that mask.

    Args:
        rows: (n, axes) label numbers.
        radix: the number of labels of each axis.
        strength: the number of values in a tuple; if there are fewer axes, a tuple is a whole row.
        expressible: for each dialect, the rows that it can express.
        chosen: the numbers of the chosen rows.
    """
    numbers, count = number_tuples(rows, radix, min(strength, len(radix)))
    member = np.isin(np.arange(len(rows)), chosen)
    reached, covered = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    lacking = np.zeros(count, dtype=bool)
    for mask in {mask.tobytes(): mask for mask in expressible}.values():
        reached[:], covered[:] = False, False
        reached[numbers[mask].ravel()] = True
        covered[numbers[mask & member].ravel()] = True
        lacking |= reached & ~covered
    return int(lacking.sum())


def _candidates(numbers: Numbers, missing: Mask, member: Mask, generator: np.random.Generator) -> Numbers:
    """Return the rows to choose from: some at random, and some with the first missing tuple."""
    mask, first = (int(i) for i in np.argwhere(missing)[0])
    column = int(np.searchsorted(numbers.min(axis=0), first, side="right")) - 1
    holding = np.flatnonzero((numbers[:, column] == first) & member[:, mask])
    return np.concatenate([holding[:_CANDIDATES], generator.integers(0, len(numbers), _CANDIDATES)])


STRENGTHS = (1, 2, 3, 4)
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Covered:
    """How many tuples of a strength a tier has (covered), any case has (reachable), and the axes give (conceivable)."""

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
        counts: the covered tuples, for each strength.
        never: values and pairs that no expressible case of the sweep has, with the reason.
    """

    sweep: str
    dialect_name: str
    cases: int
    counts: tuple[Covered, ...]
    never: tuple[tuple[str, str], ...]


def measure_coverage(corpus: Corpus, tier: Tier) -> Iterator[Coverage]:
    """Yield the coverage of every sweep in every dialect, without sweeps of larger tiers."""
    for sweep in corpus.sweeps.values():
        if sweep.tier is not None and TIERS.index(sweep.tier) > TIERS.index(tier):
            continue
        rows = sweep.rows()
        chosen = _membership(rows, np.concatenate(list(corpus.tiers.blocks(sweep, tier))))
        for name, mask in find_expressible_rows(sweep).items():
            yield Coverage(
                sweep.id,
                name,
                int((mask & chosen).sum()),
                tuple(
                    # A sweep with a cover promises pairs only, and triples of some axes.
                    Covered(strength, 0, 0, 0)
                    if sweep.cover and strength > _PAIR
                    else _counted(rows, sweep.radix, strength, mask, chosen)
                    for strength in STRENGTHS
                ),
                tuple(_never(sweep, rows, mask, SPOKEN[name])),
            )


def _membership(rows: Rows, chosen: Rows) -> Mask:
    members = {row.tobytes() for row in np.ascontiguousarray(chosen)}
    return np.array([row.tobytes() in members for row in np.ascontiguousarray(rows)], dtype=bool)


def _counted(rows: Rows, radix: tuple[int, ...], strength: int, mask: Mask, chosen: Mask) -> Covered:
    if strength > len(radix):
        return Covered(strength, 0, 0, 0)
    numbers, conceivable = number_tuples(rows, radix, strength)
    covered, reachable = (len(np.unique(numbers[rows_of])) for rows_of in (mask & chosen, mask))
    return Covered(strength, covered, reachable, conceivable)


def _never(sweep: Sweep, rows: Rows, mask: Mask, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the values that never occur, and the pairs of occurring values that never occur together."""
    if not mask.any():
        yield "every case", _reason(sweep, rows[0], dialect)
        return
    if sweep.cover is not None:
        # Other combinations than its few rows are cases too, by their ids.
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
    """Return the rows with these label numbers, by axis."""
    return rows[np.logical_and.reduce([rows[:, axis] == value for axis, value in values.items()])]


def _reason(sweep: Sweep, row: Rows, dialect: Dialect) -> str:
    """Return why the dialect cannot express the case in a row."""
    expected = expect(sweep.case(row.tolist()), dialect)
    if not isinstance(expected, NotApplicable):
        raise TypeError(f"{sweep.id} must not be applicable in {dialect.name}")
    return f"{expected.violation.constraint}: {expected.violation.clause}"


def find_expressible_rows(sweep: Sweep) -> dict[str, Mask]:
    """Return, by dialect name, which rows of the sweep the dialect can express, of those that a backend speaks."""
    rows = sweep.rows()
    # Without the axes of presentation, which decide nothing here, a quarter of the work is left.
    deciding = [number for number, axis in enumerate(sweep.axes) if not _is_presentation(axis)]
    _, first, inverse = np.unique(rows[:, deciding], axis=0, return_index=True, return_inverse=True)
    cases = [sweep.case(row) for row in rows[first].tolist()]
    return {
        name: np.array([can_express(case, dialect) for case in cases])[inverse.ravel()]
        for name, dialect in SPOKEN.items()
    }


def _is_presentation(axis: Axis) -> bool:
    """Return whether an axis sets presentation alone. An unknown word (`raw`) decides what can be expressed."""
    return all(
        key in _WITHOUT_EFFECT and not isinstance(value, dict) for layer in axis.layers for key, value in layer.items()
    )

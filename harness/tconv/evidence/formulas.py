"""The simplest integer formula that gives some numbers, by exhaustive search in the order of length.

A formula is a sum of terms, each added or subtracted, perhaps halved, and perhaps at least 0. It is found on some rows
and then checked on all of them. It must be exact on each row: there are no least squares here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.vocabulary import Array

_MOST_TERMS = 4
"""The most terms of a sum that is tried. A longer sum is found only if it is one of the usual formulas."""
_MOST_COVERING = 3
"""The most terms if some rows are exceptions: a longer sum may fit a sample of the rows by chance."""
_TRIED = 20
"""Rows on which all sums are tried; sums that fit are then checked on all rows."""
_SAMPLES = 8
"""The samples of rows that are tried if no formula gives all rows."""
_SAMPLE = 10
"""The rows of a sample."""


class Form(Enum):
    """The form of a sum: its text, its cost in length, its function, and the other term of `min` or `max`."""

    PLAIN = "{}", 0, lambda sums, _: sums
    AT_LEAST_0 = "max(0, {})", 3, lambda sums, _: np.maximum(sums, 0)
    AT_MOST_SHAPE = "min(output_shape, {})", 3, np.minimum, "output_shape"
    AT_MOST_INPUT = "min(X*s, {})", 3, np.minimum, "X*s"
    AT_MOST_ADDED = "min(X*s + op, {})", 3, np.minimum, "X*s + op"
    HALF_DOWN = "floor(({}) / 2)", 2, lambda sums, _: sums // 2
    HALF_UP = "ceil(({}) / 2)", 2, lambda sums, _: -(-sums // 2)
    HALF_TO_0 = "trunc(({}) / 2)", 3, lambda sums, _: np.sign(sums) * (np.abs(sums) // 2)
    HALF_FROM_0 = "sign * ceil(|{}| / 2)", 4, lambda sums, _: np.sign(sums) * -(-np.abs(sums) // 2)
    HALF_DOWN_AT_LEAST_0 = "max(0, floor(({}) / 2))", 5, lambda sums, _: np.maximum(sums // 2, 0)
    HALF_UP_AT_LEAST_0 = "max(0, ceil(({}) / 2))", 5, lambda sums, _: np.maximum(-(-sums // 2), 0)
    AT_MOST_TAPS = "min((K-1)*d, {})", 3, np.minimum, "(K-1)*d"
    HALF_DOWN_AT_MOST_TAPS = "min((K-1)*d, floor(({}) / 2))", 5, lambda sums, k: np.minimum(sums // 2, k), "(K-1)*d"
    HALF_UP_AT_MOST_TAPS = "min((K-1)*d, ceil(({}) / 2))", 5, lambda sums, k: np.minimum(-(-sums // 2), k), "(K-1)*d"

    def __init__(self, pattern: str, length: int, compute: Callable[[Array, Array], Array], beside: str = "") -> None:
        self.pattern = pattern
        self.length = length
        self._compute = compute
        self.beside = beside

    def of(self, sums: Array, columns: Mapping[str, Array]) -> Array:
        """Return the results for sums whose last axis has the rows of the columns."""
        return self._compute(sums, columns[self.beside] if self.beside else sums)


SUMS = tuple(form for form in Form if "/" not in form.pattern and form.beside != "(K-1)*d")
"""Forms for a size: halves are for pads only."""
HALVES = tuple(form for form in Form if form.beside in {"", "(K-1)*d"})
"""Forms for a pad. In a forward convolution with padding (K-1)*d less the pad, that padding cannot be negative."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A sum of terms in a form.

    Attributes:
        terms: each with its sign, 1 or -1.
        form: the form of their sum.
    """

    terms: tuple[tuple[int, str], ...]
    form: Form = Form.PLAIN

    def __str__(self) -> str:
        # Added terms come first, and longer ones before shorter ones.
        ordered = sorted(self.terms, key=lambda term: (-term[0], -len(term[1])))
        text = "".join(f" + {name}" if sign > 0 else f" - {_subtracted(name)}" for sign, name in ordered) or " + 0"
        text = _folded(text)
        text = text[3:] if text.startswith(" + ") else f"-{text[3:]}"
        return self.form.pattern.format(text)

    def values(self, columns: Mapping[str, Array]) -> Array:
        """Return the results of the formula, one for each row of the columns."""
        start = np.zeros_like(next(iter(columns.values())))
        return self.form.of(sum((sign * columns[name] for sign, name in self.terms), start=start), columns)


def _folded(text: str) -> str:
    """Return a sum with its constants added up: a term such as the full size ends in a constant too."""
    constants = _CONSTANT.findall(text)
    if len(constants) < 2:  # noqa: PLR2004 - of one there is nothing to fold
        return text
    constant = sum(int(sign + digits) for sign, digits in constants)
    rest = _CONSTANT.sub("", text)
    return f"{rest} {'+' if constant > 0 else '-'} {abs(constant)}" if constant else rest


_CONSTANT = re.compile(r" ([+-]) (\d+)(?= |$)")


def _subtracted(name: str) -> str:
    """Return a term with parentheses if it is a sum, so that it can be subtracted."""
    return f"({name})" if " + " in name else name


@dataclass(frozen=True)
class TermColumns:
    """Columns of numbers by the names of terms, with the length of each name; equal columns are left out.

    Args:
        columns: a number for each row, by name.
        lengths: what each name costs in a formula.
    """

    columns: Mapping[str, Array]
    lengths: Mapping[str, int]

    @cached_property
    def distinct(self) -> tuple[str, ...]:
        """The names, the shortest first, without columns of zeros and without columns that a shorter name has too."""
        seen: dict[bytes, str] = {}
        for name in sorted(self.columns, key=lambda name: self.lengths[name]):
            if self.columns[name].any():
                seen.setdefault(self.columns[name].tobytes(), name)
        return tuple(seen.values())


def simplest(
    target: Array, terms: TermColumns, forms: Sequence[Form] = SUMS, most: int = _MOST_TERMS
) -> Formula | None:
    """Return the shortest formula that gives every number of `target`; None if no formula does.

    Args:
        target: the numbers, one for each row.
        terms: the columns.
        forms: the forms that are tried.
        most: the most terms of a sum.
    """
    names = terms.distinct
    if not names:
        return None if target.any() else Formula(())
    # In random order: an order that follows the corpus would show less.
    tried = np.random.default_rng(0).permutation(len(target))[:_TRIED]
    columns = np.stack([terms.columns[name] for name in names])[:, tried]
    sums = _Sums(columns, most)
    possible = [form for form in forms if not form.beside or form.beside in names]
    some = {form.beside: terms.columns[form.beside][tried] for form in possible if form.beside}
    fitting: list[tuple[int, int, Form]] = []
    for form in possible:
        at = np.arange(sums.count)
        # The first rows exclude nearly all sums that do not fit.
        for row, number in enumerate(tried):
            if not len(at):
                break
            beside = {name: column[row : row + 1] for name, column in some.items()}
            at = at[form.of(sums.of(row)[at], beside) == target[number]]
        lengths = np.abs(sums.signs(at)) @ np.array([terms.lengths[name] for name in names]) + form.length
        fitting += [(int(length), int(number), form) for length, number in zip(lengths, at, strict=True)]
    for _, number, form in sorted(fitting, key=lambda fit: fit[:2]):
        signs = sums.signs(np.array([number]))[0].tolist()
        formula = Formula(tuple((sign, name) for sign, name in zip(signs, names, strict=True) if sign), form)
        if (formula.values(terms.columns) == target).all():
            return formula
    return None


def covering(target: Array, terms: TermColumns, forms: Sequence[Form] = SUMS) -> Formula | None:
    """Return a formula that gives as many of the numbers as possible, if none gives all of them.

    If exceptions are rare, a small sample often has none. So a formula is found for each of a few samples, and checked
    on all rows.

    Args:
        target: the numbers.
        terms: the columns.
        forms: the forms that are tried.
    """
    random = np.random.default_rng(0)
    best: tuple[int, Formula] | None = None
    # Rows with zeros cannot show that a term is missing: half of the samples have rows with few zeros.
    by_zeros = np.argsort(sum(column == 0 for column in terms.columns.values()), kind="stable")
    for number in range(_SAMPLES):
        among = by_zeros[: len(target) // 2 + _SAMPLE] if number % 2 else by_zeros
        rows = random.permutation(among)[:_SAMPLE]
        sample = TermColumns({name: column[rows] for name, column in terms.columns.items()}, terms.lengths)
        formula = simplest(target[rows], sample, forms, _MOST_COVERING)
        if formula is not None:
            fits = int((formula.values(terms.columns) == target).sum())
            if best is None or fits > best[0]:
                best = fits, formula
    return best[1] if best else None


class _Sums:
    """All sums of at most `most` terms, each added or subtracted.

    Args:
        columns: the numbers of each term, (terms, rows).
        most: the largest number of terms in a sum.
    """

    def __init__(self, columns: Array, most: int) -> None:
        self._columns = columns
        self._parts = [_choices(len(columns), size) for size in range(most + 1)]
        self._known: dict[int, Array] = {}
        self._ends = np.cumsum([len(sets) * len(signs) for sets, signs in self._parts])
        self.count = int(self._ends[-1])

    def of(self, row: int) -> Array:
        """Return the sums of a row, (sums,)."""
        if row not in self._known:
            column = self._columns[:, row]
            self._known[row] = np.concatenate([(column[sets] @ signs.T).ravel() for sets, signs in self._parts])
        return self._known[row]

    def signs(self, numbers: Array) -> Array:
        """Return the sign of each term in some sums, 0 if it is left out, (sums, terms)."""
        found = np.zeros((len(numbers), len(self._columns)), dtype=np.int64)
        parts = np.searchsorted(self._ends, numbers, side="right")
        for row, (number, part) in enumerate(zip(numbers.tolist(), parts.tolist(), strict=True)):
            sets, signs = self._parts[part]
            place, choice = divmod(number - (int(self._ends[part - 1]) if part else 0), len(signs))
            found[row, sets[place]] = signs[choice]
        return found


@lru_cache(maxsize=64)
def _choices(count: int, size: int) -> tuple[Array, Array]:
    """Return all choices of `size` terms, (choices, size), and of their signs, (choices, size)."""
    sets, signs = [*combinations(range(count), size)], [*product((1, -1), repeat=size)]
    shaped = np.array(sets, dtype=np.int64).reshape(len(sets), size)
    return shaped, np.array(signs, dtype=np.int64).reshape(len(signs), size)

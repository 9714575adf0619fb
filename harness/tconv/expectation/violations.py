"""Which constraints of a dialect a signature breaks."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tconv.dialects import Absent, Stated
from tconv.dialects.constraints import CONSTRAINTS
from tconv.errors import Violation
from tconv.vocabulary import ATTRIBUTES, Attributes, DataFormat, FilterFormat, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.dialects import Dialect
    from tconv.dialects.constraint import Constraint
    from tconv.vocabulary import DType

TYPES_AND_LAYOUTS = frozenset({"one-type", "without-bf16", "without-f64", "data-format-known", "filter-format-known"})
"""The constraints of types and layouts; all others are of attributes and shapes alone."""


def violations(written: Signature, dialect: Dialect) -> Iterator[Violation]:
    """Yield the broken constraints that the dialect states or leaves open, except those of the output size."""
    yield from _unspelled(written, dialect)
    for constraint, clause in _stated_or_open(dialect):
        # Nearly all constraints hold, and each case is held against all of them.
        if constraint.predicate(written) is not None and (violation := constraint.violation(written, clause)):
            yield violation


def _unspelled(written: Signature, dialect: Dialect) -> Iterator[Violation]:
    """Yield violations by layouts of the vocabulary for which the dialect's attribute has no word."""
    for attribute, words in (
        ("data_format", dialect.spelling.data_formats),
        ("filter_format", dialect.spelling.filter_formats),
    ):
        value = getattr(written.attributes, attribute)
        if words and value in {*DataFormat, *FilterFormat} and value not in words:
            name = f"{attribute.replace('_', '-')}-known"
            clause = dialect.constraints[name].clause
            yield Violation(name, attribute, f"must be one of {', '.join(words)}", value, clause)


@lru_cache
def _stated_or_open(dialect: Dialect) -> tuple[tuple[Constraint, str], ...]:
    """Return the constraints that a dialect states or leaves open, each with the clause of its answer."""
    answers = dialect.constraints.items()
    return tuple((CONSTRAINTS[name], answer.clause) for name, answer in answers if not isinstance(answer, Absent))


def is_invalid(constraint: str, dialect: Dialect) -> bool:
    """Return whether a call that breaks a constraint is invalid: the text states it, or no value is there."""
    answer = dialect.constraints[constraint]
    return isinstance(answer, Stated) or (CONSTRAINTS[constraint].needed and not isinstance(answer, Absent))


@lru_cache(maxsize=1024)
def takes_types(
    types: tuple[DType, DType, DType | None], data_format: str | None, filter_format: str | None, dialect: Dialect
) -> bool:
    """Return whether a dialect has these types and layouts, so that none of its constraints of them is broken."""
    x, w, b = types
    written = Signature(
        Attributes(data_format=data_format, filter_format=filter_format),
        TensorType((1, 1, 1), x),
        TensorType((1, 1, 1), w),
        None if b is None else TensorType((1,), b),
    )
    return TYPES_AND_LAYOUTS.isdisjoint(violation.constraint for violation in violations(written, dialect))


def writable(attribute: str, dialect: Dialect) -> bool:
    """Return whether the dialect has a word for an attribute or an operand; without one, no call could have it."""
    words = dialect.spelling
    if attribute == "bias":
        return "b" in words.inputs
    return attribute not in ATTRIBUTES or attribute in words.attributes or attribute in words.inputs

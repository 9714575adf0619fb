"""Values that a case writes out: of its operands, and outputs that its author has worked out."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.dialects import DIALECTS
from tconv.errors import FileError, joined
from tconv.expectation.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.cases.case import Case, Expected, Operand
    from tconv.corpus.corpus import Corpus
    from tconv.vocabulary import DType

Found: TypeAlias = "tuple[str, tuple[str | int, ...]]"
"""A message, and the location inside the case that it is about."""


def refuse_contradicted(corpus: Corpus) -> None:
    """Refuse literal outputs that the reference contradicts: a backend is judged by the reference alone.

    Raises:
        FileError: there are such; all of them together.
    """
    errors = []
    for case in corpus.singles.values():
        for message, inside in _outputs(case):
            if place := corpus.place(case.id, *inside):
                errors.append(FileError(place[0], f"{case.id}: {message}", *place[1:]))
    if errors:
        raise joined(errors)


def wrong_literals(case: Case) -> Iterator[Found]:
    """Yield what is wrong with the values that a case writes out, each with its location inside the case."""
    for role in ("x", "w", "b"):
        operand: Operand | None = getattr(case, role)
        if operand is not None and operand.data == "values":
            for index, message in _unheld(operand.values, operand.dtype):
                yield message, ("with", role, "values", index)
    yield from _outputs(case)


def _outputs(case: Case) -> Iterator[Found]:
    for number, literal in enumerate(case.expected):
        place = ("expected", number)
        for index, message in _unheld(literal.values, case.x.dtype):
            yield message, (*place, "values", index)
        for name in literal.dialects:
            if contradiction := _contradiction(Problem(case, DIALECTS[name]), literal):
                yield contradiction[0], (*place, *contradiction[1])


def _unheld(values: Sequence[float], dtype: DType) -> Iterator[tuple[int, str]]:
    """Yield the index of the first literal that a type does not hold, and what must be."""
    literals = np.array(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        stored_values = literals.astype(NUMPY_TYPES[dtype]).astype(np.float64)
    for index in np.flatnonzero((stored_values != literals) & ~np.isnan(literals))[:1].tolist():
        got, stored = literals[index], stored_values[index]
        yield index, f"value [{index}] must be a number that {dtype} holds (got {got:.17g}, stored as {stored:.17g})"


def _contradiction(problem: Problem, literal: Expected) -> Found | None:
    name = problem.dialect.name
    if problem.values is None:
        owed = type(problem.expectation).__name__.lower()
        return f"expected values must be owed by {name} (got {owed})", ("dialects",)
    geometry = problem.values.primary.geometry
    if geometry.output != literal.spatial:
        message = f"spatial must be what {name} gives, {list(geometry.output)} (got {list(literal.spatial)})"
        return message, ("spatial",)
    values = problem.truth.values(geometry).ravel()
    if len(values) != len(literal.values):
        return f"values must be {len(values)} elements for {name} (got {len(literal.values)})", ("values",)
    wrong = np.flatnonzero((values != literal.values) & ~(np.isnan(values) & np.isnan(literal.values)))
    if not len(wrong):
        return None
    index = int(wrong[0])
    message = f"value [{index}] must be what the reference gives for {name}, {values[index]:g}"
    return f"{message} (got {literal.values[index]:g})", ("values", index)

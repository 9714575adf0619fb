"""The calls that a misreading would change: right answers among them contradict it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.in_context import is_changed
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.diagnosis.misreadings.misreading import PrecisionOtherwise, along_channels, apply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.diagnosis.misreadings.misreading import Misreading
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Combination
    from tconv.evidence.calls import Calls
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array, Mask

_SMALL = 2**14
"""The most elements of the operands of a call that is not large."""
_ORDINARY = {"integers", "sparse", "normal"}
"""Data whose sums are finite and not subnormal."""
_SAMPLE = 300
"""The most calls that are checked for changes by a misreading; they are chosen at even distances, without large calls.
"""


def changing(name: Combination, dialect: Dialect) -> list[Misreading]:
    """Return the misreadings of a name; none if chance decides which answers they change."""
    by_name = misreadings_by_name(dialect)
    misreadings = [by_name[part] for part in name.names if part in by_name]
    # Chance decides whether fewer bits are visible in an answer.
    return [] if any(isinstance(part.change, PrecisionOtherwise) for part in misreadings) else misreadings


def changed(misreadings: Sequence[Misreading], among: Mask, calls: Calls, most: int = _SAMPLE) -> Mask:
    """Return the calls among some that misreadings would change, (calls,).

    Args:
        misreadings: the misreadings, followed together.
        among: the calls to check, (calls,).
        calls: the calls of the run.
        most: the most calls that are checked, chosen at even distances, without large calls.
    """
    found = np.zeros_like(among)
    for number, problem in _chosen(among, calls, most):
        found[number] = changes(misreadings, problem)
    return found


def _chosen(among: Mask, calls: Calls, most: int) -> Iterator[tuple[int, Problem]]:
    problems = ((int(number), calls.problems[number]) for number in np.flatnonzero(among))
    small = [(number, of) for number, of in problems if of is not None and of.case.simplicity[1] <= _SMALL]
    yield from small[:: -(-len(small) // most) or 1]


def changes(misreadings: Sequence[Misreading], problem: Problem) -> bool:
    """Return whether misreadings together change the expected output, in a context the graph's, beyond all rounding."""
    if problem.values is None:
        return False
    if problem.case.context:
        return len(misreadings) == 1 and is_changed(misreadings[0], problem)
    misread = apply(misreadings, problem.signature, problem.dialect, problem.truth.operands)
    if misread is None:
        return False
    geometry = problem.values.primary.geometry
    # A misread stride may give an output too large for memory: a different shape is enough.
    if misread.output != geometry.output:
        return True
    expected, values = problem.truth.compute_values(geometry), misread.values(problem.case.x.dtype)
    with np.errstate(invalid="ignore"):
        return not np.allclose(values, expected, rtol=0.1, atol=0, equal_nan=True)


def gives_products(misreadings: Sequence[Misreading], problem: Problem) -> bool:
    """Return whether the output of misreadings has products: many other bugs give zeros, or the bias alone, too.

    For example, a runtime does not write the last item of a batch. If the batch has one item, the output is zero. It is
    also zero if data beyond the kernel's size are left out, and the padding crops all other products.
    """
    misread = apply(misreadings, problem.signature, problem.dialect, problem.truth.operands)
    if misread is None or problem.case.context:
        return True
    return has_products(misread.values(problem.case.x.dtype), problem)


def has_products(values: Array, problem: Problem) -> bool:
    """Return whether an output, (N, O, Y...), has more than zeros and the bias of its call."""
    # The bias of the call: twice the bias is no output of a bug that leaves products out.
    bias = problem.truth.operands.get("b", np.zeros(1))
    return bool(values.any() and (values != along_channels(bias, values.ndim)).any())


def differ(first: Sequence[Misreading], second: Sequence[Misreading], problem: Problem) -> bool:
    """Return whether two sets of misreadings give different outputs for a call, both with products."""
    dtype, operands = problem.case.x.dtype, problem.truth.operands
    one, other = (apply(each, problem.signature, problem.dialect, operands) for each in (first, second))
    if one is None or other is None or problem.case.context:
        return False
    # A misread stride may give an output too large for memory: a different shape is enough.
    if one.output != other.output:
        return True
    values = one.values(dtype), other.values(dtype)
    products = all(has_products(each, problem) for each in values)
    return products and not np.array_equal(*values, equal_nan=True)


def denied(misreadings: Sequence[Misreading], among: Mask, calls: Calls) -> Mask:
    """Return the wrong outputs that misreadings do not give although they would change them, (calls,).

    The search for misreadings has compared each output with all single ones, so an output without the name denies it.
    Several misreadings together were compared only if no single one gives the output. Zeros, infinities, NaN and
    subnormal numbers deny nothing, as they also show no name.
    """
    single = len(misreadings) == 1
    compared = calls.holding(lambda of: of.why.is_complete and (single or not of.why.explained))
    return changed(misreadings, among & compared & np.array([*map(_is_ordinary, calls.problems)], dtype=bool), calls)


def _is_ordinary(problem: Problem | None) -> bool:
    operands = () if problem is None else (problem.case.x, problem.case.w, problem.case.b)
    return bool(operands) and all(operand is None or operand.data in _ORDINARY for operand in operands)

"""Misreadings that give the output of a graph: the operator or its quanta are misread, and the rest is right."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings import misreadings_in_context
from tconv.diagnosis.misreadings.misreading import QuantaOtherwise, apply
from tconv.dialects.readings import Combination
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import Misreading
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

_NEAR = 2.0
"""The largest distance, in quanta, between the output and that of a misreading with the text's first rounding."""


def explain_in_context(problem: Problem, actual: Array) -> tuple[Combination, ...]:
    """Return the misreadings that each give the output of a case in its context.

    Args:
        problem: the problem; it expects a value.
        actual: the output, in NCX.
    """
    values = actual.astype(np.float64)
    with np.errstate(all="ignore"):
        return tuple(
            Combination((misreading.name,))
            for misreading in misreadings_in_context(problem.dialect)
            if (output := misread(misreading, problem)) is not None and _gives(output, values)
        )


def misread(misreading: Misreading, problem: Problem) -> Callable[..., Array] | None:
    """Return a function that computes the output of a misread case in its context; None if nothing changes.

    Its argument is the direction of roundings that may go either way, see `Surrounded.compute`.
    """
    if problem.surrounded is None or problem.values is None:
        return None
    geometry = problem.values.primary.geometry
    if isinstance(misreading.change, QuantaOtherwise):
        changed = misreading.change.change(problem.surrounded, geometry)
        return None if changed is None else partial(problem.surrounded.compute, geometry, **changed)
    call = apply([misreading], problem.signature, problem.dialect, problem.truth.operands)
    if call is None or call.precision is not None or call.output != geometry.output:
        # The operations behind the operator may not accept another size.
        return None
    y = call.values(DType.F32)
    return partial(problem.surrounded.compute, geometry, operate=lambda _: y)


def is_changed(misreading: Misreading, problem: Problem) -> bool:
    """Return whether a misreading gives an output in a context that the text does not allow."""
    with np.errstate(all="ignore"):
        output = misread(misreading, problem)
        if output is None or problem.values is None:
            return False
        values = problem.judged.compute_values(problem.values.primary.geometry)
        return bool((np.abs(output() - values) > _NEAR).any())


def _gives(output: Callable[..., Array], values: Array) -> bool:
    first = output()
    if first.shape != values.shape or not (np.abs(first - values) <= _NEAR).all():
        return False
    ends = np.stack([output(nudge) for nudge in (-1, 0, 1)])
    return bool(((values >= ends.min(axis=0)) & (values <= ends.max(axis=0))).all())

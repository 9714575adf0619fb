"""Misreadings that give the output of a graph: the operator or its quanta are misread, and the rest is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings import apply, misreadings_in_context
from tconv.diagnosis.misreadings.misreading import MisreadGraph, QuantaOtherwise
from tconv.dialects.readings import Combination
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.diagnosis.misreadings import Misreading
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
            if (graph := misread(misreading, problem)) is not None and _gives(graph, values)
        )


def misread(misreading: Misreading, problem: Problem) -> MisreadGraph | None:
    """Return a case in its context with a misreading; None if nothing changes, or if there is no output."""
    if problem.surrounded is None or problem.values is None:
        return None
    graph = MisreadGraph(problem.surrounded, problem.values.primary.geometry)
    if isinstance(misreading.change, QuantaOtherwise):
        return misreading.change.change(graph)
    call = apply([misreading], problem.signature, problem.dialect, problem.truth.operands)
    if call is None or call.precision is not None or call.output != graph.geometry.output:
        # The operations behind the operator may not accept another size.
        return None
    y = call.values(DType.F32)
    return MisreadGraph(graph.surrounded, graph.geometry, lambda _: y)


def is_changed(misreading: Misreading, problem: Problem) -> bool:
    """Return whether a misreading gives an output in a context that the text does not allow."""
    with np.errstate(all="ignore"):
        graph = misread(misreading, problem)
        if graph is None or problem.values is None:
            return False
        values = problem.judged.compute_values(problem.values.primary.geometry)
        return bool((np.abs(graph.compute() - values) > _NEAR).any())


def _gives(graph: MisreadGraph, values: Array) -> bool:
    first = graph.compute()
    if first.shape != values.shape or not (np.abs(first - values) <= _NEAR).all():
        return False
    ends = np.stack([graph.compute(nudge) for nudge in (-1, 0, 1)])
    return bool(((values >= ends.min(axis=0)) & (values <= ends.max(axis=0))).all())

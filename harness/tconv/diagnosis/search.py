"""The search for misreadings that give exactly a wrong output."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.description import described, related
from tconv.diagnosis.misreadings import trials
from tconv.diagnosis.misreadings.misreading import MisreadCall, along_channels, apply
from tconv.diagnosis.placement import placed
from tconv.dialects.readings import Combination
from tconv.expectation.bound import bound_errors, is_subnormal, near
from tconv.expectation.truth import Truth
from tconv.verdict.values import ComparedValues, compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.diagnosis.misreadings.misreading import Misreading
    from tconv.diagnosis.placement import Placement
    from tconv.expectation.expected import Candidate
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array, DType

UNDIAGNOSED = "undiagnosed"
"""The beginning of the description of an output if its search was not completed."""
STEPS = 2**33
"""The most steps of the search for explanations of an output, see `Truth.steps`. They are enough to compare the 2 x 64
x 256 x 256 numbers of an f16 output under 4 x 4 taps with eight misreadings. A misreading that needs more than the
remaining steps is not tried.
"""
_SMALL = 2**18
"""An output with at most so many steps is compared whole at once."""
_KNOWN = 16
"""An element whose reference is already known takes as long as so many products."""
_OF_SUBNORMALS = {"subnormal-results-are-zero", "subnormal-operands-are-zero"}
"""Misreadings that are visible in subnormal numbers."""
_EDGE = 8
"""A larger output is first compared in so many channels, and so many positions along each axis."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an output is wrong.

    Attributes:
        explained: misreadings that give exactly this output, each alone or a pair together.
        described: which elements are wrong and how, if nothing explains it.
        relation: the relation of wrong elements to the expected ones, if nothing explains them and one was found.
        placement: the placement of its values; None if the channels do not fit, or if it was not searched.
        by_others: whether it is explained only with the help of other failures.
    """

    explained: tuple[Combination, ...]
    described: str = ""
    relation: str = ""
    placement: Placement | None = None
    by_others: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the output was compared with every single misreading."""
        return bool(self.explained or self.described) and not self.described.startswith(UNDIAGNOSED)


def diagnose(problem: Problem, actual: Array, accumulator: DType, steps: int = STEPS) -> Diagnosis:
    """Return why an output differs from what a dialect expects.

    Args:
        problem: the problem; it expects a value.
        actual: the output, in NCX.
        accumulator: the type that products of f16 or bf16 are added in.
        steps: the most steps of the search: a number, not a time, so that every machine finds the same.

    Raises:
        ValueError: the problem expects no value.
    """
    wrong = _WrongOutput(problem, actual, accumulator)
    # A misreading of large operands may overflow, and one of special numbers may give NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        placement = placed(actual, problem.truth, wrong.candidate.geometry, accumulator)
        explained, untried = _search(wrong, steps)
        found = Diagnosis(tuple(explained), placement=placement)
        return found if explained else _described(wrong, found, untried)


def _search(wrong: _WrongOutput, steps: int) -> tuple[list[Combination], list[Combination]]:
    """Return the misreadings that give an output, and those that need more than the remaining steps."""
    values = wrong.problem.values
    explained: list[Combination] = []
    untried: list[Combination] = []
    disputed = [other.readings for other in values.disputed] if values else []
    for misreadings in trials(wrong.problem.dialect, disputed):
        # Several misreadings together are tried only if no single one explains the output.
        if explained and len(misreadings) > 1:
            break
        found = wrong.may_be(misreadings)
        if found is None:
            continue
        name, cost = Combination(tuple(misreading.name for misreading in misreadings)), wrong.cost(*found)
        if cost > steps:
            untried.append(name)
            continue
        steps -= cost
        if wrong.is_of(*found, misreadings):
            explained.append(name)
    return explained, untried


def _described(wrong: _WrongOutput, found: Diagnosis, untried: Sequence[Combination]) -> Diagnosis:
    """Return a diagnosis without misreadings: a description of which elements are wrong, and how."""
    actual, truth, candidate, compared = wrong.actual, wrong.problem.truth, wrong.candidate, wrong.compared
    expected, elements = truth.compute_values(candidate.geometry), compared and compared.wrong
    relation = "" if elements is None else related(actual, expected, elements, truth.operands.get("b"))
    parts = [described(actual, expected, candidate.geometry, elements, relation)]
    if candidate.readings:
        parts[0] = f"held against {Combination(candidate.readings)}, which gives this shape: {parts[0]}"
    if untried:
        large = f"{UNDIAGNOSED}, too large to be compared whole with {' or '.join(map(str, untried))}"
        parts[0] = f"{large}: {parts[0]}"
    parts.append(found.placement.differs_from(candidate.geometry) if found.placement else "")
    return replace(found, described="; ".join(filter(None, parts)), relation=relation)


def explains(misreadings: Sequence[Misreading], problem: Problem, actual: Array, accumulator: DType) -> bool:
    """Return whether misreadings that other outputs show give this output together.

    Args:
        misreadings: the misreadings.
        problem: the problem; it expects a value.
        actual: the output, in NCX.
        accumulator: the type that products of f16 or bf16 are added in.
    """
    wrong = _WrongOutput(problem, actual, accumulator)
    with np.errstate(over="ignore", invalid="ignore"):
        found = wrong.may_be(misreadings)
        return found is not None and wrong.gives(*found, actual)


@dataclass(frozen=True)
class _WrongOutput:
    """A wrong output.

    Attributes:
        problem: the problem.
        actual: the output, in NCX.
        accumulator: the type that products of f16 or bf16 are added in.
    """

    problem: Problem
    actual: Array
    accumulator: DType

    @cached_property
    def candidate(self) -> Candidate:
        """The expected output with which it is compared."""
        candidate = self.problem.held_against(self.actual.shape)
        if candidate is None:
            raise ValueError(f"a problem must expect a value to be diagnosed (got {self.problem.case.id})")
        return candidate

    @cached_property
    def compared(self) -> ComparedValues | None:
        """The comparison with the expected output; None if the shape differs."""
        truth, geometry = self.problem.truth, self.candidate.geometry
        fits = truth.shape(geometry) == self.actual.shape
        return compare(self.actual, truth, geometry, self.accumulator) if fits else None

    def may_be(self, misreadings: Sequence[Misreading]) -> tuple[MisreadCall, Truth] | None:
        """Return the misread call, if the output has its shape and, for a large output, a part of its values.

        Returns:
            The call, and the reference for its operands: the problem's own reference if the numbers are already
                computed.
        """
        misread = apply(misreadings, self.problem.signature, self.problem.dialect, self.problem.truth.operands)
        if misread is None:
            return None
        truth = self.problem.truth
        if misread.operands is not truth.operands or misread.geometry != self.candidate.geometry:
            truth = Truth(misread.operands, truth.dtype)
        if (*truth.shape(misread.geometry)[:2], *misread.output) != self.actual.shape:
            return None
        small = truth.steps(misread.geometry) <= _SMALL
        return (misread, truth) if small or self._may_have_part_of(misread, truth) else None

    def _may_have_part_of(self, misread: MisreadCall, truth: Truth) -> bool:
        """Return whether a part of the output around a wrong element is that of the misread call, or is unknown."""
        wrong = np.flatnonzero(self.compared.wrong if self.compared else np.ones(self.actual.shape))
        if misread.precision or misread.finish or not len(wrong):
            return True
        place = tuple(map(int, np.unravel_index(wrong[len(wrong) // 2], self.actual.shape)))
        index, truth, geometry = truth.part(misread.geometry, place, _EDGE)
        return self.gives(MisreadCall(geometry, truth.operands, geometry.output), truth, self.actual[index])

    def cost(self, misread: MisreadCall, truth: Truth) -> int:
        """Return the steps of a comparison between the output and that of the misread call."""
        return _KNOWN * self.actual.size if truth is self.problem.truth else truth.steps(misread.geometry)

    def is_of(self, misread: MisreadCall, truth: Truth, misreadings: Sequence[Misreading]) -> bool:
        """Return whether the output is that of the misread call, and a wrong element or another shape shows it.

        A wrong number shows it if the expected number is not subnormal and the bound is finite. If infinity or NaN is
        expected, the opposite infinity shows it. A number then also shows it, unless it is the bias, as in a sum
        without products.
        """
        geometry = misread.geometry
        gives = self.gives(misread, truth, self.actual)
        if not gives or self.compared is None:
            return gives
        actual, expected = self.actual.astype(np.float64), self.compared.expected
        bias = along_channels(self.problem.truth.operands.get("b", np.zeros(1)), actual.ndim)
        opposite = np.isinf(expected) & np.isinf(actual)
        shown = self.compared.wrong & (np.isfinite(expected) | opposite | (np.isfinite(actual) & (actual != bias)))
        if not any(misreading.name in _OF_SUBNORMALS for misreading in misreadings):
            shown &= ~is_subnormal(expected, truth.dtype)
        if misread.finish is None and shown.any() and not truth.exact(geometry):
            allowed = bound_errors(truth.compute_terms(geometry), truth.dtype, self.accumulator).allowed
            shown &= np.isfinite(allowed) | ~np.isfinite(actual)
        return bool(shown.any())

    def gives(self, misread: MisreadCall, truth: Truth, actual: Array) -> bool:
        """Return whether an output is that of the misread call: exactly for integers, within the bound for others."""
        geometry = misread.geometry
        if misread.precision is not None:
            return misread.precision.accounts(actual, truth.compute_terms(geometry), truth.dtype)
        if misread.finish is None:
            return compare(actual, truth, geometry, self.accumulator).conforms
        unfinished = truth.compute_values(geometry)
        expected = misread.finish(unfinished)
        if np.array_equal(expected, unfinished, equal_nan=True):
            return False
        allowed, values = np.zeros(1), actual.astype(np.float64)
        if not truth.exact(geometry):
            allowed = bound_errors(truth.compute_terms(geometry), truth.dtype, self.accumulator).allowed
            allowed = (misread.finish_bound or misread.finish)(allowed)
        return bool(
            ((values == expected) | near(values, expected, allowed) | (np.isnan(values) & np.isnan(expected))).all()
        )


def single_explanations(diagnoses: Mapping[str, Sequence[Combination]]) -> dict[str, Combination]:
    """Return one explanation for each case, that of most cases, so that one cause has one name.

    Args:
        diagnoses: the explanations of each case, by id.
    """
    unexplained = {case: set(names) for case, names in diagnoses.items() if names}
    chosen: dict[str, Combination] = {}
    while unexplained:
        counts = Counter(name for names in unexplained.values() for name in names)
        # Of names with equal counts the first one is used, in the order of the catalogue, as in diagnoses.
        best = max(counts.values())
        name = next(n for names in diagnoses.values() for n in names if counts[n] == best)
        chosen |= {case: name for case, names in unexplained.items() if name in names}
        unexplained = {case: names for case, names in unexplained.items() if name not in names}
    return chosen

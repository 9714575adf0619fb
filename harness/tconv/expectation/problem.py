"""A problem (benchdnn's word): a case in a dialect, with its operands, its expectation and the reference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.call import arrange_operands, express, write_signature
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.errors import UsageError
from tconv.expectation.expected import NotApplicable, Values, expect
from tconv.expectation.surroundings import surround
from tconv.expectation.truth import Truth
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.call import Call
    from tconv.cases.case import Case, Operand
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Reading
    from tconv.expectation.expected import Candidate, Expectation
    from tconv.expectation.surrounded import Surrounded
    from tconv.vocabulary import Array, Ints, Signature


_REMEMBERED = 2**16
"""The most problems that are kept: all of the tier full."""


@lru_cache(maxsize=_REMEMBERED)
def share_problem(case: Case, dialect: Dialect) -> Problem:
    """Return the problem of a case of a run; the run, the gate and the page share it."""
    return Problem(case, dialect)


@dataclass(frozen=True)
class Problem:
    """A case in a dialect; its parts are computed when they are first used.

    Attributes:
        case: the case.
        dialect: the dialect.
    """

    case: Case
    dialect: Dialect

    @cached_property
    def signature(self) -> Signature:
        """The case's signature in the dialect."""
        return write_signature(self.case, self.dialect)

    @cached_property
    def expectation(self) -> Expectation:
        """What the dialect expects."""
        return expect(self.case, self.dialect, self.signature)

    @property
    def values(self) -> Values | None:
        """The values that the dialect expects; None if it expects a refusal, or cannot express the case."""
        return self.expectation if isinstance(self.expectation, Values) else None

    @cached_property
    def call(self) -> Call:
        """The call in the dialect's words; in a context, with its graph."""
        return self.surrounded.call if self.surrounded else express(self.case, self.dialect, self.signature)

    @cached_property
    def surrounded(self) -> Surrounded | None:
        """The call in its context; None if the operator is alone."""
        if not self.case.context or self.values is None:
            return None
        output = truth_of(self.case).shape(self.values.primary.geometry)
        return surround(self.case, express(self.case, self.dialect, self.signature), output)

    @property
    def operands(self) -> Mapping[str, Array]:
        """The operands by role, x, w and perhaps b, in NCX and IOX and in their own types."""
        if self.surrounded:
            return self.surrounded.operands
        return _operands(self.case.x, self.case.w, self.case.b)[0]

    @cached_property
    def arrays(self) -> Mapping[str, Array]:
        """The operands in the call's layouts; in a context, the tensors of its graph by name."""
        if not self.surrounded:
            return arrange_operands(self.operands, self.call)
        arrays = self.surrounded.arrays
        if not self.dialect.quantised:
            return arrays
        arranged = arrange_operands({"x": arrays["X"], "w": arrays["W"]}, self.call)
        return {**arrays, "X": arranged["x"], "W": arranged["w"]}

    @cached_property
    def truth(self) -> Truth:
        """The reference for the operands."""
        return Truth(self.surrounded.operands, DType.F32) if self.surrounded else truth_of(self.case)

    @cached_property
    def judged(self) -> Truth | Surrounded:
        """The reference for the backend's output: in a context, for the output of the graph."""
        return self.surrounded or self.truth

    @property
    def output(self) -> Array | None:
        """The output under the primary reading, in the call's layout and type; None if no value is expected."""
        if self.values is None:
            return None
        exact = self.judged.compute_values(self.values.primary.geometry)
        if self.surrounded:
            array = exact.astype(np.float32 if self.judged.dtype == DType.F32 else np.dtype(self.judged.dtype))
            return from_ncx(array, self.call.data_format)
        with np.errstate(over="ignore", invalid="ignore"):
            return from_ncx(exact.astype(NUMPY_TYPES[self.call.dtype]), self.call.data_format)

    def held_against(self, shape: Ints) -> Candidate | None:
        """Return the allowed output with which one of this shape is compared: the first of this shape, or the primary.

        Args:
            shape: (N, O, Y...).

        Returns:
            The output; None if no value is expected.
        """
        if self.values is None:
            return None
        fits = (candidate for candidate in self.values.candidates if self.judged.shape(candidate.geometry) == shape)
        return next(fits, self.values.primary)

    @property
    def fed(self) -> dict[str, Array]:
        """The inputs of the model by name, in their order."""
        return self.call.feeds(self.arrays)

    @property
    def disputed_readings(self) -> list[Reading]:
        """The readings of the same text with another output."""
        readings = {reading.name: reading for reading in self.dialect.disputed}
        disputed = self.values.disputed if self.values else ()
        return [readings[name] for name in dict.fromkeys(name for other in disputed for name in other.readings)]

    def also_allowed(self) -> Iterator[str]:
        """Yield the results that the text also allows, apart from the primary reading: other readings, and refusals."""
        for reading in self.disputed_readings:
            yield f"{reading.name}: {reading.says} [{reading.cites}]"
        for refusal in self.values.refusals if self.values else ():
            yield f"a refusal: {refusal}"


def expressed(case: Case, dialect: Dialect) -> Problem:
    """Return the case in the dialect.

    Raises:
        UsageError: the dialect cannot express it.
    """
    problem = Problem(case, dialect)
    if isinstance(problem.expectation, NotApplicable):
        reason = problem.expectation.reason
        raise UsageError(f"a case must be one that {dialect.name} can say (got {case.id}: {reason})")
    return problem


def truth_of(case: Case) -> Truth:
    """Return the reference for a case's operands; it is the same for all dialects."""
    return _operands(case.x, case.w, case.b)[1]


@lru_cache(maxsize=4)
def _operands(x: Operand, w: Operand, b: Operand | None) -> tuple[Mapping[str, Array], Truth]:
    """Return operands and their reference. Neighbours in a sweep that differ only in layout share them."""
    operands = make_operands(x, w, b)
    # The reference has its own copies, because a user of the operands may write into them.
    return operands, Truth({role: array.copy() for role, array in operands.items()}, x.dtype)

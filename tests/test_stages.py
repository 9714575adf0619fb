"""Cases are prepared, asked and judged a few at a time, and each is judged as if it were one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tconv.backends import Outcome, Produced, Refused
from tconv.cases.case import Attributes, Case, Operand
from tconv.dialects import dialect_named
from tconv.execution.evaluation import Evaluator
from tconv.execution.position import Position
from tconv.execution.stages import evaluated_in_stages
from wrong_backends import ReusesItsOutput, Right

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tconv.cases.call import Call
    from tconv.vocabulary import Array

ONNX = dialect_named("onnx/ConvTranspose-22")


def cases(sizes: list[int]) -> list[Case]:
    """Return cases with such sizes of the data."""
    return [
        Case(f"a/b[{place}]", Attributes(), Operand((1, 1, size), "f32"), Operand((1, 1, 3), "f32"), None)
        for place, size in enumerate(sizes)
    ]


def test_a_backend_may_use_the_memory_of_its_output_again() -> None:
    """An answer is judged after the next is made, and is still what it was."""
    position = Position()
    evaluator = Evaluator(ReusesItsOutput(), "reuses", ONNX, None, position=position)
    records = [record for _, record in evaluated_in_stages(cases([3, 4, 5, 6]), evaluator, position)]
    assert [record.verdict.kind for record in records] == ["agreed"] * 4


class Prepared(Right):
    """Prepares calls, and says in what it computes how they were asked."""

    def prepared(self, call: Call, arrays: Mapping[str, Array]) -> Callable[[], Outcome]:
        """Compute when it is asked."""
        return lambda: super(Prepared, self).run(call, arrays)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Refuse: a stage has prepared the call."""
        return Refused(f"asked without being prepared: {call.dialect.name}, {len(arrays)} operands")


class OfAnotherRun(Prepared):
    """Derived from a backend that prepares calls, with a `run` of its own: that is what is judged."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Double the output."""
        produced = super().prepared(call, arrays)()
        return Produced(produced.array * 2) if isinstance(produced, Produced) else produced


class FailsToPrepare(Prepared):
    """Raises while it prepares."""

    def prepared(self, call: Call, arrays: Mapping[str, Array]) -> Callable[[], Outcome]:
        """Raise."""
        raise ValueError(f"no model of {len(arrays)} operands in {call.data_format}")

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Raise as well."""
        return self.prepared(call, arrays)()


@pytest.mark.parametrize(
    ("backend", "kind"), [(Prepared(), "agreed"), (OfAnotherRun(), "differed"), (FailsToPrepare(), "broke")]
)
def test_what_is_judged_is_what_the_class_of_a_backend_runs(backend: Right, kind: str) -> None:
    """A prepared call is asked as it was prepared; another `run` is not passed over; an error is the call's own."""
    asked = cases([3, 4, 5])
    evaluator = Evaluator(backend, "backend", ONNX, None)
    records = [record for _, record in evaluated_in_stages(asked, evaluator, Position())]
    assert [record.verdict.kind for record in records] == [kind] * 3

"""Cases are prepared, asked and judged a few at a time, and each is judged as if it were one."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, cast

import pytest

from tconv.backends import Outcome, Produced, Refused
from tconv.cases.case import Attributes, Case, Operand
from tconv.dialects import dialect_named
from tconv.execution.evaluation import Evaluator
from tconv.execution.position import Position
from tconv.execution.stages import evaluated_in_stages
from tconv.expectation.problem import PREPARED, SMALL, Problem
from wrong_backends import ReusesItsOutput, Right

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tconv.cases.call import Call
    from tconv.execution.call_result import CallResult
    from tconv.vocabulary import Array

ONNX = dialect_named("onnx/ConvTranspose-22")


def cases(sizes: list[int]) -> list[Case]:
    """Return cases with such sizes of the data."""
    return [
        Case(f"a/b[{place}]", Attributes(), Operand((1, 1, size), "f32"), Operand((1, 1, 3), "f32"), None)
        for place, size in enumerate(sizes)
    ]


class Noted:
    """An evaluator that does nothing, and notes what it is asked for."""

    dialect = ONNX

    def __init__(self, position: Position) -> None:
        self.notes: list[tuple[str, int | None]] = []
        self._position = position

    def _note(self, word: str) -> None:
        self.notes.append((word, self._position.at(0)))

    def prepare(self, _problem: Problem) -> None:
        """Prepare."""
        self._note("prepare")

    def ask(self, _problem: Problem) -> CallResult | None:
        """Ask."""
        self._note("ask")
        return None

    def record(self, problem: Problem, _result: CallResult | None) -> str:
        """Judge."""
        self._note("judge")
        return problem.case.id


def stages(sizes: list[int], most: int = PREPARED) -> list[tuple[str, list[int]]]:
    """Return what is done in turn: each stage, and the indices that are said to be worked at."""
    position = Position()
    noted = Noted(position)
    asked = cases(sizes)
    found = [*evaluated_in_stages(asked, cast("Evaluator", noted), position, most)]
    assert found == [(index, case.id) for index, case in enumerate(asked)]
    return list(joined(noted.notes))


def joined(notes: list[tuple[str, int | None]]) -> Iterator[tuple[str, list[int]]]:
    """Yield neighbouring notes of a stage as one."""
    last, places = "", list[int]()
    for word, at in notes:
        if word != last and places:
            yield last, places
            places = []
        last = word
        assert at is not None
        places.append(at)
    yield last, places


def test_each_stage_is_of_a_few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many are prepared at once; the worker's position says which of them is worked at."""
    monkeypatch.setattr("tconv.execution.stages._SECONDS", inf)
    in_turn = [(word, at) for at in ([0, 1], [2, 3], [4]) for word in ("prepare", "ask", "judge")]
    assert stages([3] * 5, most=2) == in_turn


def test_what_is_large_is_prepared_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operands of all that are prepared are held in memory."""
    monkeypatch.setattr("tconv.execution.stages._SECONDS", inf)
    prepared = [at for word, at in stages([3, 3, SMALL, 3, 3]) if word == "prepare"]
    assert prepared == [[0, 1], [2], [3, 4]]


def test_the_records_of_a_slow_runtime_come_as_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the answers that are there are judged, and the next is asked then."""
    monkeypatch.setattr("tconv.execution.stages._SECONDS", -1.0)
    assert stages([3, 3]) == [("prepare", [0, 1]), ("ask", [0]), ("judge", [0]), ("ask", [1]), ("judge", [1])]


def test_a_backend_may_use_the_memory_of_its_output_again() -> None:
    """An answer is judged after the next is made, and is still what it was."""
    position = Position()
    evaluator = Evaluator(ReusesItsOutput(), "reuses", ONNX, {}, None, position=position)
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
    evaluator = Evaluator(backend, "backend", ONNX, {}, None)
    records = [record for _, record in evaluated_in_stages(asked, evaluator, Position())]
    assert [record.verdict.kind for record in records] == [kind] * 3

"""A case from expectation to record, in the worker, where the arrays are."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tconv.backends import KeepsCompany, preparing
from tconv.backends import outcome as out
from tconv.cases.layouts import to_ncx
from tconv.diagnosis import UNDIAGNOSED, Diagnosis, diagnose
from tconv.execution.answer import Answer, alike, changed, checked, checked_alone, private, raised, type_of
from tconv.execution.floating_point import FloatingPoint
from tconv.execution.memory_pattern import patterned
from tconv.execution.position import Position
from tconv.expectation.bound import bound, derivation
from tconv.expectation.owed import Inexpressible
from tconv.expectation.problem import Problem
from tconv.records import artifacts
from tconv.records.record import CallSummary, Record
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tconv.backends import Backend
    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.vocabulary import DType

_TRANSFORM = "a transform algorithm, such as Winograd's or the FFT, has errors as small and as spread as these"
MOST_ARTIFACTS = 1000
"""How many artifacts a worker writes; later failures are recorded without their arrays."""


class Evaluator:
    """Runs cases on a backend in one dialect, and judges what it does with them.

    Args:
        backend: the runtime.
        name: the backend's name in records.
        dialect: the dialect that expresses the cases.
        accumulates: what the backend accumulates f16 and bf16 in.
        folder: where artifacts go, in `artifacts/`; None for nowhere.
        repeat: how often each case is run; outcomes that differ are unstable.
        position: where to say that the backend is called; a death or a silence then is the backend's.
        chosen: the backend's options that are not at their defaults, as `name=value`.
        floating_point: tconv's own state of the floating-point unit, and the runtime's.
    """

    def __init__(
        self,
        backend: Backend,
        name: str,
        dialect: Dialect,
        accumulates: Mapping[str, str],
        folder: Path | None,
        repeat: int = 1,
        position: Position | None = None,
        chosen: Sequence[str] = (),
        floating_point: FloatingPoint | None = None,
    ) -> None:
        self.dialect = dialect
        self._chosen = chosen
        self._backend = backend
        self._name = name
        self._accumulates = accumulates
        self._folder = folder
        self._repeat = repeat
        self._position = position or Position()
        self._artifacts = 0
        self._floating_point = floating_point or FloatingPoint()
        self._preparing = preparing(backend)
        # By the identity of a problem, which is held so that no other one gets it.
        self._prepared: dict[int, tuple[Problem, Callable[[], out.Outcome | out.Survived]]] = {}

    def evaluate(self, case: Case) -> Record:
        """Run and judge one case."""
        return self.evaluated(Problem(case, self.dialect))

    def evaluated(self, problem: Problem) -> Record:
        """Run and judge one problem."""
        return self.judged(problem, self.answer(problem))

    def prepare(self, problem: Problem) -> None:
        """Work out all that is needed to ask a problem."""
        if isinstance(problem.expectation, Inexpressible):
            return
        call, arrays = problem.call, problem.arrays
        if self._preparing is not None:
            # What fails here fails when the call is asked too, and is an outcome there.
            with suppress(Exception):
                self._prepared[id(problem)] = problem, self._preparing.prepared(call, private(arrays))

    def answer(self, problem: Problem) -> Answer | None:
        """Return what the backend does with a call; None where the dialect has no call for the case."""
        return None if isinstance(problem.expectation, Inexpressible) else self.ask(problem)

    def judged(self, problem: Problem, answer: Answer | None) -> Record:
        """Return the record of an answer, as `answer` returns it."""
        if answer is None:
            assert isinstance(problem.expectation, Inexpressible)  # noqa: S101 - there is no other reason not to ask
            return self._record(problem.case, ver.Inexpressible(problem.expectation.reason))
        return self.record(problem, answer, self.judge(problem, answer))

    def ask(self, problem: Problem) -> Answer:
        """Return what the backend does with a call, and whether it does it again where that is wanted."""
        answer = self._timed(problem)
        for _ in range(1, self._repeat):
            again = self._timed(problem)
            other = None if alike(answer.outcome, again.outcome) else again.outcome
            answer = Answer(answer.outcome, answer.seconds + again.seconds, other, answer.harmed or again.harmed)
            if other is not None:
                break
        return answer

    def _timed(self, problem: Problem) -> Answer:
        _, run = self._prepared.pop(id(problem), (problem, None))
        run = run or partial(self._backend.run, problem.call, private(problem.arrays))
        with patterned(wanted=problem.case.breaks is not None):
            outcome, seconds = self._called(lambda: checked_alone(run()))
        if isinstance(outcome, out.Survived):
            return Answer(outcome.outcome, seconds, harmed=outcome.cause)
        return Answer(outcome, seconds)

    def _called(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """Return what a call of the backend returns, or how it broke, and the seconds that it took."""
        process = os.getpid()
        self._position.call()
        self._floating_point.enter()
        started = perf_counter()
        try:
            outcome = call()
        except Exception as error:  # noqa: BLE001 - an exception that leaves a backend is an outcome too
            outcome = out.Broke(raised(error))
        seconds = perf_counter() - started
        self._floating_point.leave()
        if os.getpid() != process:
            # A process that the backend has started, and that returned: it is no worker.
            os._exit(0)
        self._position.answered()
        return outcome, seconds

    @property
    def keeps_company(self) -> bool:
        """Whether the backend answers several calls together."""
        return self._repeat == 1 and isinstance(self._backend, KeepsCompany)

    def ask_together(self, problems: Sequence[Problem]) -> list[Answer | None] | out.Outcome:
        """Return what the backend does with calls in company: an answer for each, or an outcome of them all."""
        assert isinstance(self._backend, KeepsCompany)  # noqa: S101 - the caller asked `keeps_company`
        backend, calls = self._backend, [problem.call for problem in problems]
        arrays = [private(problem.arrays) for problem in problems]
        outcomes, seconds = self._called(lambda: backend.run_together(calls, arrays))
        seconds /= len(problems)
        if isinstance(outcomes, out.Outcome):
            return checked(outcomes)
        got = f"{len(outcomes)} of them" if isinstance(outcomes, list | tuple) else type_of(outcomes)
        if not isinstance(outcomes, list | tuple) or len(outcomes) != len(problems):
            return out.Broke(f"must return a list with an outcome for each of {len(problems)} calls (got {got})")
        if all(outcome is None for outcome in outcomes):
            return out.Broke(f"must return an outcome for one of {len(problems)} calls at least (got None for each)")
        return [None if outcome is None else Answer(checked(outcome), seconds) for outcome in outcomes]

    def judge(self, problem: Problem, answer: Answer) -> ver.Verdict:
        """Return the verdict on an answer."""
        if answer.other is not None:
            return ver.Unstable(changed(answer.outcome, answer.other))
        return judge(problem, answer.outcome, self._accumulates)

    def record(self, problem: Problem, answer: Answer, verdict: ver.Verdict) -> Record:
        """Return the record of a verdict, with what explains it; arrays are written where they are wrong."""
        record = self._explained(problem, answer, verdict)
        return record if answer.harmed is None else replace(record, harmed=answer.harmed)

    def _explained(self, problem: Problem, answer: Answer, verdict: ver.Verdict) -> Record:
        case, call, outcome, seconds = problem.case, problem.call, answer.outcome, answer.seconds
        if isinstance(verdict, ver.Agreed | ver.Mistrusted):
            return self._record(case, verdict, seconds)
        if isinstance(verdict, ver.Unstable | ver.DiffersInCompany):
            return self._record(case, verdict, seconds, call=call)
        artifact = self._artifact(problem, outcome, verdict)
        record = self._record(case, verdict, seconds, artifact, call)
        try:
            diagnosis = self._diagnosis(problem, outcome, verdict)
        except Exception as error:  # noqa: BLE001 - the verdict is recorded even where the diagnosis fails
            diagnosis = Diagnosis((), f"{UNDIAGNOSED}, the search failed: {type(error).__name__}: {error}")
        if diagnosis is None:
            return record
        if isinstance(verdict, ver.ExceedsSummationBound):
            if not diagnosis.explained:
                return replace(record, described=_TRANSFORM)
            # A misreading that gives the output says more than the size of its errors.
            record = replace(record, verdict=verdict.differed)
        return replace(
            record,
            diagnosis=diagnosis.explained,
            described=diagnosis.described or None,
            relation=diagnosis.relation or None,
            placement=diagnosis.placement,
        )

    def _diagnosis(self, problem: Problem, outcome: out.Outcome, verdict: ver.Verdict) -> Diagnosis | None:
        """Return why an output is wrong; None where there is no wrong output to explain."""
        wrong = isinstance(verdict, ver.Differed | ver.ExceedsSummationBound | ver.WrongShape)
        if not wrong or not isinstance(outcome, out.Produced) or problem.values is None:
            return None
        if outcome.array.ndim != problem.call.rank + 2:
            return None
        return diagnose(problem, to_ncx(outcome.array, problem.call.data_format), self._accumulates)

    def _record(
        self,
        case: Case,
        verdict: ver.Verdict,
        seconds: float = 0.0,
        artifact: str | None = None,
        call: Call | None = None,
    ) -> Record:
        tolerance = None
        if isinstance(verdict, ver.Differed | ver.ExceedsSummationBound):
            tolerance = _tolerance(verdict.rule, case.x.dtype, self._accumulates)
        summary = None if call is None else _call_summary(call)
        return Record(case.id, self._name, self.dialect.name, verdict, seconds, artifact, summary, tolerance)

    def _artifact(self, problem: Problem, outcome: out.Outcome, verdict: ver.Verdict) -> str | None:
        """Write the arrays of a wrong output; return the path relative to the folder."""
        wrong = isinstance(verdict, ver.Differed | ver.ExceedsSummationBound | ver.WrongShape | ver.WrongDtype)
        if self._folder is None or not wrong or self._artifacts >= MOST_ARTIFACTS:
            return None
        if not isinstance(outcome, out.Produced):
            return None
        # An output of another rank has no layout; it is written as it is.
        has_layout = outcome.array.ndim == problem.call.rank + 2
        actual = to_ncx(outcome.array, problem.call.data_format) if has_layout else outcome.array
        if (candidate := problem.held_against(actual.shape)) is None:
            return None
        expected = problem.truth.values(candidate.geometry)
        arrays = {**problem.operands, "expected": expected, "actual": actual}
        if isinstance(verdict, ver.Differed | ver.ExceedsSummationBound) and verdict.rule == "bound":
            terms = problem.truth.terms(candidate.geometry)
            arrays["allowed"] = bound(terms, problem.truth.dtype, self._accumulates).allowed
        path = artifacts.write(self._folder, (self._name, self.dialect.name, problem.case.id, *self._chosen), arrays)
        self._artifacts += path is not None
        return path


def _call_summary(call: Call) -> CallSummary:
    """Return a call as it stands in a record."""
    attributes = {name: list(value) if isinstance(value, tuple) else value for name, value in call.attributes.items()}
    inputs = [(tensor.name, list(tensor.shape), str(tensor.dtype or "integers")) for tensor in call.inputs]
    return CallSummary(attributes, inputs, str(call.data_format), str(call.filter_format))


def _tolerance(rule: ver.Rule, dtype: DType, accumulates: Mapping[str, str]) -> str:
    if rule == "bound":
        return derivation(dtype, accumulates)
    return f"exact: integers whose absolute terms add up to at most 2^p of {dtype}, so every order gives the same bits"

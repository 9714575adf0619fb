"""Cases from expectation to record, in the worker, which has the arrays."""

from __future__ import annotations

import os
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from tconv.backends import outcome as out
from tconv.execution.accumulation import path_of, probe
from tconv.execution.again import TIMES
from tconv.execution.call import CallResult, FloatingPoint, alike, changed, checked, patterned, private
from tconv.execution.journal import Journal
from tconv.execution.recording import Recorder
from tconv.expectation.expected import NotApplicable
from tconv.expectation.problem import Problem
from tconv.records.record import Record, Sums
from tconv.shown_texts import raised
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tconv.backends import Backend
    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.accumulation import SumPath
    from tconv.vocabulary import Array


class Evaluator:
    """Runs cases on a backend in one dialect, and judges the outcomes.

    Args:
        backend: the runtime.
        name: the backend's name in records.
        dialect: the dialect that expresses the cases.
        folder: artifacts are written to its `artifacts/`; None if none are written.
        repeat: how often each case is asked; outcomes that differ are unstable.
        journal: says when the backend is called: a crash or a timeout in a call is the backend's.
        chosen: the backend's options that are not at their defaults, as `name=value`.
        floating_point: the floating-point states of tconv and of the runtime.
        contexts: whether the backend takes graphs around the operator.
        shown: the tensor of a graph that becomes a further output.

    Attributes:
        dialect: the dialect.
        again: whether these are failures that are asked again: each several times, and without artifacts.
        unprobed: the paths that are not probed, as a worker ended in the probe; they are judged as accumulated in f32.
    """

    def __init__(
        self,
        backend: Backend,
        name: str,
        dialect: Dialect,
        folder: Path | None,
        repeat: int = 1,
        journal: Journal | None = None,
        chosen: Sequence[str] = (),
        floating_point: FloatingPoint | None = None,
        *,
        contexts: bool = False,
        shown: str = "",
    ) -> None:
        self.dialect = dialect
        self.unprobed: frozenset[SumPath] = frozenset()
        self._accumulators: dict[SumPath, DType | None] = {}
        self._name = name
        self._recorder = Recorder(name, dialect.name, folder, chosen)
        self._backend = backend
        self.again = False
        self._takes_contexts, self._shown = contexts, shown
        self._repeat = repeat
        self._journal = journal or Journal()
        self._floating_point = floating_point or FloatingPoint()

    def evaluate(self, case: Case) -> Record:
        """Run and judge one case."""
        problem = Problem(case, self.dialect)
        return self.record(problem, self.ask(problem))

    def ask(self, problem: Problem) -> CallResult | None:
        """Return what the backend does with a call, asked as often as wanted; None if the call is not asked."""
        is_alone = not problem.case.context
        if isinstance(problem.expectation, NotApplicable) or not (is_alone or self._takes_contexts):
            return None
        results = [self._timed(problem)]
        for _ in range(1, max(self._repeat, TIMES if self.again else 1)):
            if isinstance(results[0].outcome, out.Crashed | out.TimedOut):
                # The backend runs the runtime in a process of its own.
                break
            results.append(self._timed(problem, filled=True))
        first, *others = (result.outcome for result in results)
        other = next((each for each in others if not alike(first, each)), None)
        settles = other is not None and len(others) > 1 and all(alike(other, each) for each in others)
        return CallResult(first, sum(result.seconds for result in results), other, settles)

    def _timed(self, problem: Problem, *, filled: bool = False) -> CallResult:
        """Call the backend; if `filled`, an output that it never writes differs from the one before."""
        call, arrays = private(problem.call, problem.arrays)
        if self._shown and call.graph is not None:
            call = replace(call, graph=replace(call.graph, also=(*call.graph.also, self._shown)))
        with patterned(wanted=filled or problem.case.breaks is not None):
            return self._called(call, arrays)

    def _called(self, call: Call, arrays: Mapping[str, Array]) -> CallResult:
        """Return what the backend returns or raises."""
        process = os.getpid()
        self._journal.call()
        self._floating_point.enter()
        started = perf_counter()
        try:
            outcome = checked(self._backend.run(call, arrays))
        except Exception as error:  # noqa: BLE001 - an exception that leaves a backend is an outcome too
            outcome = out.BackendError(raised(error))
        seconds = perf_counter() - started
        self._floating_point.leave()
        if os.getpid() != process:
            # A fork of the backend returned here: it must not go on as a worker.
            os._exit(0)
        self._journal.answered()
        return CallResult(outcome, seconds)

    def record(self, problem: Problem, result: CallResult | None) -> Record:
        """Judge what `ask` returned, and return its record; the arrays of a wrong output are written."""
        self._recorder.writes = not self.again
        if result is None:
            expected = problem.expectation
            reason = expected.reason if isinstance(expected, NotApplicable) else _ALONE
            return Record(problem.case.id, self._name, self.dialect.name, ver.NotApplicable(reason))
        if result.other is not None:
            first, others = (judge(problem, outcome, DType.F32) for outcome in (result.outcome, result.other))
            first_only = result.settles and isinstance(others, ver.Allowed) and not isinstance(first, ver.Allowed)
            verdict = ver.Unstable(changed(result.outcome, result.other), first_only)
            return self._recorder.record(problem, result, verdict)
        sums = self._sums(problem, result.outcome)
        judged = judge(problem, result.outcome, (sums and sums.accumulator) or DType.F32)
        return self._recorder.record(problem, result, judged, sums)

    def _sums(self, problem: Problem, outcome: out.Outcome) -> Sums | None:
        """Return what a probe finds about the sums of a problem; None if no bound is needed.

        The probe comes after the answer, so that it cannot change the answer.
        """
        path, values = path_of(problem.case), problem.values
        if path is None or values is None or not isinstance(outcome, out.Produced):
            return None
        if all(problem.truth.exact(candidate.geometry) for candidate in values.candidates):
            return None
        if path not in self._accumulators and path not in self.unprobed:
            with self._journal.probing():
                self._accumulators[path] = probe(path, self.dialect, lambda sums: self._timed(sums).outcome)
        return Sums(path.dtype, path.filters, path.rank, self._accumulators.get(path))


_ALONE = "the backend takes the operator alone, and no context"

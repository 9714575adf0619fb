"""A case from expectation to record, in the worker, where the arrays are."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.diagnosis import UNDIAGNOSED, Diagnosis, diagnose
from tconv.expectation.bound import derivation
from tconv.expectation.owed import Inexpressible
from tconv.expectation.problem import Problem
from tconv.records import artifacts
from tconv.records.record_file import CallSummary, Record
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tconv.backends import Backend
    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array, DType

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
    """

    def __init__(
        self,
        backend: Backend,
        name: str,
        dialect: Dialect,
        accumulates: Mapping[str, str],
        folder: Path | None,
        repeat: int = 1,
    ) -> None:
        self._backend = backend
        self._name = name
        self._dialect = dialect
        self._accumulates = accumulates
        self._folder = folder
        self._repeat = repeat
        self._artifacts = 0

    def evaluate(self, case: Case, progress: Callable[[str], None] = lambda _: None) -> Record:
        """Run and judge one case.

        Args:
            case: the case.
            progress: called with `begin` before the backend is called, and with `answered` after it: the time between
                them is the backend's, and so is a death or a silence.
        """
        problem = Problem(case, self._dialect)
        if isinstance(problem.expectation, Inexpressible):
            return self._record(case, ver.Inexpressible(problem.expectation.reason))
        call, arrays = problem.call, problem.arrays
        outcomes, seconds = [], 0.0
        for _ in range(self._repeat):
            progress("begin")
            started = perf_counter()
            outcomes.append(self._outcome(call, arrays))
            seconds += perf_counter() - started
            progress("answered")
        outcome = outcomes[0]
        if other := next((other for other in outcomes if not _alike(outcome, other)), None):
            message = f"{_described(outcome)}, and then {_described(other)}"
            return self._record(case, ver.Unstable(message), seconds, call=call)
        verdict = judge(problem, outcome, self._accumulates)
        if isinstance(verdict, ver.Agreed | ver.Mistrusted):
            return self._record(case, verdict, seconds)
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
        return replace(record, diagnosis=diagnosis.explained, described=diagnosis.described or None)

    def _diagnosis(self, problem: Problem, outcome: out.Outcome, verdict: ver.Verdict) -> Diagnosis | None:
        """Return why an output is wrong; None where there is no wrong output to explain."""
        wrong = isinstance(verdict, ver.Differed | ver.ExceedsSummationBound | ver.WrongShape)
        if not wrong or not isinstance(outcome, out.Produced) or problem.values is None:
            return None
        if outcome.array.ndim != problem.call.rank + 2:
            return None
        return diagnose(problem, to_ncx(outcome.array, problem.call.data_format), self._accumulates)

    def _outcome(self, call: Call, arrays: Mapping[str, Array]) -> out.Outcome:
        try:
            outcome = self._backend.run(call, arrays)
        except Exception as error:  # noqa: BLE001 - an exception that leaves a backend is an outcome too
            return out.Broke(f"{type(error).__name__}: {error}")
        return _checked(outcome)

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
        return Record(case.id, self._name, self._dialect.name, verdict, seconds, artifact, summary, tolerance)

    def _artifact(self, problem: Problem, outcome: out.Outcome, verdict: ver.Verdict) -> str | None:
        """Write the arrays of a wrong output; return the path relative to the folder."""
        wrong = isinstance(verdict, ver.Differed | ver.ExceedsSummationBound | ver.WrongShape | ver.WrongDtype)
        if self._folder is None or not wrong or self._artifacts >= MOST_ARTIFACTS:
            return None
        if not isinstance(outcome, out.Produced) or problem.values is None:
            return None
        # An output of another rank has no layout; it is written as it is.
        has_layout = outcome.array.ndim == problem.call.rank + 2
        actual = to_ncx(outcome.array, problem.call.data_format) if has_layout else outcome.array
        expected = problem.truth.values(problem.values.primary.geometry)
        arrays = {**problem.operands, "expected": expected, "actual": actual}
        path = artifacts.write(self._folder, (self._name, self._dialect.name, problem.case.id), arrays)
        self._artifacts += path is not None
        return path


def _checked(outcome: Any) -> out.Outcome:  # noqa: ANN401 - a backend may return anything
    """Return the outcome, or `Broke` for a value that is none: it would end the worker, or break the record file."""
    array: object = getattr(outcome, "array", None)
    match outcome:
        case out.Produced() if not isinstance(array, np.ndarray):
            return out.Broke(f"must produce an array (got {type(array).__name__})")
        case out.Produced() if not _numeric(outcome.array):
            return out.Broke(f"must produce an array of numbers (got {outcome.array.dtype})")
        case (
            out.Produced()
            | out.ShapeOnly(tuple(), str())
            | out.Refused(str())
            | out.Unsupported(str(), kind="unsupported")
            | out.Died(str(), str(), kind="died")
            | out.TimedOut(int() | float(), kind="timed-out")
            | out.Broke(str(), kind="broke")
        ):
            return outcome
        case _:
            return out.Broke(f"must return an outcome (got {outcome!r:.200})")


def _alike(first: out.Outcome, second: out.Outcome) -> bool:
    """Return whether two outcomes of a call are the same: bit for bit where they are arrays, NaN aside."""
    if isinstance(first, out.Produced) and isinstance(second, out.Produced):
        return first.array.dtype == second.array.dtype and np.array_equal(
            _values(first.array), _values(second.array), equal_nan=True
        )
    if isinstance(first, out.ShapeOnly):
        return first == second
    # Messages are not compared: the names of nodes in them may be numbered anew in each run.
    return type(first) is type(second)


def _values(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def _described(outcome: out.Outcome) -> str:
    if not isinstance(outcome, out.Produced):
        return f"{type(outcome).__name__.lower()}: {outcome}"[:_LONGEST_OUTCOME]
    first = outcome.array.ravel()[:_FIRST].tolist()
    return f"{outcome.array.dtype} {list(outcome.array.shape)} beginning with {first}"


_FIRST = 4
_LONGEST_OUTCOME = 200


def _numeric(array: Array) -> bool:
    """Return whether the elements are real numbers, those of ml_dtypes included."""
    return array.dtype.kind in "fiub" or array.dtype in NUMPY_TYPES.values()


def _call_summary(call: Call) -> CallSummary:
    """Return a call as it stands in a record."""
    attributes = {name: list(value) if isinstance(value, tuple) else value for name, value in call.attributes.items()}
    inputs = [(tensor.name, list(tensor.shape), str(tensor.dtype or "integers")) for tensor in call.inputs]
    return CallSummary(attributes, inputs, str(call.data_format), str(call.filter_format))


def _tolerance(rule: ver.Rule, dtype: DType, accumulates: Mapping[str, str]) -> str:
    if rule == "bound":
        return derivation(dtype, accumulates)
    return f"exact: integers whose absolute terms add up to at most 2^p of {dtype}, so every order gives the same bits"

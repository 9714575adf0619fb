"""The record of a judged call, with the diagnosis of a wrong output and the file of its arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from tconv.backends import outcome as out
from tconv.cases.layouts import to_ncx
from tconv.diagnosis import UNDIAGNOSED, Diagnosis, diagnose, explain_in_context
from tconv.expectation.bound import bound_errors, derive
from tconv.records.artifacts import write
from tconv.records.record import CallSummary, Record
from tconv.verdict import kinds as ver
from tconv.verdict.values import digest
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.dialects.geometry import Geometry
    from tconv.execution.call import CallResult
    from tconv.expectation.problem import Problem
    from tconv.records.record import Sums
    from tconv.vocabulary import Array

_TRANSFORM = "a transform algorithm, such as Winograd's or the FFT, has errors as small and as spread as these"
_STEPS = "; and half a step of each tensor that the runtime quantises"
_OF_NO_WORK = {"Constant", "Identity", "Reshape", "Reorder"}
"""Operations that compute nothing. A runtime may add them or leave them out, and the graph is still the same."""
_OF_8_BITS = (" i8", " u8")
MOST_ARTIFACTS = 1000
"""How many artifacts a worker writes; later failures are recorded without arrays."""


@dataclass(slots=True)
class Recorder:
    """Makes records of verdicts, in the worker.

    Attributes:
        name: the backend's name in records.
        dialect_name: the dialect that expresses the cases.
        folder: artifacts are written to its `artifacts/`; None if none are written.
        chosen: the backend's options that are not at their defaults, as `name=value`.
        writes: whether the arrays of wrong outputs are written.
        artifacts: how many artifacts were written.
    """

    name: str
    dialect_name: str
    folder: Path | None
    chosen: Sequence[str] = ()
    writes: bool = field(default=True, init=False)
    artifacts: int = field(default=0, init=False)

    def record(self, problem: Problem, result: CallResult, verdict: ver.Verdict, sums: Sums | None = None) -> Record:
        """Return the record of a verdict, with a diagnosis if the output is wrong; its arrays are written then.

        Args:
            problem: the problem.
            result: what the backend did.
            verdict: the verdict.
            sums: what a probe found about its sums; None if it needs no bound.
        """
        record = self._explained(problem, result, verdict, (sums and sums.accumulator) or DType.F32)
        if problem.surrounded and isinstance(result.outcome, out.Produced):
            executed = result.outcome.executed
            own = [node.kind for node in problem.surrounded.graph.nodes]
            record = replace(record, executed=executed if _is_changed(executed, own) else ())
        return record if sums is None else replace(record, sums=sums)

    def _explained(self, problem: Problem, result: CallResult, verdict: ver.Verdict, accumulator: DType) -> Record:
        case, call, outcome, seconds = problem.case, problem.call, result.outcome, result.seconds
        if isinstance(verdict, ver.Agreed | ver.Inconclusive):
            return self._record(case, verdict, seconds)
        output = _wrong_output(problem, outcome, verdict)
        artifact = None if output is None else self._artifact(problem, output, verdict, accumulator)
        record = self._record(case, verdict, seconds, artifact, call)
        if isinstance(verdict, ver.WrongValues):
            steps = isinstance(outcome, out.Produced) and outcome.quantisation is not None
            tolerance = _tolerance(verdict.rule, case.x.dtype, accumulator) + _STEPS * steps
            record = replace(record, tolerance=tolerance)
        if output is not None:
            record = replace(record, digest=digest(output.array, problem.judged, output.geometry, accumulator))
        if output is None or not isinstance(verdict, ver.WrongOutput) or not output.has_layout:
            return record
        try:
            if problem.surrounded:
                # Only the output of the whole graph is known.
                return replace(record, diagnosis=explain_in_context(problem, output.array))
            diagnosis = diagnose(problem, output.array, accumulator)
        except Exception as error:  # noqa: BLE001 - the verdict is recorded even if the diagnosis fails
            diagnosis = Diagnosis((), f"{UNDIAGNOSED}, the search failed: {type(error).__name__}: {error}")
        if isinstance(verdict, ver.Imprecise):
            if not diagnosis.explained:
                return replace(record, described=_TRANSFORM)
            # A misreading that gives this output says more than the size of the errors.
            record = replace(record, verdict=verdict.differed)
        return replace(
            record,
            diagnosis=diagnosis.explained,
            described=diagnosis.described or None,
            relation=diagnosis.relation or None,
            placement=diagnosis.placement,
        )

    def _record(
        self,
        case: Case,
        verdict: ver.Verdict,
        seconds: float = 0.0,
        artifact: str | None = None,
        call: Call | None = None,
    ) -> Record:
        summary = None if call is None else CallSummary.of(call)
        return Record(case.id, self.name, self.dialect_name, verdict, seconds, artifact, summary)

    def _artifact(self, problem: Problem, output: _WrongOutput, verdict: ver.Verdict, accumulator: DType) -> str | None:
        """Write the arrays of a wrong output; return the path, relative to the folder."""
        if self.folder is None or not self.writes or self.artifacts >= MOST_ARTIFACTS:
            return None
        expected = problem.judged.compute_values(output.geometry)
        arrays = {**problem.operands, "expected": expected, "actual": output.array}
        if isinstance(verdict, ver.WrongValues) and verdict.rule == "bound":
            terms = problem.truth.compute_terms(output.geometry)
            arrays["allowed"] = bound_errors(terms, problem.truth.dtype, accumulator).allowed
        path = write(self.folder, (self.name, self.dialect_name, problem.case.id, *self.chosen), arrays)
        self.artifacts += path is not None
        return path


def _is_changed(executed: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether a runtime fuses or folds operations of a graph, adds some, or computes in 8 bits.

    Its names for operations may differ from the graph's, so the operations are counted.
    """
    names = (text.partition(" ")[0] for text in executed)
    count = sum(name not in _OF_NO_WORK for name in names)
    in_8_bits = any(text.endswith(_OF_8_BITS) for text in executed)
    return bool(executed) and (in_8_bits or count != sum(kind not in _OF_NO_WORK for kind in own))


class _WrongOutput(NamedTuple):
    """A wrong output in NCX, and the geometry that it is compared with; an output of another rank has no layout."""

    array: Array
    geometry: Geometry
    has_layout: bool


def _wrong_output(problem: Problem, outcome: out.Outcome, verdict: ver.Verdict) -> _WrongOutput | None:
    """Return the output that a verdict says is wrong; None if there is none."""
    if not isinstance(verdict, ver.WrongOutput | ver.WrongDtype) or not isinstance(outcome, out.Produced):
        return None
    has_layout = outcome.array.ndim == problem.call.rank + 2
    array = to_ncx(outcome.array, problem.call.data_format) if has_layout else outcome.array
    candidate = problem.held_against(array.shape)
    return None if candidate is None else _WrongOutput(array, candidate.geometry, has_layout)


def _tolerance(rule: ver.Rule, dtype: DType, accumulator: DType) -> str:
    if rule == "range":
        return "exact, but for ties of the last Quantize, activations without an accuracy, and a step of rounded scales"
    if rule == "bound":
        return derive(dtype, accumulator)
    return f"exact: integers whose absolute terms add up to at most 2^p of {dtype}, so every order gives the same bits"

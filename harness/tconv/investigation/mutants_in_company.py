"""Whether company finds what alone finds: each misreading as a backend, asked alone and in company."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends import BackendInfo, Produced, Refused
from tconv.backends.resolved_call import geometry_of
from tconv.cases.layouts import to_iox, to_ncx
from tconv.execution.company import WORTHWHILE, Companion
from tconv.execution.evaluation import Evaluator
from tconv.execution.position import Position
from tconv.expectation.truth import Truth
from tconv.investigation.mutants import in_call, output
from tconv.records.record import Record
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.backends import Outcome
    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.diagnosis.misreadings import Misreading
    from tconv.dialects import Dialect
    from tconv.execution.call_result import CallResult
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array


class Mutant:
    """A backend that follows a misreading, and the text where that changes nothing."""

    def __init__(self, misreading: Misreading) -> None:
        self._misreading = misreading

    def info(self) -> BackendInfo:
        """Return the misreading's name."""
        return BackendInfo(self._misreading.name, "1", ())

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute by the reference what the misreading gives."""
        operands = dict(arrays) | {
            "x": to_ncx(arrays["x"], call.data_format),
            "w": to_iox(arrays["w"], call.filter_format),
        }
        truth, geometry = Truth(operands, call.dtype), geometry_of(call)
        if isinstance(geometry, Refused):
            return geometry
        misread = output(self._misreading, call, truth.operands)
        return Produced(in_call(truth.values(geometry), call) if misread is None else misread)

    def run_together(self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]) -> Sequence[Outcome]:
        """Compute each."""
        return [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)]


class _Judge(Evaluator):
    """Verdicts alone: which misreading gives a wrong output is known here, and need not be searched for."""

    def record(self, problem: Problem, result: CallResult, verdict: ver.Verdict) -> Record:
        """Return the verdict in a record."""
        return Record(problem.case.id, "mutant", self.dialect.name, verdict, result.seconds)


def killed(cases: Sequence[Case], dialect: Dialect, misreading: Misreading, together: int = WORTHWHILE) -> set[str]:
    """Return the ids of the cases that notice a misreading, when so many are asked in company at most."""
    position = Position(together)
    judge = _Judge(Mutant(misreading), "mutant", dialect, {}, None, 1, position)
    companion = Companion(judge, position, together)
    passed = ver.Allowed | ver.Inexpressible
    return {record.case for _, record in companion.records(cases) if not isinstance(record.verdict, passed)}

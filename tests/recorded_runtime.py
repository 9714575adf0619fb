"""Runtimes that are not in CI, played from their answers; the README of `conformance/records/` has the format."""

from __future__ import annotations

import json
import lzma
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numpy as np

from tconv.backends import BackendError, BackendInfo, Crashed, Outcome, Produced, Refused, TimedOut, Unsupported
from tconv.cases.layouts import from_ncx
from tconv.execution.evaluation import Evaluator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call
    from tconv.execution.call import CallResult
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array

FOLDER = Path(__file__).parent.parent / "conformance" / "records"
NOT_RECORDED = Unsupported("not recorded")


def read(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the outcomes of a file of recorded outcomes."""
    with lzma.open(FOLDER / f"{name}.outcomes.xz", "rt", encoding="utf-8") as lines:
        header, *outcomes = map(json.loads, lines)
    return header, outcomes


class Recorded:
    """A runtime that answers as it was recorded; what it was not asked then, it does not implement."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self._header, outcomes = read(self.name)
        self._outcomes = {case: outcome for outcome in outcomes for case in outcome["cases"]}
        self._problem: Problem | None = None
        self._note_problems()

    def _note_problems(self) -> None:
        """Keep the problem of each call: a call itself does not say whose it is."""
        timed = Evaluator._timed

        def noted(evaluator: Evaluator, problem: Problem, *, filled: bool = False) -> CallResult:
            self._problem = problem
            return timed(evaluator, problem, filled=filled)

        Evaluator._timed = noted  # type: ignore[method-assign] # only this process has it

    def info(self) -> BackendInfo:
        """Return what the runtime said of itself."""
        header = self._header
        return BackendInfo(header["runtime"], header["version"], (header["dialect"],), {"played": "from its records"})

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:  # noqa: ARG002 - a backend's interface
        """Answer as the runtime did."""
        problem = self._problem
        match problem and self._outcomes.get(problem.case.id):
            case None:
                return NOT_RECORDED
            case {"agreed": True}:
                expected = problem and problem.output
                return Refused("refused") if expected is None else Produced(expected)
            case {"refused": message}:
                return Refused(message)
            case {"unsupported": reason}:
                return Unsupported(reason)
            case {"backend-error": message}:
                return BackendError(message)
            case {"crashed": cause, "stderr": stderr}:
                return Crashed(cause, stderr)
            case {"timed-out": seconds}:
                return TimedOut(seconds)
            case outcome:
                return Produced(_array(outcome, call))


def _array(outcome: dict[str, Any], call: Call) -> Array:
    """Return a recorded array, which is in NCX, in the call's layout."""
    dtype = np.dtype(getattr(ml_dtypes, outcome["dtype"], None) or outcome["dtype"])
    match outcome:
        case {"values": values}:
            array = np.array(values, np.float64).astype(dtype)
        case {"bytes": text}:
            array = np.frombuffer(b64decode(text), dtype).copy()
        case _:
            # Of an invalid call only that it was answered is kept.
            array = np.zeros(outcome["shape"], dtype)
    array = array.reshape(outcome["shape"])
    return from_ncx(array, call.data_format) if array.ndim == call.rank + 2 else array


class Mlx(Recorded):
    """MLX's conv_transpose1d, 2d and 3d."""

    name = "mlx"


class Mnn(Recorded):
    """MNN behind its converter of ONNX models."""

    name = "mnn"


class Tvm(Recorded):
    """TVM's importer of ONNX models, compiled for the processor."""

    name = "tvm"

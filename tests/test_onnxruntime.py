"""The backend of ONNX Runtime: what it is, and what is produced, refused, unsupported or broke."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as state

from strategies import ONNX
from strategies import case as case_of
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.backends.outcome import BackendError, Refused, Unsupported
from tconv.cases.call import arrange_operands, express
from tconv.cases.operands import make_operands
from tconv.dialects import DIALECTS

if TYPE_CHECKING:
    from tconv.backends.outcome import Outcome
    from tconv.cases.case import Case

ONNX_1, ONNX_11, ONNX_22 = ONNX


def outcome_of(case: Case) -> Outcome:
    call = express(case, DIALECTS[ONNX_22])
    return OnnxRuntime().run(call, arrange_operands(make_operands(case.x, case.w, case.b), call))


def test_info() -> None:
    info = OnnxRuntime().info()
    assert (info.name, info.version) == ("onnxruntime", ort.__version__)
    assert info.dialects == (ONNX_22, ONNX_11, ONNX_1)
    assert set(info.dialects) <= set(DIALECTS)
    assert (info.environment["provider"], info.environment["intra_op_num_threads"]) == ("CPUExecutionProvider", "1")
    assert info.environment["graph_optimization_level"] == "ORT_ENABLE_ALL"
    assert info.environment["build"] == ort.get_build_info()


class _Session:
    """A session that raises when it is made, or when it is run."""

    def __init__(self, error: Exception, when: str) -> None:
        self._error = error
        if when == "load":
            raise error

    def run(self, *_: object) -> list[object]:
        raise self._error


@pytest.mark.parametrize("when", ["load", "run"])
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (
            state.NotImplemented("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED"),
            Unsupported("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED"),
        ),
        (state.InvalidGraph("this is an invalid model"), Refused("this is an invalid model")),
        (state.InvalidArgument(" X \n  in node Y\n"), Refused("X \n  in node Y")),
        (state.InvalidProtobuf("no protobuf"), Refused("no protobuf")),
        (state.Fail("Node () Op (ConvTranspose) failed"), Refused("Node () Op (ConvTranspose) failed")),
        (
            state.RuntimeException("narrowing_error\nat line 7"),
            BackendError("RuntimeException: narrowing_error\nat line 7"),
        ),
        (state.EPFail("provider"), BackendError("EPFail: provider")),
        (MemoryError("out of it"), BackendError("MemoryError: out of it")),
        (ValueError(), BackendError("ValueError: ")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_each_exception_is(monkeypatch: pytest.MonkeyPatch, when: str, error: Exception, outcome: Outcome) -> None:
    monkeypatch.setattr(ort, "InferenceSession", lambda *_, **__: _Session(error, when))
    assert outcome_of(case_of((2,), (2,))) == outcome


def test_how_the_runtime_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: dict[str, Any] = {}

    class Session:
        def __init__(self, model: bytes, options: ort.SessionOptions, providers: list[str]) -> None:
            arguments.update(model=model, options=options, providers=providers)

        def run(self, output_names: object, feeds: dict[str, object]) -> list[object]:
            arguments.update(output_names=output_names, feeds=sorted(feeds))
            return [np.zeros(1)]

    monkeypatch.setattr(ort, "InferenceSession", Session)
    outcome_of(case_of((4,), (3,), bias=(1,)))
    assert arguments["providers"] == ["CPUExecutionProvider"]
    assert (arguments["output_names"], arguments["feeds"]) == (None, ["X"])
    options = arguments["options"]
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    assert options.graph_optimization_level == ort.SessionOptions().graph_optimization_level
    outcome_of(case_of((4,), (3,), bias=(1,), filter_source="input"))
    assert arguments["feeds"] == ["B", "W", "X"]

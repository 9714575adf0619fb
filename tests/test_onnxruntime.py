"""The backend of ONNX Runtime: what it is, and what is produced, refused, unsupported or broke."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as state

from strategies import ONNX
from strategies import case as case_of
from tconv.backends import create, names
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported
from tconv.cases.call import arrange_operands, express
from tconv.cases.operands import make_operands
from tconv.dialects import DIALECTS
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.backends.outcome import Outcome
    from tconv.cases.case import Case

ONNX_1, ONNX_11, ONNX_22 = ONNX


def outcome_of(case: Case, dialect_name: str = ONNX_22, backend: OnnxRuntime | None = None) -> Outcome:
    call = express(case, DIALECTS[dialect_name])
    return (backend or OnnxRuntime()).run(call, arrange_operands(make_operands(case.x, case.w, case.b), call))


def by_hand(**rest: Any) -> Case:  # noqa: ANN401 - attributes and fields of the case by their names
    """Return the data [1, 2] with the taps [1, 10]."""
    case = case_of((2,), (2,), **rest)
    x, w = replace(case.x, data="values", values=(1.0, 2.0)), replace(case.w, data="values", values=(1.0, 10.0))
    return replace(case, x=x, w=w)


# What it is.


def test_info() -> None:
    info = OnnxRuntime().info()
    assert (info.name, info.version) == ("onnxruntime", ort.__version__)
    assert info.dialects == (ONNX_22, ONNX_11, ONNX_1)
    assert set(info.dialects) <= set(DIALECTS)
    assert (info.environment["provider"], info.environment["intra_op_num_threads"]) == ("CPUExecutionProvider", "1")
    assert info.environment["graph_optimization_level"] == "ORT_ENABLE_ALL"
    assert info.environment["build"] == ort.get_build_info()


def test_it_is_installed_under_its_name() -> None:
    assert "onnxruntime" in names()
    assert isinstance(create("onnxruntime"), OnnxRuntime)


# Values.


@pytest.mark.parametrize("dialect_name", ONNX)
@pytest.mark.parametrize("filter_source", ["initializer", "input"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
def test_a_value_is_produced_in_its_own_type(dialect_name: str, filter_source: str, dtype: DType) -> None:
    outcome = outcome_of(by_hand(filter_source=filter_source, dtype=dtype), dialect_name)
    assert isinstance(outcome, Produced)
    assert outcome.array.dtype == {DType.F32: np.float32, DType.F16: np.float16}[dtype]
    assert outcome.array.tolist() == [[[1.0, 12.0, 20.0]]]


def test_one_backend_runs_many_calls() -> None:
    backend = OnnxRuntime()
    invalid = case_of((2,), (2,), auto_pad="same_upper", pads_begin=(1,), breaks="pads-without-auto-pad")
    outcomes = [outcome_of(case, backend=backend) for case in (by_hand(), invalid, by_hand())]
    assert [type(outcome) for outcome in outcomes] == [Produced, Refused, Produced]
    assert [outcome.array.tolist() for outcome in outcomes if isinstance(outcome, Produced)] == [[[[1, 12, 20]]]] * 2


# Refused and unsupported, by the runtime itself.


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case_of((4,), (3,), auto_pad="same_upper", pads_begin=(1,)), id="pads beside a mode"),
        pytest.param(case_of((4,), (3,), auto_pad="same", breaks="auto-pad-known"), id="an unknown mode"),
        pytest.param(case_of((4,), (3,), channels=3, groups=2), id="channels not divisible"),
        pytest.param(case_of((4,), (3,), bias=(2,)), id="a bias too long"),
        pytest.param(case_of((4,), (3,), kernel_shape=(2,)), id="another kernel shape"),
        pytest.param(case_of((4, 4), (3,)), id="another rank"),
        pytest.param(
            case_of((4,), (3,), channels=3, groups=2, shapes="symbolic", filter_source="input"),
            id="channels, seen at run",
        ),
        pytest.param(case_of((4,), (3,), bias=(2,), shapes="symbolic", filter_source="input"), id="bias, seen at run"),
    ],
)
def test_an_invalid_model_is_refused(case: Case) -> None:
    outcome = outcome_of(case)
    assert isinstance(outcome, Refused), outcome
    assert outcome.message


@pytest.mark.parametrize("dtype", [DType.F64, DType.BF16])
def test_a_type_without_a_kernel_is_unsupported(dtype: DType) -> None:
    """NOT_IMPLEMENTED is no refusal: the model is valid, and the waiver file lists these types."""
    outcome = outcome_of(case_of((4,), (3,), dtype=dtype))
    assert isinstance(outcome, Unsupported), outcome
    assert "NOT_IMPLEMENTED" in outcome.reason


def test_a_type_that_the_opset_does_not_have_is_refused() -> None:
    assert isinstance(outcome_of(case_of((4,), (3,), dtype=DType.BF16, breaks="type-known"), ONNX_11), Refused)


# Each kind of exception, at load and at run.


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
    assert outcome_of(by_hand()) == outcome


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

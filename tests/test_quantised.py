"""The operator in 8 bits: scales of every kind, what is expected of them, and the model that LiteRT is given."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pytest

from played_backends import records_of
from strategies import ONNX, every
from tconv.backends.litert import LiteRt, inputs_of, model_of
from tconv.backends.outcome import Produced
from tconv.cases.context import LIMITS
from tconv.corpus.building import ImpossibleCase, build
from tconv.corpus.writing import settings
from tconv.diagnosis import explain_in_context
from tconv.diagnosis.in_context import misread
from tconv.diagnosis.misreadings import misreadings_by_name, quanta
from tconv.dialects import DIALECTS
from tconv.evidence.calls import Calls, answer_of
from tconv.evidence.explanation import explain
from tconv.evidence.hypotheses import Misreads
from tconv.expectation.expected import NotApplicable, expect
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition
from tconv.investigation.random_cases import drawn
from tconv.reports.case_details import in_dialect
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.diagnosis.misreadings.misreading import Misreading
    from tconv.vocabulary import Array

ROW, TFLITE = DIALECTS[ONNX[-1]], DIALECTS["tflite/TransposeConv"]
LAYERS = "quantised/layers"


@pytest.fixture(scope="module")
def quantised(corpus: Corpus) -> list[Case]:
    return [case for case in corpus.cases("gate", ["quantised"]) if case.context.end != "none"]


def _output(problem: Problem) -> Array:
    assert problem.output is not None
    return problem.output


def test_quanta_by_hand(corpus: Corpus) -> None:
    case = corpus.find(f"{LAYERS}/quanta-written-out")
    assert case is not None
    assert _output(Problem(case, ROW)).tolist() == [[[[23, 17]]]]


def test_the_output_is_the_integer_sum_rescaled_in_float64(quantised: list[Case]) -> None:
    """Quanta are added in integers; scales and zero points come once. Rounding errors show at ties alone."""
    for case in quantised:
        problem = Problem(case, ROW)
        assert problem.values is not None
        arrays = {name: array.astype(np.float64) for name, array in problem.arrays.items()}
        x = arrays["X"]
        if case.context.data != "int8-input":
            x = np.rint(x / arrays["x_scale"]) + arrays["x_zero_point"]
        along = (1, -1, *[1] * (x.ndim - 2))
        geometry = problem.values.primary.geometry
        bias = arrays.get("B")
        added = definition(
            x - arrays["x_zero_point"], arrays["W"] - arrays["w_zero_point"].reshape(-1)[0], bias, geometry
        )
        scales = np.resize(arrays["x_scale"] * arrays["w_scale"], added.shape[1]).reshape(along)
        scaled = added * scales / arrays["y_scale"]
        low, high = (-128, 127) if case.context.end == "int8" else (0, 255)
        expected = np.clip(np.rint(scaled) + arrays["y_zero_point"], low, high)
        is_tie = np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) < 1e-4
        assert ((expected == _output(problem)) | is_tie).all(), case.id


def test_one_step_is_allowed_where_scales_are_rounded(quantised: list[Case]) -> None:
    """Two steps never are; and with powers of two the result is exact, but for ties."""
    for case in quantised:
        problem = Problem(case, ROW)
        right = _output(problem).astype(np.int16)
        middle = np.clip(right, -120, 120) if case.context.end == "int8" else np.clip(right, 8, 247)
        inside = right == middle
        assert inside.any(), case.id
        for steps in (1, 2):
            off = np.where(inside, right + steps, right).astype(_output(problem).dtype)
            verdict = judge(problem, Produced(off), DType.F32)
            is_allowed = steps == 1 and (case.context.scales == "uneven" or case.quantisation is not None)
            assert isinstance(verdict, ver.Agreed) == is_allowed, case.id


def test_tflite_quantises_all_of_the_operator_or_nothing(corpus: Corpus) -> None:
    levels = {"data": "int8-input", "filter": "int8", "end": "int8"}
    expected = expect(build("all", {"context": levels, "spatial": [4, 4], "kernel": [3, 3]}), TFLITE)
    assert not isinstance(expected, NotApplicable)
    for axis in levels:
        some = {name: level for name, level in levels.items() if name != axis}
        part = expect(build("part", {"context": some, "spatial": [4, 4], "kernel": [3, 3]}), TFLITE)
        assert isinstance(part, NotApplicable)
        assert part.violation.attribute == "context"
    asked = [
        case for case in corpus.cases("gate", ["quantised"]) if not isinstance(expect(case, TFLITE), NotApplicable)
    ]
    assert {case.context.scales for case in asked} == {"simple", "powers-of-two", "uneven"}


def test_uneven_scales_end_in_quanta() -> None:
    case = build("float", {"context": {"data": "int8", "filter": "int8", "scales": "uneven"}})
    assert isinstance(expect(case, ROW), NotApplicable)


def test_declared_scales_are_written_and_read() -> None:
    grids = {"x": {"scale": 0.5, "zero_point": -3}, "w": {"scale": [0.25, 0.7]}, "y": {"scale": 0.75}}
    case = build("declared", {"out_channels": 2, "context": {"data": "int8", "end": "int8"}, "quantisation": grids})
    assert settings(case)["quantisation"] == grids
    assert build("declared", settings(case)) == case
    with pytest.raises(ImpossibleCase, match="one scale"):
        build("two", {"context": {"data": "int8"}, "quantisation": {"x": {"scale": [0.5, 0.25]}}})


def test_litert_is_given_the_form_of_the_specification(quantised: list[Case]) -> None:
    """Weights have a scale for each output channel along dimension 0 and zero points 0, the bias their products."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    case = next(
        case
        for case in quantised
        if case.context.filter == "int8-per-channel"
        and case.context.data == "int8"
        and case.context.scales == "uneven"
        and case.b is not None
        and not isinstance(expect(case, TFLITE), NotApplicable)
    )
    problem = Problem(case, TFLITE)
    model = schema.ModelT.InitFromObj(
        schema.Model.GetRootAs(model_of(*inputs_of(problem.call, problem.arrays), problem.call.attributes), 0)
    )
    (graph,) = model.subgraphs
    kinds = [model.operatorCodes[operator.opcodeIndex].builtinCode for operator in graph.operators]
    assert kinds == [schema.BuiltinOperator.QUANTIZE, schema.BuiltinOperator.TRANSPOSE_CONV]
    tensors = {tensor.name.decode(): tensor for tensor in graph.tensors}
    w, b, x = tensors["weights"], tensors["bias"], tensors["input"]
    assert (w.type, b.type, x.type) == (schema.TensorType.INT8, schema.TensorType.INT32, schema.TensorType.INT8)
    assert w.quantization.quantizedDimension == 0
    assert len(w.quantization.scale) == w.shape[0] == case.w.shape[1]
    assert set(w.quantization.zeroPoint) == set(b.quantization.zeroPoint) == {0}
    assert b.quantization.scale == pytest.approx(w.quantization.scale * x.quantization.scale)
    for kernels in ("auto", "builtin", "reference"):
        outcome = LiteRt(kernels=kernels).run(problem.call, problem.arrays)
        assert isinstance(judge(problem, outcome, DType.F32), ver.Agreed)


@pytest.mark.parametrize("misreading", quanta.MISREADINGS, ids=lambda misreading: misreading.name)
def test_a_misreading_of_quanta_is_noticed_and_named(quantised: list[Case], misreading: Misreading) -> None:
    for case in quantised:
        problem = Problem(case, ROW)
        compute = misread(misreading, problem)
        y = None if compute is None else compute().astype(_output(problem).dtype)
        if y is not None and not isinstance(judge(problem, Produced(y), DType.F32), ver.Agreed):
            assert misreading.name in {str(name).removeprefix("as if ") for name in explain_in_context(problem, y)}
            return
    pytest.fail("nothing notices it")


@pytest.mark.parametrize("twice", [False, True])
def test_arithmetic_in_fixed_point_is_never_blamed(*, twice: bool) -> None:
    """Kernels of TFLite multiply sums by 31-bit factors; some round first to a unit of the sum, and then again."""
    asked = 0
    for case in islice(drawn(47, TFLITE, contexts=True), 0, 200, every(1)):
        problem = Problem(case, TFLITE)
        assert problem.surrounded is not None
        assert problem.values is not None
        arrays = {name: array.astype(np.float64) for name, array in problem.surrounded.arrays.items()}
        x, w = arrays["X"], arrays["W"] - arrays["w_zero_point"].reshape(-1)[0]
        low, high = LIMITS[case.context.end]
        if case.context.data != "int8-input":
            x = np.clip(np.rint(x / arrays["x_scale"]) + arrays["x_zero_point"], low, high)
        x -= arrays["x_zero_point"]
        total = definition(x, w, arrays.get("B"), problem.values.primary.geometry)
        factors = np.resize(arrays["x_scale"] * arrays["w_scale"], total.shape[1]) / arrays["y_scale"]
        mantissas, exponents = np.frexp(factors.reshape(1, -1, *[1] * (x.ndim - 2)))
        above = np.maximum(exponents, 0)
        product = total * 2.0**above * np.rint(mantissas * 2.0**31) / 2.0**31
        scaled = (np.floor(product + 0.5) if twice else product) * 2.0 ** (exponents - above)
        y = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled) + arrays["y_zero_point"]
        produced = np.moveaxis(np.clip(y, low, high).astype(problem.judged.dtype), 1, -1)
        assert isinstance(judge(problem, Produced(produced), DType.F32), ver.Agreed), case
        asked += 1
    assert asked


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("scales-along-axis-0", {}),
        ("padded-with-quantum-0", {}),
        ("last-tap-dropped", {}),
        ("scale-of-the-first-channel", {"filter": "int8-per-channel"}),
        ("output-zero-point-ignored", {"end": "int8"}),
        ("last-input-channel-dropped", {"scales": "uneven"}),
    ],
)
def test_a_run_with_a_wrong_kernel_names_it_first(corpus: Corpus, name: str, needed: dict[str, str]) -> None:
    """Of a kernel that is wrong only if the context has some levels, too."""
    cases = list(corpus.cases("gate", ["quantised"]))
    misreading = misreadings_by_name(ROW)[name]

    def answer(problem: Problem) -> Array:
        is_wrong = needed.items() <= problem.case.context.levels.items()
        compute = misread(misreading, problem) if is_wrong else None
        return _output(problem) if compute is None else compute().astype(_output(problem).dtype)

    answers = [answer_of(record) for record in records_of(answer, cases)]
    assert sum(of.failure is not None for of in answers) > 20
    found, *others = explain(Calls(answers, corpus.find, ROW))
    assert not (others and not needed)
    assert isinstance(found.what, Misreads)
    assert found.what.name.names == (name,)


def test_another_wrong_output_has_no_name(quantised: list[Case]) -> None:
    for case in quantised[::20]:
        problem = Problem(case, ROW)
        scrambled = np.roll(_output(problem).reshape(-1), 1).reshape(_output(problem).shape) ^ 1
        assert explain_in_context(problem, scrambled) == ()


def test_a_wide_filter_with_one_scale_loses_precision_by_the_model() -> None:
    """Which its account says, and a note of what passes; not of a scale for each channel, nor of equal channels."""

    def said(filters: str, w: list[float]) -> bool:
        levels = {"data": "int8-input", "filter": filters, "end": "int8"}
        written = {"out_channels": 2, "kernel": [1], "w": {"values": w}, "context": levels}
        problem = Problem(build("wide", written), ROW)
        verdict = judge(problem, Produced(_output(problem)), DType.F32)
        assert isinstance(verdict, ver.Agreed)
        shown = any("precision" in line for line in in_dialect(problem.case, ROW))
        assert shown == ("too-few-quanta" in verdict.notes)
        return shown

    assert said("int8", [127, 3])
    assert not said("int8", [127, 90])
    assert not said("int8-per-channel", [127, 3])


def test_a_uint8_filter_may_have_a_scale_for_each_channel() -> None:
    """A model has it if it declares several scales. Scales along the wrong axis are named; TFLite's text has none."""
    written = {
        "channels": 3,
        "out_channels": 4,
        "spatial": [4, 4],
        "kernel": [2, 2],
        "context": {"data": "uint8", "filter": "uint8", "end": "uint8"},
        "quantisation": {"w": {"scale": [0.25, 0.7, 0.1, 0.3]}},
    }
    problem = Problem(build("channels", written), ROW)
    assert problem.arrays["w_scale"].shape == (4,)
    compute = misread(misreadings_by_name(ROW)["scales-along-axis-0"], problem)
    assert compute is not None
    y = compute().astype(np.uint8)
    assert isinstance(judge(problem, Produced(y), DType.F32), ver.Differed)
    assert ("scales-along-axis-0",) in [name.names for name in explain_in_context(problem, y)]
    assert isinstance(expect(problem.case, TFLITE), NotApplicable)

"""The ONNX model of a call: what the checker says, and each part of it against the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, numpy_helper

from strategies import ONNX
from strategies import case as case_of
from tconv.backends.onnx_graph import ELEMENT_TYPES
from tconv.backends.onnx_model import build
from tconv.backends.onnx_shape_inference import OnnxShapeInference
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.backends.outcome import Produced, Unsupported
from tconv.cases.call import arrange_operands, express
from tconv.cases.case import Case, Operand
from tconv.cases.layouts import to_ncx
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.dialects import DIALECTS
from tconv.expectation.expected import NotApplicable, Values, expect
from tconv.expectation.truth import Truth
from tconv.vocabulary import Attributes, DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.cases.call import Call

ONNX_22 = ONNX[-1]


@pytest.fixture(scope="module")
def gate(gate_cases: tuple[Case, ...]) -> list[Case]:
    return [case for case in gate_cases if case.breaks is None]


def call_and_model(case: Case, dialect_name: str = ONNX_22) -> tuple[Call, onnx.ModelProto]:
    call = express(case, DIALECTS[dialect_name])
    arrays = {tensor.role: np.zeros(tensor.shape, NUMPY_TYPES[tensor.dtype or DType.F32]) for tensor in call.inputs}
    return call, build(call, arrays)


def graph_of(case: Case, dialect_name: str = ONNX_22) -> onnx.GraphProto:
    return call_and_model(case, dialect_name)[1].graph


def plane(**rest: Any) -> Case:  # noqa: ANN401 - attributes and fields of the case by their names
    """Return a case of four channels and six filters in two groups on a plane."""
    return case_of((5, 4), (3, 2), channels=4, filters=3, groups=2, **rest)


def attributes(node: onnx.NodeProto) -> dict[str, object]:
    values = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def shape(info: onnx.ValueInfoProto) -> list[int | str | None]:
    return [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param if dim.HasField("dim_param") else None
        for dim in info.type.tensor_type.shape.dim
    ]


def names(values: Iterable[onnx.ValueInfoProto | TensorProto]) -> list[str]:
    return [value.name for value in values]


# The gate tier.


@pytest.mark.thorough
@pytest.mark.parametrize("dialect_name", ONNX)
def test_the_checker_accepts_every_model_of_the_gate_tier(gate: list[Case], dialect_name: str) -> None:
    """Every model that breaks nothing passes the checker, with shape inference where ONNX's is right.

    Where output_shape is below the input's size and sizes are static, inference stops early and gives the output too
    few dimensions: the waiver output-smaller-than-input-has-no-shape. Those are checked without it.
    """
    checked = without = 0
    for case in gate:
        if isinstance(expect(case, DIALECTS[dialect_name]), NotApplicable):
            continue
        _, model = call_and_model(case, dialect_name)
        wrong = case.facts["output_shape_below_spatial"] == "true" and case.shapes == "static"
        if case.shapes != "unranked":  # the checker demands the shape of each input
            onnx.checker.check_model(model, full_check=not wrong)
        checked, without = checked + 1, without + wrong
        # The runtime has to find the output's shape: the model may not declare anything of it.
        (output,) = model.graph.output
        assert shape(output) == ([] if case.shapes == "unranked" else [None] * len(case.x.shape))
        assert output.type.tensor_type.elem_type == ELEMENT_TYPES[case.x.dtype]
    assert checked > 4500
    assert without < checked / 20


# Versions.


@pytest.mark.parametrize(("dialect_name", "opset", "ir"), [(ONNX[0], 7, 4), (ONNX[1], 11, 6), (ONNX[2], 22, 10)])
def test_versions(dialect_name: str, opset: int, ir: int) -> None:
    _, model = call_and_model(plane(), dialect_name)
    assert [(opset_id.domain, opset_id.version) for opset_id in model.opset_import] == [("", opset)]
    assert model.ir_version == ir
    assert DIALECTS[dialect_name].opset == opset
    assert onnx.defs.get_schema("ConvTranspose", opset).since_version == int(dialect_name.rpartition("-")[2])
    assert model.producer_name == "tconv"


# Nodes and attributes.


def test_only_what_a_case_mentions_is_written() -> None:
    ordinary = case_of((5,), (3,))
    assert attributes(graph_of(ordinary, "onnx/ConvTranspose-22").node[0]) == {}
    assert attributes(graph_of(ordinary, "onnx/ConvTranspose-1").node[0]) == {"strides": [1], "dilations": [1]}
    empty = graph_of(case_of((), (), strides=()), ONNX_22).node[0]
    assert [(attribute.name, attribute.type) for attribute in empty.attribute] == [("strides", AttributeProto.INTS)]


@pytest.mark.parametrize(
    ("formats", "operators", "inputs"),
    [
        ({"data_format": "NCX", "filter_format": "IOX"}, ["ConvTranspose"], ["X", "W"]),
        ({"data_format": "NXC"}, ["Transpose", "ConvTranspose", "Transpose"], ["X_canonical", "W"]),
        ({"filter_format": "XOI"}, ["Transpose", "ConvTranspose"], ["X", "W_canonical"]),
        ({"filter_format": "GIOX"}, ["Reshape", "ConvTranspose"], ["X", "W_canonical"]),
    ],
)
def test_other_layouts_go_through_nodes(formats: dict[str, str], operators: list[str], inputs: list[str]) -> None:
    """What is not NCX and IOX is transposed or reshaped in the model: the operator has no other layouts."""
    _, model = call_and_model(plane(**formats))
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == operators
    (node,) = (node for node in model.graph.node if node.op_type == "ConvTranspose")
    assert list(node.input) == inputs


@pytest.mark.parametrize(
    ("dialect_name", "first", "last"),
    [
        ("onnx/ConvTranspose-1", "Split", "Concat"),
        ("onnx/ConvTranspose-11", "Split", "Concat"),
        (ONNX_22, "Reshape", "Reshape"),
    ],
)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_grouped_filter_without_taps_keeps_its_shape(dialect_name: str, first: str, last: str, groups: int) -> None:
    """For Reshape a size of 0 stands for the input's size, unless it has `allowzero`, which opsets before 14 lack."""
    case = Case(
        "a/b",
        Attributes(filter_format="GIOX", groups=groups, strides=(1,), dilations=(1,)),
        Operand((1, 4, 4), DType.F32),
        Operand((4, 3, 0), DType.F32),
        breaks="kernel-not-empty",
    )
    call = express(case, DIALECTS[dialect_name])
    model = build(call, arrange_operands(make_operands(case.x, case.w, case.b), call))
    *before, _ = model.graph.node
    assert (before[0].op_type, before[-1].op_type) == (first, last)
    assert model.opset_import[0].version == DIALECTS[dialect_name].opset
    inferred = {info.name: info for info in onnx.shape_inference.infer_shapes(model).graph.value_info}
    shape = [size.dim_value for size in inferred["W_canonical"].type.tensor_type.shape.dim]
    assert shape == list(case.w.shape)


def test_an_unnamed_bias_is_the_third_input() -> None:
    for source in ("initializer", "input"):
        graph = graph_of(plane(bias_source="unnamed", filter_source=source))
        assert list(graph.node[0].input) == ["X", "W", ""]
        assert "" not in names([*graph.input, *graph.initializer])


@pytest.mark.parametrize("filter_source", ["initializer", "input"])
@pytest.mark.parametrize("shapes", ["static", "symbolic", "unranked"])
@pytest.mark.parametrize("data_format", ["NCX", "NXC"])
@pytest.mark.parametrize("filter_format", ["XOI", "GIOX"])
def test_a_runtime_computes_every_presentation(
    shapes: str, filter_source: str, data_format: str, filter_format: str
) -> None:
    case = plane(shapes=shapes, filter_source=filter_source, data_format=data_format, filter_format=filter_format,
                strides=(2, 3), bias=(6,))  # fmt: skip
    call, operands = express(case, DIALECTS[ONNX_22]), make_operands(case.x, case.w, case.b)
    outcome = OnnxRuntime().run(call, arrange_operands(operands, call))
    expected = expect(case, DIALECTS[ONNX_22])
    assert isinstance(outcome, Produced)
    assert isinstance(expected, Values)
    truth = Truth(operands, case.x.dtype).compute_values(expected.primary.geometry)
    assert np.array_equal(to_ncx(outcome.array, call.data_format), truth)


# Inputs and constants.


@pytest.mark.parametrize("bias", [None, (6,)])
def test_the_filter_is_a_constant_or_an_input(bias: tuple[int, ...] | None) -> None:
    rest = ["W"] + ["B"] * (bias is not None)
    graph = graph_of(plane(bias=bias, filter_source="initializer"))
    assert (names(graph.input), names(graph.initializer)) == (["X"], rest)
    graph = graph_of(plane(bias=bias, filter_source="input"))
    assert (names(graph.input), names(graph.initializer)) == (["X", *rest], [])


@pytest.mark.parametrize("dtype", DType)
def test_constants_hold_the_operands_bits(dtype: DType) -> None:
    case = plane(dtype=dtype, filter_format="XOI", bias=(6,), data="normal")
    call = express(case, DIALECTS[ONNX_22])
    arrays = arrange_operands(make_operands(case.x, case.w, case.b), call)
    graph = build(call, arrays).graph
    for constant, role in zip(graph.initializer, ("w", "b"), strict=True):
        assert constant.data_type == ELEMENT_TYPES[dtype]
        assert list(constant.dims) == list(arrays[role].shape)
        assert numpy_helper.to_array(constant).tobytes() == arrays[role].tobytes()
    assert list(graph.initializer[0].dims) == [3, 2, 3, 4]
    assert graph.input[0].type.tensor_type.elem_type == ELEMENT_TYPES[dtype]
    assert len(set(ELEMENT_TYPES.values())) == len(DType) + len(Quantised)


# Sizes.


def test_sizes_are_numbers_or_symbols() -> None:
    static = graph_of(plane(filter_source="input", data_format="NXC", filter_format="XOI"))
    assert [shape(info) for info in static.input] == [[1, 5, 4, 4], [3, 2, 3, 4]]
    symbolic = graph_of(plane(filter_source="input", bias=(6,), shapes="symbolic"))
    symbols = [size for info in symbolic.input for size in shape(info)]
    assert [len(shape(info)) for info in symbolic.input] == [4, 4, 1]
    assert all(isinstance(symbol, str) and symbol for symbol in symbols)
    assert len(set(symbols)) == len(symbols)


def test_without_a_rank_nothing_is_declared() -> None:
    """Of inputs and the output there is a type, and no shape, which is not the shape of a scalar."""
    graph = graph_of(plane(filter_source="input", bias=(6,), shapes="unranked"))
    types = [info.type.tensor_type for info in (*graph.input, *graph.output)]
    assert len(types) == 4
    assert not any(tensor.HasField("shape") for tensor in types)


def test_a_shape_of_which_a_part_is_inferred_is_no_answer() -> None:
    """Of symbolic sizes onnx infers the output's channels alone; what it leaves open is no size of 0."""
    call, _ = call_and_model(plane(shapes="symbolic"))
    arrays = {tensor.role: np.zeros(tensor.shape, np.float32) for tensor in call.inputs}
    assert OnnxShapeInference().run(call, arrays) == Unsupported("no shape is inferred, or not all of it")


def test_a_model_of_constants_has_no_input() -> None:
    graph = graph_of(plane(bias=(6,), data_source="initializer"))
    assert (names(graph.input), names(graph.initializer)) == ([], ["X", "W", "B"])


def test_the_same_call_is_the_same_model() -> None:
    case = plane(bias=(6,), data_format="NXC", filter_format="XOI", strides=(2, 1))
    models = [call_and_model(case)[1].SerializeToString(deterministic=True) for _ in range(2)]
    assert models[0] == models[1]

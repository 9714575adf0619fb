"""Calls ported: what is written in the target gives the source's output, and what a model's nodes become."""

from __future__ import annotations

import json
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from hypothesis import given
from onnx import TensorProto, helper

from strategies import examples
from tconv.cases.case import Case, Operand
from tconv.cases.operands import make_operands
from tconv.cli.port_command import command as port_command
from tconv.dialects import DIALECTS
from tconv.errors import FileError, Invalid, UsageError
from tconv.expectation.expected import Values, expect
from tconv.expectation.truth import Truth
from tconv.investigation.strategies import cases
from tconv.porting.model import Model
from tconv.porting.port import ported
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ONNX, ONNX_1, ONEDNN = "onnx/ConvTranspose-22", "onnx/ConvTranspose-1", "onednn/ConvTranspose-1"
OPENVINO, GROUPED = "openvino/ConvolutionBackpropData-1", "openvino/GroupConvolutionBackpropData-1"


def line(spatial: int = 5, kernel: int = 4, **attributes: Any) -> Case:  # noqa: ANN401 - values of attributes
    groups = attributes.get("groups", 1)
    b = Operand((groups,), DType.F32) if attributes.pop("bias", False) else None
    dtype = attributes.pop("dtype", DType.F32)
    x, w = Operand((1, groups, spatial), dtype), Operand((groups, 1, kernel), dtype)
    return Case("line", Attributes(**attributes), x, w, b)


@pytest.mark.parametrize(("source", "target"), list(permutations(DIALECTS, 2)))
def test_what_is_written_gives_the_output(source: str, target: str) -> None:
    """For drawn calls: the target's own reference, padded with the bias, is the source's output bit for bit."""

    @examples(8)
    @given(cases(source, broken=False))
    def check(case: Case) -> None:
        expected = expect(case, DIALECTS[source])
        assert isinstance(expected, Values)
        port = ported(case, DIALECTS[source], DIALECTS[target])
        assert port.geometry == expected.primary.geometry
        if port.written is None:
            return
        way = port.written
        operands = make_operands(case.x, case.w, case.b)
        expected = Truth(operands, case.x.dtype).compute_values(port.geometry)
        there = expect(way.case, port.target)
        assert isinstance(there, Values)
        got = Truth(operands, case.x.dtype).compute_values(there.primary.geometry)
        bias = operands["b"].astype(np.float64) if "b" in operands else np.zeros(got.shape[1])
        # Below 0 it is cropped.
        sides = list(zip(way.before, way.behind, got.shape[2:], strict=True))
        got = got[:, :, *(slice(max(-b, 0), size - max(-e, 0)) for b, e, size in sides)]
        padded = np.empty(expected.shape)
        padded[:] = bias.reshape(-1, *(1,) * len(way.before))
        inner = tuple(slice(max(b, 0), max(b, 0) + size) for b, size in zip(way.before, got.shape[2:], strict=True))
        padded[:, :, *inner] = got
        np.testing.assert_array_equal(padded, expected)
        assert [b + y + e for b, e, y in sides] == [*port.geometry.output]

    check()


def test_explicit_pads_are_written_where_the_words_mean_something_else() -> None:
    """ONNX's odd unit under output_shape goes to the other side in OpenVINO; pads keep it."""
    port = ported(line(strides=(2,), auto_pad="same_upper", output_shape=(9,)), DIALECTS[ONNX], DIALECTS[OPENVINO])
    assert not isinstance(port.same_words, str)
    assert (port.same_words.pads_begin, port.geometry.pads_begin) == ((2,), (1,))
    assert port.written is not None
    assert port.written.case.attributes.given() == {"strides": (2,), "pads_begin": (1,), "pads_end": (2,)}
    assert port.written.complete


def test_the_same_words_stay_where_they_mean_the_same() -> None:
    case = line(strides=(2,), auto_pad="same_upper")
    port = ported(case, DIALECTS["onnx/ConvTranspose-11"], DIALECTS[ONNX])
    assert port.written is not None
    assert port.written.case.attributes == case.attributes
    assert port.besides == ()


def test_what_the_target_does_not_have_is_made_up_for() -> None:
    """Groups go to another operator of the text, a bias behind it, f64 into f32; layouts are written or transposed."""
    grouped = ported(line(groups=2, bias=True), DIALECTS[ONNX], DIALECTS[OPENVINO])
    assert grouped.target is DIALECTS[GROUPED]
    assert [text.partition(":")[0] for text in grouped.besides] == ["groups", "bias", "filter"]
    double = ported(line(dtype=DType.F64), DIALECTS[ONNX], DIALECTS[ONEDNN])
    assert [text.partition(":")[0] for text in double.besides] == ["type"]
    assert double.written is not None
    written = double.written.case.attributes
    assert (written.data_format, written.filter_format) == ("NCX", "IOX")
    back = ported(line(), DIALECTS[ONEDNN], DIALECTS[ONNX])
    assert [text.partition(";")[0] for text in back.besides] == [
        "data and output: (N, X..., C) becomes (N, C, X...)",
        "filter: (K..., O/G, C) becomes (C, O/G, K...)",
    ]


def test_what_no_attributes_say_is_the_nearest_and_a_pad() -> None:
    before = ported(line(kernel=2, strides=(4,), auto_pad="same_upper"), DIALECTS[ONNX], DIALECTS[ONEDNN])
    assert before.geometry.pads_begin == (-1,)
    assert before.written is not None
    assert (before.written.before, before.written.behind) == ((1,), (0,))
    behind = ported(line(kernel=2, strides=(2,), output_padding=(3,)), DIALECTS[ONEDNN], DIALECTS[ONNX])
    assert behind.same_words == "output_padding must be less than the larger of strides and dilations [2]"
    assert behind.written is not None
    assert (behind.written.case.attributes.output_padding, behind.written.behind) == ((1,), (2,))


def test_an_output_padding_without_a_word_is_in_the_output_shape() -> None:
    sizes = {"x": Operand((1, 1, 5, 6), DType.F32), "w": Operand((1, 1, 3, 3), DType.F32)}
    case = Case("plane", Attributes(strides=(2, 2), output_padding=(1, 0)), **sizes)
    port = ported(case, DIALECTS[ONNX], DIALECTS["tflite/TransposeConv"])
    assert port.written is not None
    assert port.written.case.attributes.given() == {"strides": (2, 2), "output_shape": (12, 13)}
    assert port.written.complete


def test_a_reading_of_the_source() -> None:
    """What a runtime reads otherwise is ported by the name of its reading; a name that changes nothing is refused."""
    case = line(kernel=2, strides=(4,), auto_pad="same_upper")
    port = ported(case, DIALECTS[ONNX], DIALECTS[ONEDNN], "negative-same-shrunk")
    assert port.geometry.output == (18,)
    assert dict(port.disputed)["negative-same-shrunk"] == port.geometry
    with pytest.raises(UsageError, match=r"did you mean 'negative-same-shrunk'\?"):
        ported(case, DIALECTS[ONNX], DIALECTS[ONEDNN], "negative-same-shrink")
    with pytest.raises(Invalid, match="pads-without-auto-pad"):
        ported(line(auto_pad="valid", pads_begin=(1,)), DIALECTS[ONNX], DIALECTS[ONEDNN])


# Models.


def node(x: str, w: str, y: str, **attributes: Any) -> onnx.NodeProto:  # noqa: ANN401 - values of attributes
    return helper.make_node("ConvTranspose", [x, w], [y], name=f"to-{y}", **attributes)


def saved(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[TensorProto] = (),
) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, [], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]), folder / "a.onnx")
    return folder / "a.onnx"


def model(path: Path, opset: int = 22, size: int | str = "height") -> Path:
    """Write a model of two nodes in a row and one in a branch, and return its path."""
    weights = [
        helper.make_tensor(name, TensorProto.FLOAT, shape, np.ones(shape, np.float32).tobytes(), raw=True)
        for name, shape in (("w", (3, 2, 4)), ("v", (2, 1, 3)))
    ]
    branch = helper.make_graph(
        [node("middle", "v", "inner", strides=[2])],
        "branch",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["positive"]),
        node("positive", "w", "middle", strides=[2], auto_pad="SAME_UPPER", output_shape=[9], group=1),
        helper.make_node("If", ["condition"], ["end"], then_branch=branch, else_branch=branch),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, size]),
        helper.make_tensor_value_info("condition", TensorProto.BOOL, []),
    ]
    outputs = [helper.make_tensor_value_info("end", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path


@pytest.mark.parametrize(("opset", "version"), [(9, 1), (11, 11), (21, 11), (22, 22)])
def test_the_nodes_of_a_model_are_calls(tmp_path: Path, opset: int, version: int) -> None:
    """Each ConvTranspose, in branches too, in the dialect of the model's operator set, with inferred shapes."""
    calls = Model(model(tmp_path / "a.onnx", opset), {"height": 5}).calls()
    assert [call.name for call in calls] == ["to-middle", "to-inner", "to-inner"]
    assert {call.dialect.name for call in calls} == {f"onnx/ConvTranspose-{version}"}
    first = calls[0].case
    assert first is not None
    assert (first.x.shape, first.w.shape, first.b) == ((1, 3, 5), (3, 2, 4), None)
    assert first.attributes.given() == {
        "strides": (2,),
        "auto_pad": "same_upper",
        "output_shape": (9,),
        "groups": 1,
    }


def test_sizes_that_are_not_known(tmp_path: Path) -> None:
    """The node is told with the symbol to give; a symbol that the model does not have is refused."""
    path = model(tmp_path / "a.onnx")
    assert Model(path, {}).calls()[0].unknown == (
        "X must have sizes that are known (got [batch, 3, height]); give --size height=N"
    )
    with pytest.raises(UsageError, match=r"batch, height \(got 'heigth'\); did you mean 'height'\?"):
        Model(path, {"heigth": 5}).calls()


def test_sizes_that_inference_makes_up(tmp_path: Path) -> None:
    """What --size would refuse is not advised: the sizes of the inputs are, and with these the call is known."""
    weights = [
        helper.make_tensor(name, TensorProto.FLOAT, shape, np.ones(shape, np.float32).tobytes(), raw=True)
        for name, shape in (("c", (8, 3, 3, 3)), ("w", (8, 2, 4, 4)))
    ]
    nodes = [helper.make_node("Conv", ["x", "c"], ["middle"], strides=[2, 2]), node("middle", "w", "y")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "height", "the width"])]
    path = saved(tmp_path, nodes, inputs, weights)
    advice = "; they may follow from the model's inputs: give --size height=N --size 'the width'=N"
    assert Model(path, {}).calls()[0].unknown.endswith(advice)
    case = Model(path, {"height": 9, "the width": 7}).calls()[0].case
    assert case is not None
    assert case.x.shape == (1, 8, 4, 3)


@pytest.mark.parametrize(
    ("nodes", "unknown"),
    [
        ([helper.make_node("ConvTranspose", ["x"], ["y"])], "must have the inputs X and W"),
        (
            [helper.make_node("Mystery", ["w"], ["made"], domain="own"), node("x", "made", "y")],
            "the model does not say the shape of 'made'; declare it",
        ),
        ([node("flat", "w", "y")], "'flat' must have a spatial axis (got 2 dimensions)"),
        (
            [node("hidden", "w", "y")],
            "(got [1, 1, ?]); they may follow from the model's inputs: give --size 'hidden[2]'=N",
        ),
        ([node("x", "w", "y", strides=[1.5])], "strides must be of type INTS (got FLOATS)"),
        ([node("x", "w", "y", pads=1)], "pads must be of type INTS (got INT)"),
        ([node("x", "w", "y", group=[1])], "group must be of type INT (got INTS)"),
        ([node("x", "w", "y", auto_pad=1)], "auto_pad must be of type STRING (got INT)"),
        ([node("whole", "w", "y")], "X must be of a floating point type (got int64)"),
    ],
    ids=["inputs", "shape", "axis", "negative", "fraction", "integer", "list", "number", "integers"],
)
def test_what_a_model_does_not_say(tmp_path: Path, nodes: list[onnx.NodeProto], unknown: str) -> None:
    inputs = [
        helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (
            ("x", TensorProto.FLOAT, [1, 1, 4]),
            ("flat", TensorProto.FLOAT, [1, 4]),
            ("hidden", TensorProto.FLOAT, [1, 1, -1]),
            ("whole", TensorProto.INT64, [1, 1, 4]),
            ("w", TensorProto.FLOAT, [1, 1, 3]),
        )
    ]
    (call,) = Model(saved(tmp_path, nodes, inputs), {}).calls()
    assert call.case is None
    assert unknown in call.unknown


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"got: No such file or directory"):
        Model(tmp_path / "absent.onnx", {}).calls()
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(FileError, match="must be an ONNX model"):
        Model(tmp_path / "text.onnx", {}).calls()
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    with pytest.raises(FileError, match="must have a node ConvTranspose"):
        Model(saved(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [x]), {}).calls()


PLANE, FILTER, FLOAT, HALF = (1, 4, 4, 4), (4, 2, 3, 3), TensorProto.FLOAT, TensorProto.FLOAT16


@pytest.mark.parametrize("declared", ["initializer", "input"])
@pytest.mark.parametrize(
    ("constraint", "data", "filters", "bias", "types", "attributes"),
    [
        ("bias-length", PLANE, FILTER, (1,), (FLOAT, FLOAT), {}),
        ("bias-length", (1, 8, 4, 4), (8, 4, 3, 3), (8,), (FLOAT, FLOAT), {}),
        ("bias-rank", PLANE, FILTER, (1, 2), (FLOAT, FLOAT), {}),
        ("bias-rank", PLANE, FILTER, (), (FLOAT, FLOAT), {}),
        ("filter-channels-match", (1, 5, 4, 4), FILTER, (2,), (FLOAT, FLOAT), {}),
        ("filter-rank-matches", PLANE, (4, 2, 3), (2,), (FLOAT, FLOAT), {}),
        ("filter-rank-matches", PLANE, (4, 2), (2,), (FLOAT, FLOAT), {}),
        ("one-type", PLANE, FILTER, (2,), (HALF, FLOAT), {}),
        ("one-type", PLANE, FILTER, (2,), (FLOAT, HALF), {}),
        ("kernel-shape-matches", PLANE, FILTER, (2,), (FLOAT, FLOAT), {"kernel_shape": [2, 2]}),
        ("channels-divisible", PLANE, FILTER, (6,), (FLOAT, FLOAT), {"group": 3}),
        ("pads-length", PLANE, FILTER, (2,), (FLOAT, FLOAT), {"pads": [1, 1]}),
        ("auto-pad-known", PLANE, FILTER, (2,), (FLOAT, FLOAT), {"auto_pad": "SAME"}),
    ],
)
def test_an_invalid_model(
    tmp_path: Path,
    declared: str,
    constraint: str,
    data: tuple[int, ...],
    filters: tuple[int, ...],
    bias: tuple[int, ...],
    types: tuple[int, int],
    attributes: dict[str, Any],
) -> None:
    """A model whose operands break a constraint is not ported: the exit code is 1, and the constraint is named."""
    operands = {"w": (types[0], filters), "b": (types[1], bias)}
    constants = [
        helper.make_tensor(name, kind, shape, np.zeros(int(np.prod(shape)))) for name, (kind, shape) in operands.items()
    ]
    fed = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in operands.items()]
    wrong = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], name="wrong", **attributes)
    inputs = [helper.make_tensor_value_info("x", FLOAT, ["N", *data[1:]])]
    inputs, constants = (inputs + fed, []) if declared == "input" else (inputs, constants)
    code, text = port("--model", str(saved(tmp_path, [wrong], inputs, constants)), "--to", OPENVINO)
    assert code == 1
    assert f"[{constraint}: " in text


def test_what_a_model_does_not_say_of_its_operands_is_taken_as_valid(tmp_path: Path) -> None:
    """A batch, channels and a bias without sizes are no reason to refuse a call."""
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, ["N", "C", 4, 4]),
        helper.make_tensor_value_info("w", FLOAT, FILTER),
        helper.make_tensor_value_info("b", FLOAT, ["M"]),
    ]
    call = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], group=2)
    path = saved(tmp_path, [call], inputs)
    case = Model(path, {}).calls()[0].case
    assert case is not None
    assert case.b is not None
    assert (case.x.shape, case.b.shape) == ((1, 4, 4, 4), (4,))
    assert port("--model", str(path), "--to", ONNX)[0] == 0


# The command.


def port(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(port_command, arguments, standalone_mode=False, catch_exceptions=False)
    return result.return_value, result.stdout


CALL = ("--spatial", "5", "--kernel", "4", "--strides", "2", "--auto-pad", "same_upper", "--output-shape", "9")


def test_the_command_prints_json(tmp_path: Path) -> None:
    code, text = port("--model", str(model(tmp_path / "a.onnx")), "--to", OPENVINO, "--size", "height=5", "--json")
    assert code == 0
    first, *others = json.loads(text)
    assert first["name"] == "to-middle"
    assert first["write"] == {"strides": [2], "dilations": [1], "pads_begin": [1], "pads_end": [2]}
    assert first["gives"] == first["write_gives"]
    assert first["complete"] is True
    assert [other["name"] for other in others] == ["to-inner", "to-inner"]


def test_the_command_ends_with_one_where_a_call_cannot_be_ported(tmp_path: Path) -> None:
    """Where the model says too little, or the source expects no value, the reason is printed."""
    code, text = port("--model", str(model(tmp_path / "a.onnx")), "--to", OPENVINO)
    assert code == 1
    assert f"to-middle\n{ONNX} → {OPENVINO}\n  cannot be ported: X must have sizes that are known" in text
    code, text = port("--from", ONNX, "--to", OPENVINO, *CALL, "--pads-begin", "1")
    assert (code, "gives no value for it" in text) == (1, True)

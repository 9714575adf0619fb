"""Ports between runtimes: what one computes, written so that the other gives it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import helper

from exported_models import constant, made, up, weights, write
from tconv import conv_transpose
from tconv.cases.case import Case, Operand
from tconv.cli.port_command import command
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.errors import UsageError
from tconv.execution.asking import Asking
from tconv.investigation.random_cases import drawn
from tconv.porting.port import ported as port_of
from tconv.porting.runtime import Runtime
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from pathlib import Path

ONNX = "onnx/ConvTranspose-22"
STRIDE_ABOVE_KERNEL = ("--spatial", "5,5", "--kernel", "2,2", "--strides", "4", "--auto-pad", "SAME_UPPER")
BEYOND = ("--spatial", "5", "--kernel", "3", "--strides", "2", "--output-shape", "14")


def ported(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
    result = CliRunner().invoke(command, [*map(str, arguments), "--json"], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.return_value, json.loads(result.stdout)


def test_what_a_runtime_computes_is_ported_and_not_what_its_text_says_first() -> None:
    """ONNX's first reading gives 20, and onnxruntime gives 18."""
    code, (call,) = ported("--from-runtime", "onnxruntime", "--from", ONNX, "--to", ONNX, *STRIDE_ABOVE_KERNEL)
    assert (code, call["gives"]["output"]) == (0, [18, 18])
    code, (call,) = ported("--from", ONNX, "--to", ONNX, *STRIDE_ABOVE_KERNEL)
    assert (code, call["gives"]["output"]) == (0, [20, 20])


def test_a_runtime_that_is_not_there_is_known_by_pins_and_waivers() -> None:
    """It gives what its pins say, and does not run what a waiver says that it refuses in this version."""
    x, w = Operand((1, 1, 5), DType.F32), Operand((1, 1, 2), DType.F32)
    known = Runtime(Asking("onnxruntime==1.32"), runs=False)
    given = known.gives(Case("c", Attributes(strides=(4,), auto_pad="same_upper"), x, w), DIALECTS[ONNX])
    assert isinstance(given, Geometry)
    assert given.output == (18,)
    refused = known.gives(Case("c", Attributes(strides=(2,), output_shape=(14,)), x, w), DIALECTS[ONNX])
    assert isinstance(refused, str)
    assert "is known not to run it" in refused


def test_what_the_source_refuses_is_not_ported() -> None:
    code, (call,) = ported("--from-runtime", "onnxruntime", "--to", "torch", *BEYOND)
    assert code == 1
    assert "Explicit output_shape is inconsistent" in call["cannot"]


def test_what_the_target_refuses_is_written_differently() -> None:
    """The same words are refused by onnxruntime, so other words are written, which it was seen to run."""
    code, (call,) = ported("--from", ONNX, "--to-runtime", "onnxruntime", *BEYOND)
    assert code == 0
    assert "output_shape" not in call["write"]
    assert "was run" in call["by"]


def test_a_model_goes_to_openvino(tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="there is no OpenVINO; tox -e conformance-all has it")
    path = write("keras-output-shape", tmp_path)
    code, (call,) = ported("--model", path, "--from-runtime", "onnxruntime", "--to-runtime", "openvino-onnx")
    assert code == 0
    assert call["write"]["pads"] == [0, 0, 1, 1]


def test_an_answer_for_every_size_needs_none(tmp_path: Path) -> None:
    """SAME without output_shape does not depend on sizes; with output_shape sizes are asked for."""
    code, (call,) = ported(
        "--from", ONNX, "--to", "torch", "--kernel", "3", "--strides", "2", "--auto-pad", "same_lower"
    )
    assert (code, call["every_size"]) == (0, True)
    model = made([up("x", "w", "y", strides=[2], auto_pad="SAME_LOWER")], [constant("w", weights(1, 1, 3))],
                 [1, 1, "time"], 17)  # fmt: skip
    onnx.save(model, tmp_path / "a.onnx")
    code, (call,) = ported("--model", tmp_path / "a.onnx", "--to", "torch")
    assert (code, call["every_size"]) == (0, True)
    with pytest.raises(UsageError, match="--spatial"):
        ported("--from", ONNX, "--to", "torch", "--kernel", "3", "--output-shape", "9")


def test_a_reading_need_not_make_a_difference() -> None:
    """A reading that the text has is taken where it matters; one that it does not have is refused."""
    plain = ("--from", ONNX, "--to", ONNX, "--kernel", "3", "--strides", "2")
    assert ported(*plain, "--reading", "negative-same-shrunk")[0] == 0
    with pytest.raises(UsageError, match="--reading must be a reading of"):
        ported(*plain, "--reading", "nothing")


class TensorFlow:
    """What the line of code needs of TensorFlow, by numpy and tconv's reference of TFLite's text."""

    nn: ClassVar[type]
    shape = staticmethod(np.shape)
    transpose = staticmethod(np.transpose)
    pad = staticmethod(np.pad)

    @staticmethod
    def conv2d_transpose(x: Any, w: Any, shape: Any, strides: Any, padding: str) -> Any:  # noqa: ANN401 - arrays
        """Return the output; w is (K..., O, C)."""
        y = conv_transpose(
            x, np.transpose(w, (2, 0, 1, 3)), dialect="tflite/TransposeConv", strides=strides,
            auto_pad={"SAME": "same_upper", "VALID": "valid"}[padding], output_shape=list(shape[1:3]),
        )  # fmt: skip
        assert y.shape == tuple(shape)
        return y


TensorFlow.nn = TensorFlow


@pytest.mark.parametrize("source", [ONNX, "openvino/ConvolutionBackpropData-1", "onednn/ConvTranspose-1"])
@pytest.mark.parametrize(
    "words",
    [
        {"auto_pad": "same_upper", "output_shape": [10, 12]},
        {"auto_pad": "same_lower", "output_shape": [9, 12]},
        # Longer than what the taps reach: the line of code pads.
        {"auto_pad": "same_upper", "output_shape": [13, 16]},
        {"pads_begin": [0, 2], "pads_end": [1, 1]},
        {"pads_begin": [1, 0], "output_padding": [1, 1]},
    ],
)
@pytest.mark.parametrize("target", ["torch", "tflite"])
def test_the_code_runs_in_the_layouts_of_the_source(source: str, words: dict[str, Any], target: str) -> None:
    """Operands go in as the source has them, and so comes the output: the line permutes them, crops and pads."""
    if "output_shape" in words and source.startswith("onednn"):
        words = {"auto_pad": words["auto_pad"]}
    scope: dict[str, Any] = {"tf": TensorFlow}
    if target == "torch":
        scope["torch"] = pytest.importorskip("torch")
    dialect, sizes = DIALECTS[source], {"N": 2, "C": 3, "I": 3, "O": 4}
    axes = {"x": str(dialect.data_format), "w": str(dialect.filter_format)}
    spatial = {"x": (5, 6), "w": (3, 4)}
    shapes = {
        name: [size for letter in layout for size in (spatial[name] if letter == "X" else (sizes[letter],))]
        for name, layout in axes.items()
    }
    operands = {name: np.arange(1.0, 1 + np.prod(shape)).reshape(shape) for name, shape in shapes.items()}
    has_bias = source == ONNX
    operands |= {"b": np.arange(4.0)} if has_bias else {}
    arguments = [f"--{name.replace('_', '-')}={value if isinstance(value, str) else ','.join(map(str, value))}"
                 for name, value in words.items()]  # fmt: skip
    code, (call,) = ported("--from", source, "--to", target, "--spatial", "5,6", "--kernel", "3,4", "--strides", "2",
                           *arguments, *(["--bias"] if has_bias else []))  # fmt: skip
    assert code == 0
    wrapped = scope["torch"].tensor if target == "torch" else np.asarray
    scope |= {name: wrapped(array) for name, array in operands.items()}
    exec(call["code"], scope)  # noqa: S102 - it is what a user would paste
    expected = conv_transpose(
        operands["x"], operands["w"], operands.get("b"), dialect=source, strides=[2, 2], dilations=[1, 1],
        **({"pads_begin": [0, 0], "pads_end": [0, 0]} if source.startswith("onednn") else {}) | words,
    )  # fmt: skip
    np.testing.assert_array_equal(np.asarray(scope["y"]), expected)


def test_the_nodes_behind_get_what_a_node_gives(tmp_path: Path) -> None:
    """The model declares 20x20 behind the first node; onnxruntime gives 18x18, and so does its reading."""
    nodes = [
        up("x", "w", "a", strides=[4, 4], auto_pad="SAME_UPPER"),
        helper.make_node("Relu", ["a"], ["b"]),
        up("b", "w", "y", strides=[2, 2]),
    ]
    model = made(nodes, [constant("w", weights(3, 3, 2, 2))], [1, 3, 5, 5], 17)
    model.graph.value_info.append(helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [1, 3, 20, 20]))
    onnx.save(model, tmp_path / "a.onnx")
    for words in (["--from-runtime", "onnxruntime"], ["--reading", "negative-same-shrunk"]):
        code, calls = ported("--model", tmp_path / "a.onnx", "--to", "torch", *words)
        assert (code, [call["gives"]["output"] for call in calls]) == (0, [[18, 18], [36, 36]])
    code, calls = ported("--model", tmp_path / "a.onnx", "--to", "torch")
    assert (code, [call["gives"]["output"] for call in calls]) == (0, [[20, 20], [40, 40]])


@pytest.mark.parametrize("source", ["onnxruntime", "wrong_backends:PadsSwapped"])
def test_what_is_written_gives_what_the_source_gives(source: str) -> None:
    """Random calls of a source, written for onnxruntime, have the same geometry there; most of them can be written."""
    dialect, written = DIALECTS[ONNX], 0
    with ExitStack() as stack:
        ends = [Runtime(Asking(name), runs=True) for name in (source, "onnxruntime")]
        for end in ends:
            stack.callback(end.close)
        for case in islice(drawn(49, dialect, broken=False), 60):
            followed = ends[0].gives(case, dialect)
            if isinstance(followed, Geometry):
                port = port_of(case, dialect, dialect, followed=followed, accepts=ends[1].accepts)
                if port.written is not None:
                    written += 1
                    assert ends[1].gives(port.written.case, dialect) == port.written.values.primary.geometry
    assert written > 20


def test_a_source_that_follows_no_reading_is_ported_by_its_values() -> None:
    """What a runtime computes need not be what a text says: its integers show where its output lies."""
    code, (call,) = ported("--from-runtime", "wrong_backends:PadsSwapped", "--from", ONNX, "--to", "torch",
                           "--spatial", "5", "--kernel", "4", "--strides", "2", "--pads-begin", "2")  # fmt: skip
    assert (code, call["gives"]["pads_begin"], call["gives"]["output"]) == (0, [0], [10])

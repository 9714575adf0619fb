"""The pages on the Python interface and on porting: their Python runs, and their commands print what they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

import tconv
from tconv import assert_conforms, conv_transpose
from tconv.cli.port_command import command as port_command

DOCS = Path(__file__).parent.parent / "docs"
API = "how-to/test-your-function.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    return FENCE.findall((DOCS / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("code", [text for language, text in blocks(API) if language == "python"])
def test_the_python_of_the_page_runs(code: str) -> None:
    exec(compile(code, "<docs/how-to/test-your-function.md>", "exec"), {"__name__": "docs"})  # noqa: S102 - it is our own page


def test_the_error_of_the_page_is_the_error() -> None:
    """The message that the page shows is that of an output with OpenVINO's formula; further misreadings follow it."""
    import numpy as np  # noqa: PLC0415 - as on the page

    x, w = np.array([[[1, 2, 3]]], np.float32), np.array([[[1, 10, 100]]], np.float32)
    call = {"strides": 2, "auto_pad": "same_upper", "output_shape": 6}
    y = conv_transpose(x, w, dialect="openvino/ConvolutionBackpropData-1", **call).astype(np.float32)  # type: ignore[arg-type]
    with pytest.raises(AssertionError) as caught:
        assert_conforms(y, x, w, **call)  # type: ignore[arg-type]
    (shown,) = (text for language, text in blocks(API) if language == "text")
    assert str(caught.value).startswith(shown.rstrip("\n"))


def test_every_name_is_on_the_page() -> None:
    page = (DOCS / API).read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)", page))
    data = {"Geometry", "Tolerance", "Violation", "__version__"}
    assert set(tconv.__all__) - data <= told


PORTS = blocks("how-to/port.md")


@pytest.mark.parametrize(
    ("line", "shown"),
    [(PORTS[n][1], PORTS[n + 1][1]) for n in range(len(PORTS) - 1) if PORTS[n + 1][0] == "text"],
    ids=["openvino", "onnx"],
)
def test_a_command_of_the_page_prints_what_the_page_says(line: str, shown: str) -> None:
    _, _, *arguments = shlex.split(line)
    result = CliRunner().invoke(port_command, arguments, standalone_mode=False, catch_exceptions=False)
    assert result.stdout == shown


def test_the_command_for_a_model_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = (text for language, text in PORTS if language == "sh" and "--size" in text)
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], auto_pad="SAME_UPPER")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1, "height", "width"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    w = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 3, 3], [1.0] * 9)
    graph = helper.make_graph([node], "graph", [x], [y], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(port_command, shlex.split(line)[2:], standalone_mode=False, catch_exceptions=False)
    assert result.return_value == 0
    assert "pads_begin=[0, 0], pads_end=[1, 1]" in result.stdout

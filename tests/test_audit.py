"""The audit of a model: what is said of each node, by the text, by what is known, and by running it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

from exported_models import FLOAT, MODELS, constant, made, quantised, up, weights, write
from strategies import every, part
from tconv.cli.audit_command import command
from tconv.dialects import DIALECTS
from tconv.errors import BackendMissing, DialectError, FileError, UsageError
from tconv.porting.model import Model
from tconv.porting.neighbourhood import evaluate
from wrong_backends.seeded import FAULTS, NONE

if TYPE_CHECKING:
    from pathlib import Path

SEEDED = "wrong_backends:Seeded"


def audited(*arguments: object) -> tuple[int, Any]:
    """Return the exit code and the JSON of an audit."""
    result = CliRunner().invoke(command, [*map(str, arguments), "--json"], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.return_value, json.loads(result.output)


def unsafe_nodes(audit: Any) -> set[str]:  # noqa: ANN401 - JSON
    """Return the names of the nodes of which a run says that they are unsafe."""
    return {
        node["node"]
        for model in audit["models"]
        for node in model["nodes"]
        for finding in node["findings"]
        if finding["answer"] == "unsafe"
    }


def test_no_fault_is_found_where_there_is_none(tmp_path: Path) -> None:
    code, audit = audited(*(write(name, tmp_path) for name in part(list(MODELS), 3)), "--backend", SEEDED)
    assert (code, [entry["answer"] for entry in audit["runtimes"]]) == (0, ["safe"])
    assert unsafe_nodes(audit) == set()
    assert all(
        {"integers", "own filter"} <= {finding["by"] for finding in node["findings"]}
        for model in audit["models"]
        for node in model["nodes"]
    )


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.thorough) if n % 5 else n for n in range(0, NONE, every(1))]
)
def test_a_seeded_fault_is_found(tmp_path: Path, number: int) -> None:
    fault = FAULTS[number]
    code, audit = audited(write(fault.model, tmp_path), "--backend", SEEDED, "--option", f"fault={number}")
    assert code == 1
    assert unsafe_nodes(audit) == {fault.node}


def test_what_a_runtime_is_known_to_do_needs_no_runtime(tmp_path: Path) -> None:
    """By its pins onnxruntime gives another size if the stride exceeds the kernel; that is not run."""
    path = write("keras-same", tmp_path)
    code, audit = audited(path, "--no-run", "--backend", "onnxruntime==1.32")
    (node,) = audit["models"][0]["nodes"]
    (known,) = [finding for finding in node["findings"] if finding["by"] == "known"]
    assert code == 1
    assert (known["answer"], known["kind"]) == ("unsafe", "reading")
    assert "[18, 18]" in known["says"]
    assert {finding["kind"] for finding in node["findings"]} >= {"valid", "disputed", "other-text"}


def test_a_known_deviation_is_of_versions(tmp_path: Path) -> None:
    model = made([up("x", "w", "y", strides=[2], output_padding=[2], dilations=[3])],
                 [constant("w", weights(1, 1, 3))], [1, 1, 5], 11)  # fmt: skip
    onnx.save(model, tmp_path / "a.onnx")
    found = {}
    for version in ("1.32", "0.1"):
        code, audit = audited(tmp_path / "a.onnx", "--no-run", "--backend", f"onnxruntime=={version}")
        findings = audit["models"][0]["nodes"][0]["findings"]
        found[version] = [finding["answer"] for finding in findings if finding["kind"] == "refused-valid"]
        assert code == 0
    assert found == {"1.32": ["to look at"], "0.1": [None]}


def test_an_invalid_node(tmp_path: Path) -> None:
    model = made([up("x", "w", "y", output_padding=[1], strides=[1])], [constant("w", weights(1, 1, 3))], [1, 1, 5], 11)
    onnx.save(model, tmp_path / "a.onnx")
    code, audit = audited(tmp_path / "a.onnx", "--backend", SEEDED)
    assert code == 1
    (finding,) = audit["models"][0]["nodes"][0]["findings"]
    assert (finding["by"], finding["kind"]) == ("text", "invalid")


def test_accepted_findings(tmp_path: Path) -> None:
    path = write("keras-same", tmp_path)
    _, audit = audited(path)
    lines = {finding["accept"] for node in audit["models"][0]["nodes"] for finding in node["findings"]}
    (tmp_path / "accepted.txt").write_text("# known\n" + "\n".join(lines), encoding="utf-8")
    assert audited(path, "--accept", tmp_path / "accepted.txt")[0] == 0
    (tmp_path / "accepted.txt").write_text("another.onnx up_b onnxruntime reading", encoding="utf-8")
    assert audited(path, "--accept", tmp_path / "accepted.txt")[0] == 1


def test_the_page_says_what_the_terminal_says(tmp_path: Path) -> None:
    """It is one file that loads nothing and has no script; what comes from the model is text in it."""
    path = write("keras-same", tmp_path)
    model = onnx.load(path)
    model.graph.node[1].name = "<script>alert()</script>"
    onnx.save(model, path)
    audited(path, "--no-run", "--backend", "onnxruntime==1.32", "--page", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert {"negative-same-shrunk", "keras-same.onnx", "unsafe"} <= set(re.findall(r"[\w.-]+", page))
    assert "<script" not in page
    assert "src=" not in page


# Among neighbours.


def neighbourhoods(audit: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401 - JSON
    """Return what is found of each node among its neighbours."""
    nodes = [node for model in audit["models"] for node in model["nodes"]]
    return {node["node"]: finding for node in nodes for finding in node["findings"] if finding["by"] == "neighbourhood"}


def test_what_an_optimisation_breaks_is_unsafe_if_integers_show_it(tmp_path: Path) -> None:
    """The operator is right alone; behind it a Relu is lost, and not without optimisations."""
    code, audit = audited(write("decoder", tmp_path), "--backend", "wrong_backends:Fusing")
    found = neighbourhoods(audit)
    assert code == 1
    assert {name: finding["answer"] for name, finding in found.items()} == {"up_c": "unsafe", "up_y": "unsafe"}
    assert "without optimisations it is right" in found["up_c"]["says"]
    code, audit = audited(write("decoder", tmp_path), "--backend", "wrong_backends:Fusing", "--option", "optimise=no")
    assert (code, {finding["answer"] for finding in neighbourhoods(audit).values()}) == (0, {"safe"})


def test_with_real_weights_a_difference_is_to_be_looked_at(tmp_path: Path) -> None:
    """BatchNormalization keeps no integers exact: no bound follows, and the exit code stays 0."""
    code, audit = audited(write("paddle", tmp_path), "--backend", "wrong_backends:Fusing")
    assert {finding["answer"] for finding in neighbourhoods(audit).values()} == {"safe"}
    nodes = [
        up("x", "w", "a", strides=[2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Sigmoid", ["b"], ["y"]),
    ]
    onnx.save(made(nodes, [constant("w", weights(2, 2, 3))], [1, 2, 5], 17), tmp_path / "a.onnx")
    code, audit = audited(tmp_path / "a.onnx", "--backend", "wrong_backends:Fusing")
    assert (code, neighbourhoods(audit)["up_a"]["answer"]) == (0, "to look at")


def test_a_node_in_a_branch_is_asked_alone(tmp_path: Path) -> None:
    _, audit = audited(write("branch", tmp_path), "--backend", SEEDED)
    found = neighbourhoods(audit)
    assert {finding["kind"] for finding in found.values()} == {"not-asked"}


def test_a_computed_bias_of_another_shape_is_no_fault_of_the_runtime(tmp_path: Path) -> None:
    """The shape of what Compress leaves is not inferred, so the reader takes the bias for the right one."""
    chosen = constant("chosen", np.array([True, True, True, False]))
    nodes = [onnx.helper.make_node("Compress", ["b4", "chosen"], ["b"], axis=0), up("x", "w", "y", "b", strides=[2])]
    constants = [constant("w", weights(2, 2, 3)), constant("b4", weights(4, 1)[:, 0]), chosen]
    onnx.save(made(nodes, constants, [1, 2, 5], 17), tmp_path / "a.onnx")
    _, audit = audited(tmp_path / "a.onnx", "--backend", SEEDED)
    assert unsafe_nodes(audit) == set()


# Recipes.


@pytest.mark.parametrize("bias", [False, True])
def test_a_fixed_model_gives_on_the_runtime_what_the_text_says_of_the_old_one(tmp_path: Path, bias: bool) -> None:  # noqa: FBT001
    """The stride exceeds the kernel: the node is written with a Pad behind it, and the whole model is right."""
    more = ("b",) if bias else ()
    constants = [constant("w", weights(3, 5, 2, 2)), *([constant("b", weights(5, 1)[:, 0])] if bias else [])]
    model = made([up("x", "w", "y", *more, strides=[4, 4], auto_pad="SAME_UPPER")], constants, [1, 3, 5, 5], 13)
    onnx.save(model, tmp_path / "a.onnx")
    code, audit = audited(tmp_path / "a.onnx", "--fix", tmp_path / "fixed.onnx")
    assert (code, audit["models"][0]["nodes"][0]["proven"]) == (1, True)
    x = weights(1, 3, 5, 5)
    session = onnxruntime.InferenceSession(str(tmp_path / "fixed.onnx"), providers=["CPUExecutionProvider"])
    expected = evaluate(model, {"x": x}, DIALECTS["onnx/ConvTranspose-11"])
    assert expected.shape == (1, 5, 20, 20)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-5, atol=1e-6)
    assert audited(tmp_path / "fixed.onnx")[0] == 0


def test_a_fix_is_of_one_model_and_for_every_size(tmp_path: Path) -> None:
    """A recipe that depends on sizes is not written where the model leaves them open."""
    with pytest.raises(UsageError, match="one model"):
        audited(write("decoder", tmp_path), write("branch", tmp_path), "--fix", tmp_path / "fixed.onnx")
    model = made(
        [up("x", "w", "y", strides=[2], output_shape=[14])], [constant("w", weights(1, 1, 3))], [1, 1, "time"], 11
    )
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(UsageError, match="declare the sizes"):
        audited(tmp_path / "a.onnx", "--size", "time=5", "--fix", tmp_path / "fixed.onnx")


# Sizes.


def test_sizes_by_symbol_and_by_axis(tmp_path: Path) -> None:
    """Symbols may contain dots; an axis without a symbol is named by its input."""
    path = write("paddle", tmp_path)
    sizes = [f"--size=p2o.DynamicDimension.{axis}={size}" for axis, size in ((1, 6), (2, 5))]
    _, audit = audited(path, "--no-run", *sizes)
    assert [node["data"] for node in audit["models"][0]["nodes"]] == [[1, 12, 6, 5], [1, 8, 12, 10]]
    model = made([up("x", "w", "y", strides=[2])], [constant("w", weights(1, 1, 3))], [1, 1, -1], 11)
    onnx.save(model, tmp_path / "a.onnx")
    _, audit = audited(tmp_path / "a.onnx", "--no-run", "--size", "x[2]=7")
    assert audit["models"][0]["nodes"][0]["data"] == [1, 1, 7]
    with pytest.raises(UsageError, match="did you mean 'x\\[2\\]'"):
        audited(tmp_path / "a.onnx", "--size", "x[3]=7")
    with pytest.raises(UsageError, match="--size must be NAME=N"):
        audited(tmp_path / "a.onnx", "--size", "x=big")


def test_the_nodes_behind_get_the_size_of_the_text(tmp_path: Path) -> None:
    """Inference finds another size if the stride exceeds the kernel."""
    nodes = [
        up("x", "w", "a", strides=[4, 4], auto_pad="SAME_UPPER"),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Add", ["b", "c"], ["d"]),
        up("d", "w", "y", strides=[2, 2]),
    ]
    constants = [constant("w", weights(3, 3, 2, 2)), constant("c", weights(1, 3, 1, 1))]
    onnx.save(made(nodes, constants, [1, 3, 5, 5], 17), tmp_path / "a.onnx")
    _, audit = audited(tmp_path / "a.onnx", "--backend", SEEDED)
    assert [node["data"] for node in audit["models"][0]["nodes"]] == [[1, 3, 5, 5], [1, 3, 20, 20]]
    assert {finding["answer"] for finding in neighbourhoods(audit).values()} == {"safe"}


def test_a_small_output_shape_and_an_open_batch(tmp_path: Path) -> None:
    """An output_shape may be too small for the sizes that are tried first; the neighbours of a node get a batch."""
    nodes = [
        up("x", "w", "a", strides=[2, 2], output_shape=[9, 10]),
        helper.make_node("Transpose", ["a"], ["y"], perm=[0, 2, 3, 1]),
    ]
    onnx.save(made(nodes, [constant("w", weights(2, 2, 3, 3))], ["N", 2, "h", "w"], 13), tmp_path / "a.onnx")
    _, audit = audited(tmp_path / "a.onnx", "--backend", SEEDED)
    assert [node["data"] for node in audit["models"][0]["nodes"]] == [[1, 2, 8, 8]]
    onnx.save(made(nodes, [constant("w", weights(2, 2, 3, 3))], ["N", 2, 5, 5], 13), tmp_path / "b.onnx")
    _, audit = audited(tmp_path / "b.onnx", "--backend", SEEDED)
    assert {finding["answer"] for finding in neighbourhoods(audit).values()} == {"safe"}


def test_sizes_that_other_nodes_cannot_have_are_no_finding(tmp_path: Path) -> None:
    """Without sizes some are tried; those that break another node of the model are left out, and said."""
    _, audit = audited(write("decoder", tmp_path), "--no-run")
    (model,) = audit["models"]
    assert model["sizes_were_tried"]
    assert {node["sizes"]["height"] for node in model["nodes"]} == {64, 96}
    (left_out,) = model["left_out"]
    assert "height=33" in left_out
    assert "Concat" in left_out


def test_data_of_which_the_model_says_nothing(tmp_path: Path) -> None:
    """A node behind an operator that onnx does not know is asked with sizes of tconv's own."""
    nodes = [helper.make_node("Mystery", ["x"], ["a"], domain="own"), up("a", "w", "y", strides=[2])]
    model = made(nodes, [constant("w", weights(2, 1, 3))], [1, 2, 5], 17)
    model.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(model, tmp_path / "a.onnx")
    code, audit = audited(tmp_path / "a.onnx", "--backend", SEEDED)
    assert (code, audit["models"][0]["nodes"][0]["data"]) == (0, [1, 2, 16])


# Filters.


@pytest.mark.parametrize("name", ["paddle", "keras-output-shape", "quantised-channels", "shared", "volume", "branch"])
def test_a_filter_behind_other_nodes_is_found(tmp_path: Path, name: str) -> None:
    """Constant nodes, Transpose, DequantizeLinear, Identity, Cast, and an initializer of an outer graph."""
    model = Model(write(name, tmp_path), {})
    for call in model.calls(16):
        assert call.node is not None
        assert call.case is not None
        w = model.constant(call.node.input[1], call.scope)
        assert w is not None
        assert w.shape == call.case.w.shape
        assert np.any(w != 0)


def test_weights_beside_the_model(tmp_path: Path) -> None:
    """The text needs no weights; to run a node, the file with its own is read, and one that is not there is named."""
    model = made(
        [up("x", "w", "a", strides=[2]), helper.make_node("Add", ["a", "other"], ["y"])],
        [constant("w", weights(3, 4, 8)), constant("other", weights(1, 4, 16))],
        [1, 3, 5],
        17,
    )
    path = tmp_path / "a.onnx"
    onnx.save(model, path, save_as_external_data=True, location="a.data", size_threshold=0)
    assert audited(path, "--backend", SEEDED)[0] == 0
    (tmp_path / "a.data").unlink()
    assert audited(path, "--no-run")[0] == 0
    with pytest.raises(FileError, match=r"must have its weights next to it, in a\.data"):
        audited(path, "--backend", SEEDED)


def test_weights_that_nobody_needs_are_not_read(tmp_path: Path) -> None:
    """A hundred nodes are judged by the text beside 100 MB of weights in a file that is not there."""
    w = weights(4, 4, 3, 3)
    nodes = [up(f"t{n}" if n else "x", "w", f"t{n + 1}", strides=[1, 1], pads=[1, 1, 1, 1]) for n in range(100)]
    nodes.append(helper.make_node("Add", ["t100", "big"], ["y"]))
    big = onnx.TensorProto(name="big", dims=[25_000_000], data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    big.external_data.add(key="location", value="nowhere.bin")
    onnx.save(made(nodes, [constant("w", w), big], [1, 4, 8, 8], 17), tmp_path / "a.onnx")
    code, audit = audited(tmp_path / "a.onnx", "--no-run")
    assert (code, len(audit["models"][0]["nodes"])) == (0, 100)


# Input that is wrong.


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        audited(tmp_path / "absent.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(FileError, match="must be an ONNX model"):
        audited(tmp_path / "text.onnx")
    with pytest.raises(FileError, match="must be a text of accepted findings"):
        audited(write("decoder", tmp_path), "--accept", tmp_path / "absent.txt")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.graph.node[1].input.__setitem__(1, "nowhere"), "up_b needs 'nowhere'"),
        (lambda m: m.graph.node.insert(0, m.graph.node.pop()), "needs 'b', which no node before it makes"),
        (lambda m: m.graph.node[1].output.__setitem__(0, "a"), "makes 'a', which is there already"),
        (lambda m: m.opset_import.pop(), "must say its operator set"),
        (lambda m: m.graph.node.pop(1) and m.graph.node.pop(), "must have a node ConvTranspose"),
        (lambda m: setattr(m.graph.initializer[0], "raw_data", b"four"), "the tensor 'w' what its type"),
        (lambda m: m.ClearField("graph"), "a file without a graph"),
    ],
)
def test_a_broken_graph_is_one_clear_line(tmp_path: Path, change: Any, says: str) -> None:  # noqa: ANN401 - a function
    model = onnx.load(write("keras-same", tmp_path))
    change(model)
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(FileError, match=re.escape(says)):
        audited(tmp_path / "a.onnx", "--backend", SEEDED)


def test_a_runtime_that_cannot_be_asked(tmp_path: Path) -> None:
    """One that is not there has an exit code of its own."""
    path = write("branch", tmp_path)
    with pytest.raises(BackendMissing):
        audited(path, "--backend", "nowhere:Runtime")
    with pytest.raises(UsageError, match="each runtime once"):
        audited(path, "--backend", "tract", "--backend", "tract")


def test_openvino_s_own_operations_read_no_onnx(tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="there is no OpenVINO; tox -e conformance-all has it")
    with pytest.raises(DialectError, match="openvino"):
        audited(write("branch", tmp_path), "--backend", "openvino")


@pytest.mark.parametrize(
    ("per_channel", "largest", "is_said"), [(False, 4, True), (True, 4, False), (False, 127, False)]
)
def test_a_scale_that_is_too_coarse_for_a_channel_is_the_models_fault(
    tmp_path: Path, *, per_channel: bool, largest: int, is_said: bool
) -> None:
    """The text of the audit says so of a filter with one scale and a wide range; it makes nothing unsafe."""
    onnx.save(quantised(per_channel=per_channel, largest=largest), tmp_path / "model.onnx")
    code, found = audited(tmp_path / "model.onnx")
    said = [each for each in found["models"][0]["nodes"][0]["findings"] if each["kind"] == "too-few-quanta"]
    assert (code, bool(said)) == (0, is_said)

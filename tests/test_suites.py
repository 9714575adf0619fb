"""Cases as tests of other projects: each suite is run, read or parsed by what is there, and ONNX's tests come back."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import unittest
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.backend.test.runner as onnx_runner
import onnxruntime
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

from tconv.corpus import Corpus
from tconv.datafiles import data_folder
from tconv.dialects import DIALECTS
from tconv.expectation.problem import Problem
from tconv.export.imported import import_tests
from tconv.export.suites import SUITES, curated_ids, suite_problems, write_suite
from tconv.export.suites.benchdnn import FILE as BENCHDNN
from tconv.export.suites.models import PREFIX
from tconv.export.suites.webnn import FILE as WEBNN
from tconv.gate.waivers import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from small_corpus import Command
    from tconv.cases.case import Case

BENCH = Path(__file__).parents[1] / "bench"
NODE = shutil.which("node")


def some(corpus: Corpus, name: str, count: int) -> list[Case]:
    """Return some of the cases that a suite can have, from all over the smoke tier."""
    cases = [problem.case for problem in suite_problems(name, corpus.cases("smoke"))]
    assert len(cases) > count
    return cases[:: len(cases) // count]


def _on(prepare: Callable[[onnx.ModelProto], Any]) -> Any:  # noqa: ANN401 - what onnx's runner takes
    """Return ONNX's interface of a backend for a function that returns what runs a model, and its inputs' names."""

    def prepared(model: onnx.ModelProto, _device: str = "CPU", **_: object) -> object:
        onnx.checker.check_model(model)
        evaluate, names = prepare(model)
        return SimpleNamespace(run=lambda inputs, **_: evaluate(None, dict(zip(names, inputs, strict=True))))

    return SimpleNamespace(
        is_compatible=lambda *_, **__: True, supports_device=lambda device: device == "CPU", prepare=prepared
    )


def _by_onnxruntime(model: onnx.ModelProto) -> tuple[Callable[..., list[Any]], list[str]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run, [one.name for one in session.get_inputs()]


def _by_reference(model: onnx.ModelProto) -> tuple[Callable[..., list[Any]], list[str]]:
    evaluator = ReferenceEvaluator(model)
    return evaluator.run, evaluator.input_names


def run_by_onnx(prepare: Callable[[onnx.ModelProto], Any], folder: Path) -> tuple[int, list[str]]:
    """Run a folder of node tests by ONNX's own runner; return how many there are, and the names of those that fail."""
    tests = load_model_tests(data_dir=str(folder.parent), kind=folder.name)
    # Of all kinds of tests that it would load, it gets these.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_runner, "load_model_tests", lambda kind: tests if kind == "node" else [])
        runner = onnx_runner.Runner(_on(prepare), "suites")
    result = unittest.TestResult()
    suite = unittest.TestSuite()
    for case in runner.test_cases.values():
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    suite.run(result)
    failed = [str(test).partition(" ")[0] for test, _ in (*result.failures, *result.errors)]
    return result.testsRun - len(result.skipped), failed


def test_curated_tests_pass_on_onnxruntime_and_on_the_reference_evaluator(corpus: Corpus, tmp_path: Path) -> None:
    """On the evaluator except those with groups, which it computes wrongly."""
    cases = [corpus.case(name) for name in sorted(curated_ids())]
    assert 20 <= len(cases) <= 30
    tests, left_out = write_suite("onnx-node-tests", cases, tmp_path / "tconv")
    assert (tests, left_out) == (len(cases), 0)
    asked, failed = run_by_onnx(_by_onnxruntime, tmp_path / "tconv")
    assert (asked, failed) == (tests, [])
    # The runner makes a method of each.
    names = [folder.name for folder in (tmp_path / "tconv").iterdir()]
    assert all(name.isidentifier() and name.startswith(PREFIX) for name in names)
    dense = [case for case in cases if (case.attributes.groups or 1) == 1]
    assert dense
    write_suite("onnx-node-tests", dense, tmp_path / "dense")
    assert run_by_onnx(_by_reference, tmp_path / "dense") == (len(dense), [])


def test_node_tests_come_back(corpus: Corpus, tmp_path: Path) -> None:
    cases = some(corpus, "onnx-node-tests", 20)
    write_suite("onnx-node-tests", cases, tmp_path)
    back = import_tests([tmp_path])
    assert len(back) == len(cases)
    dialect = DIALECTS["onnx/ConvTranspose-22"]
    theirs = {case.expected[0].values: case for case in back}
    for case in cases:
        problem = Problem(case, dialect)
        assert problem.output is not None
        found = theirs[tuple(map(float, problem.output.ravel()))]
        assert Problem(found, dialect).values.primary == problem.values.primary  # type: ignore[union-attr]
        for role, array in problem.operands.items():
            np.testing.assert_array_equal(Problem(found, dialect).operands[role], array)


def test_upstreams_own_tests_are_imported(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And they agree with the reference, which `tconv check` compares."""
    monkeypatch.syspath_prepend(BENCH)
    count = importlib.import_module("node_tests").write_upstream(tmp_path / "upstream")
    assert count >= 7
    done = command("import", "upstream", "--output", "upstream.yaml")
    assert done.returncode == 0, done.stderr
    checked = command("check", "upstream.yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert len(list(Corpus.load(tmp_path / "upstream.yaml").cases("full"))) == count


@pytest.mark.parametrize("content", ["nothing", "empty", "other model", "no data"])
def test_a_folder_that_is_no_test_gets_a_clear_error(content: str, command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "test"
    if content != "nothing":
        folder.mkdir()
    if content in {"other model", "no data"}:
        kind, names = ("Relu", "x") if content == "other model" else ("ConvTranspose", "xw")
        inputs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 1, 2]) for name in names]
        output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        graph = onnx.helper.make_graph([onnx.helper.make_node(kind, list(names), ["y"])], "test", inputs, [output])
        onnx.save(onnx.helper.make_model(graph), folder / "model.onnx")
    done = command("import", "test")
    assert done.returncode == 2
    assert done.stderr.startswith("test")
    assert "must " in done.stderr
    assert "\n" not in done.stderr.strip()


_ENTRY = re.compile(r'(?P<name>g|mb|ic|oc|[iokspd][dhw])(?P<value>\d+)_?|n"(?P<label>[^"\s]+)"$')


def descriptor(line: str) -> dict[str, int]:
    """Return the entries of a problem descriptor of benchdnn, by the grammar of its knobs_desc.md."""
    entries: dict[str, int] = {}
    at = 0
    while at < len(line):
        entry = _ENTRY.match(line, at)
        assert entry, line[at:]
        at = entry.end()
        if entry["name"]:
            assert entry["name"] not in entries, line
            entries[entry["name"]] = int(entry["value"])
    return entries


def lines_of(text: str) -> Iterator[tuple[dict[str, str], dict[str, int]]]:
    options: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("--"):
            options = dict(word.removeprefix("--").partition("=")[::2] for word in line.split())
            assert set(options) <= {"reset", "dt", "dir"}
            assert options["dir"] in {"FWD_D", "FWD_B"}
        elif not line.startswith("#"):
            yield options, descriptor(line)


def test_benchdnn_lines_are_of_its_grammar_and_of_the_reference(corpus: Corpus, tmp_path: Path) -> None:
    """Each output size is what the driver computes from the rest, with a padding at the end that may be negative."""
    write_suite("benchdnn", corpus.cases("smoke"), tmp_path)
    found = list(lines_of((tmp_path / BENCHDNN).read_text()))
    assert len(found) > 100
    for _, problem in found:
        axes = [axis for axis in "dhw" if f"i{axis}" in problem]
        assert axes == ["d", "h", "w"][-len(axes) :]
        for axis in axes:
            i, o, k, s, p, d = (problem[f"{of}{axis}"] for of in "iokspd")
            end = (i - 1) * s + (k - 1) * (d + 1) + 1 - p - o
            assert end < (k - 1) * (d + 1) + 1 + (i - 1) * s
        assert problem["ic"] % problem["g"] == problem["oc"] % problem["g"] == 0
    int8 = [problem for options, problem in found if "s8" in options["dt"]]
    assert any(max(problem.get(f"s{axis}", 1) for axis in "dhw") > 1 for problem in int8)
    assert any(max(problem.get(f"d{axis}", 0) for axis in "dhw") > 0 for problem in int8)


def test_benchdnn_graphs_are_connected(corpus: Corpus, tmp_path: Path) -> None:
    """Each tensor has one shape and one type, its strides are those of a dense one, and its producer comes first."""
    write_suite("benchdnn", corpus.cases("smoke"), tmp_path)
    graphs = [json.loads(file.read_text()) for file in tmp_path.glob("*.json")]
    assert {len(graph["graph"]) for graph in graphs} == {1, 4}
    for graph in graphs:
        tensors: dict[int, tuple[Any, ...]] = {}
        for node in graph["graph"]:
            for tensor in (*node["inputs"], *node["outputs"]):
                dense = [prod(tensor["shape"][axis + 1 :]) for axis in range(len(tensor["shape"]))]
                assert tensor["stride"] == dense
                known = tensors.setdefault(tensor["id"], (tensor["dtype"], tensor["shape"]))
                assert known == (tensor["dtype"], tensor["shape"])
            if node["kind"] == "ConvTranspose":
                attributes = {name: value["value"] for name, value in node["attrs"].items()}
                x, w, y = (each["shape"] for each in (*node["inputs"], *node["outputs"]))
                lists = ("strides", "dilations", "pads_begin", "pads_end", "output_padding")
                for axis, (s, d, b, e, op) in enumerate(zip(*(attributes[name] for name in lists), strict=True), 2):
                    assert y[axis] == (x[axis] - 1) * s + (w[axis] - 1) * d + 1 - b - e + op


@pytest.mark.skipif(NODE is None, reason="node is not there")
def test_webnn_data_are_what_an_engine_reads(corpus: Corpus, tmp_path: Path) -> None:
    """A JavaScript engine runs the script with what web-platform-tests has around it; each array has its shape."""
    cases = some(corpus, "webnn", 30)
    tests, _ = write_suite("webnn", cases, tmp_path)
    around = """
    const fs = require("node:fs");
    let given = null;
    globalThis.webnn_conformance_test = (tests) => { given = tests; };
    globalThis.buildAndExecuteGraph = () => {};
    (0, eval)(fs.readFileSync(process.argv[1], "utf8"));
    console.log(JSON.stringify(given));
    """
    done = subprocess.run(
        [str(NODE), "-e", around, str(tmp_path / WEBNN)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    given = json.loads(done.stdout)
    assert len(given) == tests
    by_id = {case.id: case for case in cases}
    for test in given:
        graph = test["graph"]
        (operator,) = graph["operators"]
        assert [list(argument) for argument in operator["arguments"]] == [["input"], ["filter"], ["options"]]
        options = operator["arguments"][2]["options"]
        arrays = {
            name.removeprefix("convTranspose2d"): np.array(one["data"]).reshape(one["descriptor"]["shape"])
            for name, one in {**graph["inputs"], **graph["expectedOutputs"]}.items()
        }
        problem = Problem(by_id[test["name"].split(" ", 2)[2]], DIALECTS["webnn/convTranspose2d"])
        assert problem.output is not None
        np.testing.assert_array_equal(arrays["Output"], problem.output)
        assert ("Bias" in arrays) == ("bias" in options)
        x, w, y = (arrays[name].shape[2:] for name in ("Input", "Filter", "Output"))
        for axis, pads in enumerate(np.reshape(options.get("padding", [0] * 4), (2, 2))):
            s, d = (options.get(name, [1, 1])[axis] for name in ("strides", "dilations"))
            size = (x[axis] - 1) * s + (w[axis] - 1) * d + 1 - sum(pads)
            if "outputSizes" in options:
                assert size <= y[axis] == options["outputSizes"][axis] < size + s
            else:
                assert y[axis] == size + options.get("outputPadding", [0, 0])[axis]


def test_openvino_reads_its_ir_back(corpus: Corpus, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    known = load(data_folder("waivers") / "openvino.yaml").waivers
    drawn = [case for case in some(corpus, "openvino-ir", 12) if case.x.dtype == "f32"]
    cases = [
        problem.case
        for problem in suite_problems("openvino-ir", drawn)
        if not any(
            problem.dialect.name in waiver.dialects and waiver.covers(problem.case.id, problem.case.facts)
            for waiver in known
        )
    ]
    assert len(cases) > len(drawn) / 2
    tests, _ = write_suite("openvino-ir", cases, tmp_path)
    core = openvino.Core()
    for file in tmp_path.glob("*.xml"):
        arrays = np.load(file.with_suffix(".npz"))
        compiled = core.compile_model(core.read_model(file), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        inputs = [arrays[f"input_{number}"] for number in range(len(arrays.files) - 1)]
        np.testing.assert_array_equal(compiled(inputs)[0], arrays["output"])
        tests -= 1
    assert tests == 0


@pytest.mark.parametrize("name", SUITES)
def test_the_command_writes_a_suite(name: str, command: Command, tmp_path: Path) -> None:
    if name == "openvino-ir":
        pytest.importorskip("openvino")
    done = command("export", "--suite", name, "padding/pads/**", "--output", "suite", "--tier", "smoke")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"{name}: [1-9]\d* cases in suite; \d+ are left out\n", done.stdout)
    assert any((tmp_path / "suite").iterdir())

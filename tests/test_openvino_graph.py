"""OpenVINO's own operations around the operator: each computes what the reference says, and a wrong one is seen."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tconv.backends.outcome import Produced
from tconv.cases.context import OPERATIONS
from tconv.dialects import find_dialect
from tconv.expectation.expected import NotApplicable
from tconv.expectation.problem import Problem
from tconv.export.snippet import snippet
from tconv.records.record import Change
from tconv.records.record_file import read
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from small_corpus import Command
    from tconv.cases.graph import Node
    from tconv.corpus import Corpus

pytest.importorskip("openvino", reason="there is no OpenVINO; tox -e conformance-all has it")

from tconv.backends import openvino_graph
from tconv.backends.openvino import OpenVino
from tconv.backends.openvino_graph import element_type, expression, node_name

UNSAID = {("bias", "int32"), ("bias", "node"), ("filter", "identity"), ("filter", "node")}
"""Levels that are not said: the operators have no bias, every constant is a node, operation set 13 has no Identity."""
SAID = [level for level in OPERATIONS if level not in UNSAID]
# That of the sizes only for what no other level has.
LEVEL_OF = {kind: of for of in sorted(SAID, key=lambda of: of[0] != "sizes") for kind in OPERATIONS[of]}
ELSEWHERE = {
    ("use", "beside-uncropped"): ("two-sizes", "cropped"),
    ("sizes", "computed"): ("computed-sizes", "equal"),
    ("arithmetic", "batch-normalization-exported"): ("normalization", "upsample"),
}
"""Levels of other sweeps, each with a geometry."""


def problem_of(corpus: Corpus, geometry: str, *levels: tuple[str, str], dialect: str = OpenVino.DIALECTS[0]) -> Problem:
    sweep, geometry = next((ELSEWHERE[level] for level in levels if level in ELSEWHERE), ("levels", geometry))
    labels = (f"geometry={geometry}", *(f"context.{axis}={level}" for axis, level in levels))
    case = corpus.find(f"contexts/neighbours/{sweep}[{','.join(labels)}]")
    assert case is not None
    return Problem(case, find_dialect(dialect))


def verdict_of(problem: Problem) -> ver.Verdict:
    return judge(problem, OpenVino().run(problem.call, problem.arrays), DType.F32)


def test_a_run_names_the_operations_that_are_joined_wrongly(corpus: Corpus, command: Command, tmp_path: Path) -> None:
    """OpenVINO joins a Pad and the operator wrongly; it is right if the tensor between them is an output too."""
    case = problem_of(corpus, "crop-begin", ("before", "pad-begin"), ("activation", "relu")).case
    command("run", case.id, "--backend", "openvino", "--waivers", "none", "--output", "out", "-j", "1")
    (file,) = (tmp_path / "out").glob("*.jsonl")
    changed = read(file).changed
    right = [record for record in changed if isinstance(record.verdict, ver.Allowed)]
    assert [record.changed for record in right] == [Change(apart="Pad and ConvTranspose")]
    assert right[0].case.endswith("context.before=pad-begin]")


def test_levels_are_those_that_are_tested(corpus: Corpus) -> None:
    for level in UNSAID:
        assert isinstance(problem_of(corpus, "upsample", level).expectation, NotApplicable)
    for name in OpenVino.DIALECTS:
        assert set(find_dialect(name).operations) == openvino_graph.OPERATIONS == LEVEL_OF.keys()


@pytest.mark.parametrize("kind", sorted(LEVEL_OF))
def test_a_wrong_operation_is_seen(corpus: Corpus, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def wrong(node: Node, *others: Mapping[str, Any]) -> str:
        text = expression(node, *others)
        if node.kind != kind:
            return text
        dtype = Quantised(node.attributes["dtype"]) if kind == "Quantize" else node.attributes.get("to", "f32")
        one = f"op.constant(1, {element_type(None if kind == 'Shape' else dtype)})"
        if kind == "Split":
            # It has several outputs.
            x = node_name(node.inputs[0])
            return text.replace(x, f"op.add({x}, {one})")
        return f"op.add({text}, {one})"

    monkeypatch.setattr(openvino_graph, "expression", wrong)
    verdict = verdict_of(problem_of(corpus, "upsample", LEVEL_OF[kind]))
    assert isinstance(verdict, ver.WrongShape if kind == "Shape" else ver.Differed)


def test_what_is_executed_has_the_type_of_its_kernel(corpus: Corpus) -> None:
    quantised = ("data", "int8"), ("filter", "int8")
    for geometry, levels, expected in (
        ("upsample", quantised, "Deconvolution i8"),
        ("kernel-below", quantised, "Deconvolution f32"),
        ("upsample", quantised[1:], "Deconvolution f32"),
    ):
        problem = problem_of(corpus, geometry, *levels)
        outcome = OpenVino().run(problem.call, problem.arrays)
        assert isinstance(outcome, Produced)
        assert expected in outcome.executed


def test_the_script_of_a_graph_needs_no_tconv(corpus: Corpus, tmp_path: Path) -> None:
    source = snippet(problem_of(corpus, "crop-begin", ("before", "pad-begin")), "openvino")
    assert source is not None
    (tmp_path / "script.py").write_text(source, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-I", "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "tconv" not in source
    assert "shape (1, 2, 7, 5) expected (1, 2, 8, 7)" in ended.stdout


def test_a_quantised_graph_is_computed_in_f32_without_low_precision(corpus: Corpus) -> None:
    """The option that `explain` tries turns the transformations off that make a uint8 filter wrong."""
    problem = problem_of(corpus, "upsample", ("data", "int8"), ("filter", "uint8"))
    outcome = OpenVino(lp_transforms_mode="no").run(problem.call, problem.arrays)
    assert isinstance(outcome, Produced)
    assert isinstance(judge(problem, outcome, DType.F32), ver.Agreed)
    assert "Deconvolution f32" in outcome.executed

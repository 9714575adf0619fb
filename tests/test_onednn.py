"""oneDNN's adapter: beside a played library, and with the library itself if it is installed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tconv.backends import Produced, ShapeOnly, onednn
from tconv.backends.onednn_graph import KINDS, POLICIES, Result
from tconv.backends.onednn_library import loaded, located
from tconv.backends.outcome import Unsupported
from tconv.dialects import find_dialect
from tconv.errors import BackendMissing
from tconv.expectation.expected import NotApplicable
from tconv.expectation.problem import Problem, expressed
from tconv.export.folder import export
from tconv.export.snippet import snippet

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.vocabulary import Ints

DIALECT = find_dialect("onednn/ConvTranspose-1")


def test_only_a_missing_file_is_to_be_installed(tmp_path: Path) -> None:
    """A file that is there and is no library needs another remedy."""
    (tmp_path / "libdnnl.so.3").write_text("no library")
    for name, is_advised in (("libdnnl.so.3", False), ("libnone.so", True)):
        with pytest.raises(BackendMissing, match="must load") as caught:
            loaded(tmp_path / name)
        assert ("install the missing file" in str(caught.value)) == is_advised


@pytest.fixture(scope="module")
def library() -> None:
    try:
        located()
    except BackendMissing as missing:
        pytest.skip(str(missing))


def in_context(corpus: Corpus, geometry: str, **levels: str) -> Problem:
    labels = [f"geometry={geometry}", *(f"context.{axis}={level}" for axis, level in levels.items())]
    case = corpus.find(f"contexts/neighbours/levels[{','.join(labels)}]")
    assert case is not None
    return Problem(case, DIALECT)


@pytest.mark.parametrize("backend", [onednn.OneDnn, onednn.OneDnnBackwardData])
@pytest.mark.parametrize("sizes", [(0, -2, 1), (0, 2, 1)])
def test_a_size_below_zero_is_an_answer(
    backend: type[onednn.OneDnn], sizes: Ints, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No array has such a size, but 3.13.2 compiles and executes it: its sizes are what the library describes."""

    class PlayedGraph:
        def run(self, *_: object) -> Result:
            return Result(np.zeros([max(size, 0) for size in sizes], np.float32), sizes, ())

    monkeypatch.setattr(onednn, "opened", lambda _: PlayedGraph())
    case = corpus.find("found/openvino/size-below-zero-of-no-batch")
    assert case is not None
    problem = expressed(case, find_dialect(backend.DIALECTS[0]))
    outcome = backend().run(problem.call, problem.arrays)
    if min(sizes) < 0:
        assert outcome == ShapeOnly(sizes, "f32")
    else:
        assert isinstance(outcome, Produced)
        assert outcome.array.shape == sizes


def test_the_dialect_has_the_operations_that_the_adapter_writes() -> None:
    assert set(DIALECT.operations) == KINDS.keys() - {"ConvTranspose", "ConvolutionBackwardData", "End"}


@pytest.mark.parametrize(
    "level", [{"before": "pad-begin"}, {"use": "slice-channels"}, {"use": "split-channels"}, {"filter": "node"}]
)
def test_what_the_graph_api_has_no_operation_for_is_not_applicable(corpus: Corpus, level: dict[str, str]) -> None:
    assert isinstance(in_context(corpus, "upsample", **level).expectation, NotApplicable)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "levels",
    [
        {"before": "conv", "arithmetic": "batch-normalization", "activation": "leaky-relu"},
        {"before": "concat", "arithmetic": "div", "activation": "prelu", "use": "second-operator"},
        {"before": "resize", "arithmetic": "max", "activation": "hard-sigmoid", "use": "concat-spatial"},
        {"filter": "identity", "bias": "add", "arithmetic": "sub", "activation": "clip", "use": "two-consumers"},
        {"bias": "node", "arithmetic": "add-tensor-first", "activation": "elu", "use": "beside"},
        {"data": "int8-zero-point", "filter": "int8-per-channel", "bias": "add", "activation": "relu", "end": "uint8"},
        {"data": "uint8", "filter": "int8", "arithmetic": "mul-channel", "end": "int8", "values": "zero-channel"},
        {"data": "int8-input", "filter": "int8", "arithmetic": "add-tensor", "end": "int8"},
    ],
    ids=lambda levels: "-".join(levels.values()),
)
def test_a_graph_of_several_operations_gives_what_is_expected(
    corpus: Corpus, levels: dict[str, str], policy: str
) -> None:
    problem = in_context(corpus, "kernel-above", **levels)
    outcome = onednn.OneDnn(policy=policy).run(problem.call, problem.arrays)
    assert isinstance(outcome, Produced)
    assert problem.values is not None
    np.testing.assert_allclose(outcome.array, problem.output, rtol=0, atol=1e-6 if "elu" in levels.values() else 0)
    assert policy == "fusion" or not any("+" in partition for partition in outcome.executed)


@pytest.mark.usefixtures("library")
def test_int8_is_executed_as_one_partition(corpus: Corpus) -> None:
    problem = in_context(corpus, "upsample", data="int8-input", filter="int8-per-channel", end="int8")
    outcome = onednn.OneDnn().run(problem.call, problem.arrays)
    assert isinstance(outcome, Produced)
    (partition,) = outcome.executed
    assert sorted(partition.split("+")) == ["ConvTranspose", "Dequantize", "Dequantize", "Quantize"]
    assert outcome.array.dtype == np.int8
    np.testing.assert_array_equal(outcome.array, problem.output)


@pytest.mark.usefixtures("library")
def test_the_smallest_graph_that_differs_is_right_in_partitions_of_one_operation(corpus: Corpus) -> None:
    """So the adapter asks what the text says, and the library's fusion is what differs."""
    case = corpus.find("found/onednn/added-quanta-of-another-sign")
    assert case is not None
    problem = Problem(case, DIALECT)
    outcome = onednn.OneDnn(policy="debug").run(problem.call, problem.arrays)
    assert isinstance(outcome, Produced)
    np.testing.assert_array_equal(outcome.array, problem.output)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    "levels",
    [
        {"before": "conv", "arithmetic": "batch-normalization", "activation": "clip", "use": "two-consumers"},
        {"data": "uint8", "filter": "int8-per-channel", "arithmetic": "add-tensor", "end": "int8"},
    ],
)
def test_the_script_of_a_graph_needs_no_tconv(corpus: Corpus, tmp_path: Path, levels: dict[str, str]) -> None:
    problem = in_context(corpus, "kernel-above", **levels)
    folder = export(problem.case, DIALECT, tmp_path, "onednn")
    report = snippet(problem, "onednn")
    assert report is not None
    (tmp_path / "report.py").write_text(report, encoding="utf-8")
    for script, words in ((folder / "repro.py", "equal     onednn"), (tmp_path / "report.py", "farthest at")):
        assert "import tconv" not in script.read_text(encoding="utf-8")
        ended = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        assert words in ended.stdout


@pytest.mark.usefixtures("library")
def test_a_type_that_no_operation_takes_is_unsupported(corpus: Corpus) -> None:
    """Dequantize takes no int32, which is no refusal of a call: the graph cannot be written."""
    problem = in_context(corpus, "upsample", bias="int32")
    outcome = onednn.OneDnn().run(problem.call, problem.arrays)
    assert outcome == Unsupported("no operation of the graph has int32 as its input's type")

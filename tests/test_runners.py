"""The runners in conformance/runners: the arrays that they read and write, and one that is judged by its answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from small_corpus import NAMES, TIMEOUT, written
from tconv.corpus import Corpus
from tconv.errors import OptionError
from tconv.execution.pool import Pool
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.execution.worker import Assignment
from tconv.records.record_file import read

FOLDER = Path(__file__).parent.parent / "conformance" / "runners"
WEB = f"exec:node {FOLDER / 'onnxruntime_web.mjs'}"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not there")
needs_packages = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(), reason="npm ci was not run there"
)
COPY = f"""
import {{ readNpy, writeNpy }} from "{FOLDER / "npy.mjs"}";
const {{ descr, shape, data }} = readNpy(process.argv[1]);
writeNpy(process.argv[2], descr, shape, data);
"""


@needs_node
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u2", "i8"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4, 5), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_read_and_written_as_numpy_does(
    dtype: str, shape: tuple[int, ...], order: str, tmp_path: Path
) -> None:
    """Every type of the protocol, in both orders of the elements, as a copy that numpy reads."""
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape), dtype, order=order)  # type: ignore[call-overload] # "C" or "F"
    np.save(tmp_path / "in.npy", array)
    words = ["node", "--input-type=module", "--eval", COPY, "--", str(tmp_path / "in.npy"), str(tmp_path / "out.npy")]
    subprocess.run(words, check=True)
    copy = np.load(tmp_path / "out.npy")
    assert copy.dtype == array.dtype
    assert np.array_equal(copy, array)
    assert copy.shape == shape


@needs_packages
@pytest.mark.skipif(sys.platform == "win32", reason="a command line of POSIX")
def test_onnxruntime_web_is_judged_by_its_answers(tmp_path: Path) -> None:
    """The small corpus agrees, with options too, which stand in the header."""
    selection = Selection(Corpus.load(written(tmp_path)))
    options = {"graphOptimizationLevel": "disabled"}
    path = run(selection, RunSettings(WEB, None, 1, 10 * TIMEOUT, tmp_path, options=options), lambda *_: None)
    done = read(path)
    assert {record.case.rpartition("/")[2] for record in done.records if record.verdict.kind == "agreed"} == set(NAMES)
    assert (done.header.backend.name, done.header.backend.options) == ("onnxruntime-web", options)


@needs_packages
@pytest.mark.parametrize(("name", "value"), [("threads", "1"), ("numThreads", "none")])
def test_onnxruntime_web_refuses_other_options(name: str, value: str) -> None:
    """A name that it does not have, and a value that is none."""
    with pytest.raises(OptionError, match="must confirm"):
        Pool(Assignment(WEB, None, None, "", options={name: value}), 1, TIMEOUT)

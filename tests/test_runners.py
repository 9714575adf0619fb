"""The runners in conformance/runners: the arrays that they read and write, and one that is judged by its answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from small_corpus import NAMES, TIMEOUT, written
from tconv.corpus import Corpus
from tconv.errors import OptionError
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection

FOLDER = Path(__file__).parent.parent / "conformance" / "runners"
WEB = f"exec:node {FOLDER / 'onnxruntime_web.mjs'}"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not there")
needs_packages = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(), reason="npm ci was not run there"
)
COPY = f"""
import {{ readNpy, writeNpy }} from "{FOLDER / "npy.mjs"}";
for (const path of process.argv.slice(1)) {{
  const {{ descr, shape, data }} = readNpy(path);
  writeNpy(path + ".copy", descr, shape, data);
}}
"""
SHAPES = [(), (3,), (2, 3), (2, 3, 4, 5), (2, 0, 3)]


@needs_node
def test_an_array_is_read_and_written_as_numpy_does(tmp_path: Path) -> None:
    """Every type of the protocol, in both orders of the elements, as a copy that numpy reads."""
    arrays = {}
    for number, (dtype, shape) in enumerate(product(("f4", "f8", "f2", "u2", "i8"), SHAPES)):
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        arrays |= {tmp_path / f"{number}-c.npy": array, tmp_path / f"{number}-f.npy": np.asfortranarray(array)}
    for path, array in arrays.items():
        np.save(path, array)
    words = ["node", "--input-type=module", "--eval", COPY, "--", *map(str, arrays)]
    subprocess.run(words, check=True)
    for path, array in arrays.items():
        copy = np.load(f"{path}.copy")
        assert copy.dtype == array.dtype
        assert np.array_equal(copy, array)
        assert copy.shape == array.shape


@needs_packages
@pytest.mark.skipif(sys.platform == "win32", reason="a command line of POSIX")
def test_onnxruntime_web_is_judged_by_its_answers(tmp_path: Path) -> None:
    selection = Selection(Corpus.load(written(tmp_path)))
    options = {"graphOptimizationLevel": "disabled"}
    done = run(selection, RunSettings(Asking(WEB, options=options, timeout=10 * TIMEOUT), tmp_path), lambda *_: None)
    assert {record.case.rpartition("/")[2] for record in done.records if record.verdict.kind == "agreed"} == set(NAMES)
    assert (done.header.backend.name, done.header.backend.options) == ("onnxruntime-web", options)


@needs_packages
@pytest.mark.parametrize(("name", "value"), [("threads", "1"), ("numThreads", "none")])
def test_onnxruntime_web_refuses_other_options(name: str, value: str) -> None:
    with pytest.raises(OptionError, match="must confirm"):
        Pool(Asking(WEB, options={name: value}, timeout=TIMEOUT))

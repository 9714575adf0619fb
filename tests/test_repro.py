"""What `tconv export` writes for each runtime that is installed here: its scripts do what the backend does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from small_corpus import BARE_HEAD, environment, written
from tconv.backends import create, names, shipped
from tconv.backends import outcome as out
from tconv.backends.onnx_model import ONNX_DIALECT_NAMES
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.errors import BackendMissing, UsageError
from tconv.expectation.problem import expressed
from tconv.export.folder import export
from tconv.export.snippet import asking, snippet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from small_corpus import Command
    from tconv.backends import Backend
    from tconv.cases.case import Case

PLAIN = """channels: 4, out_channels: 6, groups: 2, bias: true, spatial: [5, 4], kernel: [3, 2], pads_begin: [1, 0],
  strides: 2"""
CASES = f"""{BARE_HEAD}
cases:
  - {{name: plain, with: {{{PLAIN}}}}}
  - {{name: ungrouped, with: {{channels: 4, out_channels: 6, spatial: [5, 4], kernel: [3, 2], strides: 2}}}}
  - {{name: fed, with: {{{PLAIN}, filter_source: input, dilations: [1, 3], output_padding: [1, 1]}}}}
  - {{name: turned, with: {{{PLAIN}, data_format: NXC, filter_format: XOI, pads_end: [0, 3]}}}}
  - {{name: same, with: {{spatial: [5, 4], kernel: [3, 2], strides: 3, auto_pad: same_upper}}}}
  - {{name: sized, with: {{spatial: [5, 4], kernel: [3, 2], strides: 2, output_shape: [9, 8]}}}}
  - {{name: half, with: {{channels: 2, spatial: [5, 4], kernel: [3, 2], dtype: bf16}}}}
"""


def runtime(name: str) -> Backend:
    try:
        return create(name)
    except BackendMissing as error:
        pytest.skip(str(error))


def asked(folder: Path) -> Mapping[str, Case]:
    return {case.id.partition("/")[2]: case for case in Corpus.load(written(folder, CASES)).cases()}


BY_PYTHON = [name for name in names() if name not in {"litert", "onednn-backward-data"}]
"""The backends that a script asks in the test's own process. LiteRT has a model that tconv writes, and oneDNN's
ConvolutionBackwardData aborts."""


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # some runtimes ask the system about its processor so
@pytest.mark.parametrize("name", BY_PYTHON)
def test_script_and_report_ask_as_the_backend_does(name: str, tmp_path: Path) -> None:
    """In each of its dialects, for every kind of layout and attribute that it can be given: the same bits."""
    backend, scripts = runtime(name), 0
    for dialect_name in backend.info().dialects:
        for case in asked(tmp_path).values():
            try:
                problem = expressed(case, DIALECTS[dialect_name])
            except UsageError:
                continue
            outcome = backend.run(problem.call, problem.arrays)
            if not isinstance(outcome, out.Produced | out.ShapeOnly):
                continue
            scripts += 1
            source = snippet(problem, name)
            assert source is not None, (dialect_name, case.id)
            of_snippet: dict[str, object] = {"print": lambda *_, **__: None}
            exec(source, of_snippet)  # noqa: S102 - it is what is tested
            folder = export(case, problem.dialect, tmp_path / "out", name)
            script: dict[str, object] = {"__name__": "repro", "__file__": str(folder / "repro.py")}
            exec((folder / "repro.py").read_text(encoding="utf-8"), script)  # noqa: S102 - likewise
            for y in (of_snippet["y"], script["answer"]()):  # type: ignore[operator] # the script's function
                assert isinstance(y, np.ndarray)
                if isinstance(outcome, out.ShapeOnly):
                    assert y.shape == outcome.shape
                else:
                    assert (y.dtype, y.shape) == (outcome.array.dtype, outcome.array.shape), (dialect_name, case.id)
                    assert y.tobytes() == outcome.array.tobytes(), (dialect_name, case.id)
    assert scripts > 1


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # some runtimes ask the system about its processor so
@pytest.mark.parametrize("name", BY_PYTHON)
def test_the_script_of_each_runtime_runs_by_itself(name: str, tmp_path: Path) -> None:
    info = runtime(name).info()
    dialect = next(known for known in (ONNX_DIALECT_NAMES[0], info.dialects[0]) if known in info.dialects)
    folder = export(asked(tmp_path)["ungrouped"], DIALECTS[dialect], tmp_path / "out", name)
    command = [sys.executable, str(folder / "repro.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"equal     {name} does what is expected" in done.stdout
    assert info.version in done.stdout.replace("-", " ")


RUNTIMES = (
    "onnxruntime",
    "onnx.reference",
    "torch",
    "jax",
    "openvino",
    "cv2",
    "tract",
    "ai_edge_litert",
)
ONNX_OR_LIBRARY = tuple(name for name in names() if name.startswith(("onnx-", "onednn")))
"""The backends whose runtime comes with tconv, or is no module of Python's."""
ALL_SCRIPTS = f"""
import json, sys
from pathlib import Path
if sys.argv[2] == "missing":
    sys.modules.update(dict.fromkeys({RUNTIMES}))
import tconv.cli, tconv.cli.export_command
from tconv.backends import create, names, shipped
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.errors import BackendMissing, UsageError
from tconv.expectation.problem import expressed
from tconv.export.folder import script
from tconv.export.snippet import snippet

texts, missing = {{}}, []
for name in names():
    for dialect in shipped(name).DIALECTS:
        for case in Corpus.load(Path(sys.argv[1])).cases():
            try:
                problem = expressed(case, DIALECTS[dialect])
                texts[f"{{name}} {{dialect}} {{case.id}}"] = [script(problem, name), snippet(problem, name)]
            except UsageError:
                continue
loaded = [module for module in {RUNTIMES} if sys.modules.get(module)]
for name in names() if sys.argv[2] == "missing" else ():
    try:
        create(name)
    except BackendMissing as error:
        missing.append(f"{{name}}: {{error}}")
json.dump([texts, loaded, missing], sys.stdout)
"""


def test_scripts_are_made_without_a_runtime(tmp_path: Path) -> None:
    """The same ones whether the runtimes can be imported or not, and none of them is imported where it can be."""
    made = []
    for runtimes in ("there", "missing"):
        command = [sys.executable, "-c", ALL_SCRIPTS, str(written(tmp_path, CASES)), runtimes]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        made.append(json.loads(done.stdout))
    (texts, loaded, _), (without, _, missing) = made
    assert {of.split()[0] for of in texts} == set(names())
    assert (without, loaded) == (texts, [])
    # An adapter imports its runtime when it is made, so that a runtime that is not there is known before any case.
    refused = [message for message in missing if "must have its runtime installed" in message]
    assert {message.partition(":")[0] for message in refused} == set(names()) - set(ONNX_OR_LIBRARY)


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # some runtimes ask the system about its processor so
@pytest.mark.parametrize("name", names())
def test_a_backend_speaks_the_dialects_that_its_class_names(name: str) -> None:
    """Which are known without its runtime, and the default first."""
    adapter = shipped(name)
    assert adapter is not None
    assert runtime(name).info().dialects == adapter.DIALECTS


@pytest.mark.parametrize("dialect", ["onnx/ConvTranspose-22", "geometry/1"])
def test_what_to_replace_for_a_runtime_that_no_python_asks_is_said(dialect: str, tmp_path: Path) -> None:
    """In both scripts, above the lines: for ONNX these ask onnxruntime, and the last line of the output says so."""
    problem = expressed(asked(tmp_path)["ungrouped"], DIALECTS[dialect])
    hint = asking(problem, "acme:Acme").hint
    folder, source = export(problem.case, problem.dialect, tmp_path / "out", "acme:Acme"), snippet(problem, "acme:Acme")
    assert source is not None
    for text in (source, (folder / "repro.py").read_text()):
        lines = text.splitlines()
        (at,) = (number for number, line in enumerate(lines) if hint in line)
        replaced = [line.strip() for line in lines[at + 1 :]]
        if dialect == "geometry/1":
            assert "replace the last of these lines" in hint
            assert replaced[1].startswith("raise SystemExit")
        else:
            assert "replace the 5 lines below, which ask onnxruntime: they make `y`, the output, of `model`" in hint
            assert replaced[4].startswith("y = ")
    if dialect != "geometry/1":
        command = [sys.executable, str(folder / "repro.py")]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1].startswith("equal     onnxruntime does what is ")


def test_a_report_cites_what_the_case_writes_and_not_what_the_one_did_that_it_came_from(
    command: Command, tmp_path: Path
) -> None:
    """A case that was made smaller no longer has the padding mode that its file cites; its strides are cited."""
    head = BARE_HEAD.replace(
        "clause: doc", 'clause: "attribute auto_pad, output_shape[i] = input_shape[i] * strides[i]"'
    )
    text = f"{head}cases:\n  - {{name: small, with: {{spatial: [3], kernel: [2], strides: 2, bias: true}}}}\n"
    written(tmp_path, text)
    report = command(
        "export", "small/small", "--issue", "--backend", "wrong_backends:BiasDoubled", "--cases", "small.yaml"
    ).stdout
    clauses = report.partition("## Clause")[2].partition("## ")[0]
    assert "auto_pad" not in clauses
    assert re.search(r"^- attribute strides: 'Stride along each spatial axis\.", clauses, re.MULTILINE)
    assert re.search(r"^- input B: 'Optional 1D bias", clauses, re.MULTILINE)

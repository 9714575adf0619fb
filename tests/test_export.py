"""`tconv export`: a case that runs without tconv, and a report that a runtime's developers can act on."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
import yaml
from onnx import numpy_helper

from made_records import DIFFERED, EVERY_VERDICT, run_of, with_records
from page_blocks import Block, rows
from small_corpus import BARE_HEAD, CASES, HEAD, TIMEOUT, environment, written
from strategies import ONNX, every
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.backends.outcome import Produced
from tconv.cases.patterns import facts_of
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.errors import FileError, UsageError
from tconv.execution.evaluation import Evaluator
from tconv.expectation.problem import expressed
from tconv.export.folder import export, folder_name
from tconv.export.issue import issue as report
from tconv.export.issue import recorded_issue
from tconv.export.snippet import snippet
from tconv.gate.assessment import assess
from tconv.records.record import FreshAnswer, Record
from tconv.verdict.kinds import Agreed, BackendError, NotApplicable
from test_wrong_input import GOLDEN, compare

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command
    from tconv.cases.case import Case

REPORTS = GOLDEN / "issue_reports.yaml"
ONNX_22 = DIALECTS[ONNX[-1]]


def small(folder: Path, name: str, text: str = CASES) -> Case:
    return Corpus.load(written(folder, text)).case(f"small/{name}")


def repro(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "repro.py")]
    return subprocess.run(
        command, cwd=folder.parent.parent, env=environment(**more), capture_output=True, text=True, check=False
    )


def tensor(path: Path) -> onnx.TensorProto:
    return onnx.load_tensor(str(path))


def tampered(folder: Path, array: np.ndarray) -> None:
    """Say that another output is expected."""
    path = folder / "test_data_set_0" / "output_0.pb"
    path.write_bytes(numpy_helper.from_array(array, "Y").SerializeToString())


# Files.


def test_the_folder_has_the_layout_of_onnx_s_backend_tests(tmp_path: Path) -> None:
    """Model, inputs in the order of the model's, one output; the checker accepts the model."""
    text = CASES + "  - {name: fed, with: {filter_source: input, strides: 2}}\n"
    folder = export(small(tmp_path, "fed", text), ONNX_22, tmp_path / "out")
    assert folder.parent == tmp_path / "out"
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    data = [f"test_data_set_0/{name}.pb" for name in ("input_0", "input_1", "input_2", "output_0")]
    assert files == ["model.onnx", "repro.py", *data]
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [tensor(folder / name).name for name in data] == ["X", "W", "B", "Y"]
    assert [value.name for value in (*model.graph.input, *model.graph.output)] == ["X", "W", "B", "Y"]


def test_the_script_tells_the_first_difference(tmp_path: Path) -> None:
    """Exit code 0 if there is none, from any folder and without tconv; 1 for an element, the shape or the type."""
    folder = export(small(tmp_path, "padded"), ONNX_22, tmp_path / "out")
    done = repro(folder, PYTHONPATH="")
    assert (done.returncode, done.stderr) == (0, "")
    assert "equal     onnxruntime does what is expected" in done.stdout
    assert "tconv" not in (folder / "repro.py").read_text(encoding="utf-8")
    right = numpy_helper.to_array(tensor(folder / "test_data_set_0" / "output_0.pb"))
    other = right.copy()
    other[0, 2, 3] += 1
    for array, message in (
        (other, f"1 of 60 elements; [0, 2, 3] must be {other[0, 2, 3]} (got {right[0, 2, 3]})"),
        (right[..., :-1], "the shape must be [1, 6, 9] (got [1, 6, 10])"),
        (right.astype(np.float64), "the type must be float64 (got float32)"),
    ):
        tampered(folder, array)
        done = repro(folder)
        assert (done.returncode, done.stderr) == (1, "")
        assert f"differs   {message}" in done.stdout


def test_the_script_tells_that_a_runtime_fails(tmp_path: Path) -> None:
    folder = export(small(tmp_path, "plain"), ONNX_22, tmp_path / "out")
    (folder / "model.onnx").write_bytes(b"no model")
    done = repro(folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "differs   the runtime fails\n" in done.stdout


def test_a_case_that_owes_a_refusal_has_no_output(tmp_path: Path) -> None:
    """The script says what must be refused and why; 0 where it is, 1 where it is answered."""
    folder = export(small(tmp_path, "invalid"), ONNX_22, tmp_path / "out")
    assert [path.name for path in (folder / "test_data_set_0").iterdir()] == ["input_0.pb"]
    refused = repro(folder)
    assert (refused.returncode, refused.stderr) == (0, "")
    assert "expected  the model must be refused: pads must not be written together with auto_pad" in refused.stdout
    model = onnx.load(folder / "model.onnx")
    del model.graph.node[0].attribute[:]
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("group", 2))
    onnx.save(model, folder / "model.onnx")
    answered = repro(folder)
    assert (answered.returncode, answered.stderr) == (1, "")
    assert "differs   the model was answered, and must be refused" in answered.stdout


def test_a_bound_that_real_data_allow_goes_with_the_case(tmp_path: Path) -> None:
    """A last bit that differs is equal; more is a difference. Integers have no such file."""
    text = f"{HEAD}cases:\n  - {{name: real, with: {{x: {{data: normal}}, w: {{data: normal}}}}}}\n"
    folder = export(small(tmp_path, "real", text), ONNX_22, tmp_path / "out")
    assert repro(folder).returncode == 0
    tolerance = dict(np.load(folder / "tolerance.npz", allow_pickle=False))
    assert tolerance["allowed"].shape == tolerance["reference"].shape == (1, 6, 7)
    assert (tolerance["allowed"] < 1e-4).all()
    tolerance["reference"] = tolerance["reference"] + tolerance["allowed"] * 3
    np.savez(folder / "tolerance.npz", allow_pickle=False, **tolerance)
    done = repro(folder)
    assert done.returncode == 1
    assert "differs   42 of 42 elements" in done.stdout


@pytest.mark.parametrize("dialect_name", ONNX)
def test_script_and_snippet_do_what_the_harness_does(
    dialect_name: str, smoke_cases: tuple[Case, ...], tmp_path: Path
) -> None:
    """On values of every kind the script's difference is the judge's, and the snippet's output the backend's."""
    dialect, runtime, scripts, snippets = DIALECTS[dialect_name], OnnxRuntime(), 0, 0
    evaluator = Evaluator(runtime, "onnxruntime", dialect, None)
    real = [case for case in smoke_cases if case.breaks is None and case.x.data != "integers"]
    for case in [*real[:: every(1)], *smoke_cases[:: every(40)]]:
        verdict = evaluator.evaluate(case).verdict
        problem = None if verdict.kind == "not-applicable" or case.breaks else expressed(case, dialect)
        outcome = None if problem is None else runtime.run(problem.call, problem.arrays)
        if problem is None or not isinstance(outcome, Produced):
            continue
        scripts += 1
        folder = export(case, dialect, tmp_path)
        script: dict[str, object] = {"__name__": "repro", "__file__": str(folder / "repro.py")}
        exec((folder / "repro.py").read_text(encoding="utf-8"), script)  # noqa: S102 - it is what is tested
        right = numpy_helper.to_array(tensor(folder / "test_data_set_0" / "output_0.pb"))
        with np.errstate(all="ignore"):
            difference = script["difference"](outcome.array, right)  # type: ignore[operator] # the script's function
        assert (difference == "") == isinstance(verdict, Agreed), case.id
        if (source := snippet(problem)) is not None:
            shown: list[tuple[np.ndarray, ...]] = []
            with np.errstate(all="ignore"):
                exec(source, {"print": partial(_shown, shown)})  # noqa: S102 - likewise
            assert shown[0][0].tobytes() == outcome.array.tobytes(), case.id
            snippets += 1
    assert min(scripts, snippets) > 10


def _shown(shown: list[tuple[np.ndarray, ...]], *arrays: np.ndarray) -> None:
    shown.append(arrays)


def test_what_cannot_be_written_as_a_model_is_an_error(tmp_path: Path) -> None:
    plain = small(tmp_path, "plain")
    with pytest.raises(UsageError, match="--dialect must be one that onnxruntime speaks"):
        export(plain, DIALECTS["geometry/1"], tmp_path / "out")
    half = small(tmp_path, "half", f"{HEAD}cases:\n  - {{name: half, with: {{dtype: bf16}}}}\n")
    with pytest.raises(UsageError, match="a case must be one that onnx/ConvTranspose-11 can say"):
        export(half, DIALECTS["onnx/ConvTranspose-11"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert export(plain, DIALECTS["geometry/1"], tmp_path / "out", "acme:Acme").is_dir()


# Names.


@pytest.mark.parametrize("stem", ["..", "a b;c", '\'"""; raise SystemExit(7)', "\\", "ü", "x" * 200, "con"])
def test_a_hostile_name_stays_inside_and_runs_nothing(stem: str, tmp_path: Path) -> None:
    """The folder is one plain name in DIR, and the id is a literal in the script."""
    path = written(tmp_path, CASES, f"{stem}.yaml")
    (case,) = Corpus.load(path).cases("full", ["**/plain"])
    folder = export(case, ONNX_22, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [folder.name]
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+_-]{1,110}", folder.name)
    done = repro(folder, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"case      {case.id.encode('ascii', 'backslashreplace').decode()}\n" in done.stdout


def test_names_are_unique(smoke_cases: tuple[Case, ...], tmp_path: Path) -> None:
    """Ids that differ in what a file name cannot hold have two folders, and so have two dialects."""
    cases = list(smoke_cases)
    for stem in ("a b", "a_b", "a-b", "x" * 150, "x" * 151):
        cases += Corpus.load(written(tmp_path, CASES, f"{stem}.yaml")).cases()
    names = {folder_name(case, DIALECTS[dialect]) for case in cases for dialect in ONNX}
    assert len(names) == len(cases) * len(ONNX)


def test_an_earlier_export_is_replaced(tmp_path: Path) -> None:
    """Files of the case as it was are gone, those of others are left."""
    folder = export(small(tmp_path, "plain"), ONNX_22, tmp_path / "out")
    stale, other = folder / "test_data_set_0" / "input_7.pb", folder / "notes.txt"
    for path in (stale, other):
        path.write_bytes(b"old")
    assert export(small(tmp_path, "plain"), ONNX_22, tmp_path / "out") == folder
    assert (stale.exists(), other.exists()) == (False, True)


@pytest.mark.parametrize("link", ["folder", "data", "file"])
def test_no_link_leads_out_of_the_folder(link: str, tmp_path: Path) -> None:
    """A link in the place of a folder is an error, one in the place of a file is replaced."""
    outside = tmp_path / "outside"
    outside.mkdir()
    case = small(tmp_path, "plain")
    folder = tmp_path / "out" / folder_name(case, ONNX_22)
    place = {"folder": folder, "data": folder / "test_data_set_0", "file": folder / "model.onnx"}[link]
    place.parent.mkdir(parents=True)
    place.symlink_to(outside / "model.onnx" if link == "file" else outside)
    if link == "file":
        export(case, ONNX_22, tmp_path / "out")
        assert not place.is_symlink()
    else:
        with pytest.raises(FileError, match="must be a folder of its own"):
            export(case, ONNX_22, tmp_path / "out")
    assert list(outside.iterdir()) == []


# Reports.


def issue(
    command: Command, folder: Path, backend: str, name: str, *more: str, text: str = CASES
) -> subprocess.CompletedProcess[str]:
    """Print the report about one of `wrong_backends`."""
    path = written(folder, text)
    arguments = ("--issue", "--backend", f"wrong_backends:{backend}", "--timeout", str(TIMEOUT), *more)
    return command("export", f"small/{name}", *arguments, "--cases", path.name)


def test_a_report_names_the_explanations_that_further_cases_leave(command: Command, tmp_path: Path) -> None:
    """Of two that give the output of the case the one that `tconv explain` would leave."""
    text = f"{BARE_HEAD}cases:\n  - {{name: two, with: {{spatial: [5], kernel: [3], pads_begin: 1, pads_end: 2}}}}\n"
    title = issue(command, tmp_path, "PadsSwapped", "two", text=text).stdout.splitlines()[0]
    assert title == "# PadsSwapped 1.0: onnx/ConvTranspose-22 gives wrong values, as if pads-exchanged"


def test_a_report_has_two_ways_to_see_the_failure(command: Command, tmp_path: Path) -> None:
    """Versions, call and a command; and Python that stands alone and prints what onnxruntime makes of the call."""
    done = issue(command, tmp_path, "PadsSwapped", "padded")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    again = f"tconv run small/padded --backend wrong_backends:PadsSwapped --timeout {TIMEOUT:g} "
    for line in (
        "- `PadsSwapped 1.0`",
        "  - kind: `miniature`",
        "- attribute `strides = [2]`",
        "- attribute `pads = [1, 0]`",
        "- input `X f32 [1, 4, 5]`",
        "- constant `W f32 [4, 3, 3]`",
        "- pads-exchanged: pads of begin and end are exchanged",
        f"{again}--dialect {ONNX_22.name} --cases small.yaml --waivers none",
    ):
        assert line in lines, line
    (source,) = re.findall(r"^```python\n(.*?)^```$", done.stdout, re.MULTILINE | re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("[[[-250.  619. -143.   74.    0.  -14.  -40.  154.   30.  -85.]\n")
    assert ran.stdout.splitlines()[-1] == "farthest at [0, 0, 0] expected -250.0 got -250.0"


def test_the_page_has_the_report_of_the_example_of_each_cause(command: Command, tmp_path: Path) -> None:
    """It is what the command prints, but for the platform, which records do not have; other cases have none."""
    text = f"{CASES}  - {{name: padded-too, with: {{spatial: [9], pads_begin: 1}}}}\n"
    written(tmp_path, text)
    backend = ("--backend", "wrong_backends:WrongDtype", "--timeout", str(TIMEOUT))
    done = command("run", "small/padded*", *backend, "--cases", "small.yaml", "--output", "out")
    assert done.returncode == 1, done.stderr
    (file,) = (tmp_path / "out").glob("*.html")
    page = file.read_text(encoding="utf-8")
    blocks = [
        Block.opened(re.findall(f'id="{name}"[^>]*>([^<]*)<', page)[0]) for name in ("data", "details", "problems")
    ]
    texts = {row.case: row.detail.get("issue") for row in rows(*blocks)}
    printed = issue(command, tmp_path, "WrongDtype", "padded", text=text).stdout
    assert "as it came" in printed
    assert f"{texts['small/padded']}\n" == re.sub(r"  - platform: .*\n", "", printed)
    assert texts["small/padded-too"] is None


@pytest.mark.parametrize(
    "change",
    [
        {"alone": FreshAnswer("agreed", same=False)},
        {"verdict": Agreed("exact")},
        {"verdict": NotApplicable("no word")},
        {"case": "small/gone"},
        {"dialect": "onnx/ConvTranspose-99"},
    ],
)
def test_a_record_that_does_not_show_a_failure_has_no_report(change: dict[str, object], tmp_path: Path) -> None:
    """An answer that depends on earlier calls is not shown by the case alone; a case that is gone has no arrays."""
    case = small(tmp_path, "padded")
    of_case = Record(case.id, "acme", ONNX_22.name, DIFFERED)
    find = {case.id: case}.get
    for record, has_report in ((of_case, True), (replace(of_case, **change), False)):
        assessment = assess(with_records(run_of({record.case: DIFFERED}), record), None, facts_of)
        (member,) = assessment.statuses
        assert (recorded_issue(assessment, member, find) is not None) == has_report


def test_every_deviation_has_its_report(tmp_path: Path) -> None:
    """`golden/issue_reports.yaml` has the title and what came, for each kind of verdict that is no agreement."""
    found = []
    for entry in yaml.safe_load(REPORTS.read_text(encoding="utf-8")):
        problem = expressed(small(tmp_path, "invalid" if entry["kind"] == "accepted-invalid" else "plain"), ONNX_22)
        verdict = next(verdict for verdict in EVERY_VERDICT if verdict.kind == entry["kind"])
        record = Record(problem.case.id, "acme", ONNX_22.name, verdict)
        text = report(problem, record, run_of({}).header.backend, None, {})
        title, rest = text.split("\n", 1)
        found.append(title + rest[rest.index("\n## Expected") :].partition("\n## How to reproduce")[0])
    compare(REPORTS, found)


def test_the_clauses_are_those_of_the_questions_that_the_case_puts(command: Command, tmp_path: Path) -> None:
    """Each with the text's answer; a question that is not put is not spoken of."""
    text = f"{HEAD}cases:\n  - {{name: same, with: {{strides: 2, auto_pad: same_upper}}}}\n"
    # Without the escapes of Markdown.
    report = issue(command, tmp_path, "BiasDoubled", "same", text=text).stdout.replace("\\", "")
    clause = "attribute auto_pad, 'output_shape[i] = input_shape[i] * strides[i]'"
    assert f"- same is input-times-stride (total = full + op - X*s): {clause}" in report
    assert "- odd_upper is end (pads_begin = total//2): " in report
    assert "odd_lower" not in report


def test_a_call_is_told_in_the_dialect_s_own_words(tmp_path: Path) -> None:
    text = f"{HEAD}cases:\n  - {{name: sized, with: {{strides: 2, groups: 1, bias: false, output_shape: [9]}}}}\n"
    problem = expressed(small(tmp_path, "sized", text), DIALECTS["openvino/ConvolutionBackpropData-1"])
    record, header = Record(problem.case.id, "acme", problem.dialect.name, DIFFERED), run_of({}).header.backend
    lines = report(problem, record, header, None, {}).splitlines()
    assert "`openvino/ConvolutionBackpropData-1` with" in lines
    assert "- constant `output_shape integers [1]`" in lines
    at = lines.index("output_shape =")
    assert lines[at + 1 : at + 5] == ["", "```", "[9]", "```"]
    source = snippet(problem, "acme:Acme")
    assert source is not None
    assert "ask the runtime here: y must be the output, in NCX, for data, filter, output_shape" in source


def test_large_arrays_are_told_by_shape_and_first_difference(command: Command, tmp_path: Path) -> None:
    """They are packed in the Python; where that is too long, the report names the command that writes files."""
    text = f"{HEAD}cases:\n" + "".join(
        f"  - {{name: {name}, with: {{spatial: [{size}], x: {{data: normal}}}}}}\n"
        for name, size in (("wide", 200), ("wider", 20000))
    )
    wide, wider = (issue(command, tmp_path, "DroppedTap", name, text=text) for name in ("wide", "wider"))
    assert (wide.returncode, wider.returncode) == (0, 0)
    assert "X has 800 elements" in wide.stdout
    assert "zlib.decompress" in wide.stdout
    assert re.search(r"elements; \[0,0,\d+\] must be ", wide.stdout)
    assert "\nf32 [1, 6, 202] in NCX\n\n## Actual" in wide.stdout
    assert "20002], as it came" in wider.stdout
    assert "tconv export small/wider . --backend wrong_backends:DroppedTap --dialect onnx/" in wider.stdout
    assert len(wider.stdout) < 10_000


def test_nothing_is_reported_where_the_text_is_followed(command: Command, tmp_path: Path) -> None:
    done = issue(command, tmp_path, "Right", "padded")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nothing to report: Right 1.0 in small/padded: agreed: exact\n"


def test_a_case_that_the_dialect_cannot_say_is_an_error(command: Command, tmp_path: Path) -> None:
    """The backend was not asked, so there is nothing to tell of it."""
    text = f"{HEAD}cases:\n  - {{name: half, with: {{dtype: bf16}}}}\n"
    done = issue(command, tmp_path, "Right", "half", "--dialect", "onnx/ConvTranspose-11", text=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a case must be one that onnx/ConvTranspose-11 can say (got small/half: " in done.stderr


@pytest.mark.parametrize("text", ["plain", "a`b", "```\n# owned\n```", "`" * 7])
def test_no_text_of_a_runtime_ends_its_block(text: str, tmp_path: Path) -> None:
    """The marks around its message are longer than any in it; a name with marks stays in one line of code."""
    problem = expressed(small(tmp_path, "plain"), ONNX_22)
    record = Record(problem.case.id, "acme", ONNX_22.name, BackendError(text))
    backend = run_of({}).header.backend.model_copy(update={"version": "1`2"})
    shown = report(problem, record, backend, None, {})
    block = re.search(rf"^(`{{3,}})\n{re.escape(text)}\n\1$", shown, re.MULTILINE)
    assert block
    assert block[1] not in text
    assert "`` acme 1`2 ``" in shown
